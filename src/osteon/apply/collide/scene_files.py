"""A character and the bodies that it kicked as one glTF: the bodies are nodes that move in the character's own clips.

A glTF keeps its document, to which the bodies are appended. Other formats, chosen clips and repeated ones are written
anew first. The file plays in any glTF player; bodies and character share the time of each clip.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from osteon.apply.collide.bodies import BodyTrack, place_scene
from osteon.apply.collide.scene import RigidBody, Scene
from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Float64
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS
from osteon.io.gltf.patch.character import read_character
from osteon.io.gltf.patch.solids import Solid, SolidKeys, add_solids
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.write.model import write_gltf
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file

SUFFIXES = (".glb", ".gltf")
#: Stripes around a round solid, which show that it rolls; cells of a stripe, and from pole to pole.
STRIPES, ACROSS, DOWN = 6, 5, 20
#: How light every second stripe is: its share of white.
WHITE = 0.75
#: Half width of the ground in diagonals, and its colour.
GROUND, GREY = 4.0, 0.55


def save_scene(
    path: PathLike,
    model: SkinnedModel,
    scene: Scene,
    tracks: Sequence[BodyTrack],
    source: PathLike | None = None,
) -> None:
    """Write a model, its clips and the bodies in them to a .glb or .gltf.

    With `source`, the glTF that the model was read from, its document is kept if every clip is played once.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise OptionError(f"{target}: a scene of bodies is a glTF; expected a name that ends in .glb or .gltf")
    placed = place_scene(model, scene)
    solids = [solid_of(body) for body in placed.bodies]
    if placed.ground is not None and placed.ground.visible:
        solids.append(_ground_of(placed, model))
    with tempfile.TemporaryDirectory(prefix="osteon-") as folder:
        kept = _own_document(model, tracks, source)
        if kept is None:
            file = Path(folder) / "character.glb"
            write_gltf(file, repeated(model, tracks), DEFAULT_SAVE_OPTIONS)
            kept = open_document(file), list(range(len(tracks)))
        document, animations = kept
        motions = [
            SolidKeys(number, track.seconds, track.positions, track.rotations)
            for number, track in zip(animations, tracks, strict=True)
        ]
        with atomic_file(target) as temporary:
            add_solids(temporary, document, solids, motions)


def _own_document(
    model: SkinnedModel, tracks: Sequence[BodyTrack], source: PathLike | None
) -> tuple[Document, list[int]] | None:
    """The document of the source and the animation of each clip; None if it does not play exactly these clips."""
    if source is None or Path(source).suffix.lower() not in SUFFIXES or any(track.loops > 1 for track in tracks):
        return None
    document = open_document(Path(source))
    character = read_character(document)
    same = [clip.name for clip in character.model.clips] == [track.clip.name for track in tracks]
    lengths = [clip.n_frames for clip in character.model.clips] == [track.clip.n_frames for track in tracks]
    if not (same and lengths and character.animations and document.has_data(0)):
        return None
    return document, character.animations


def repeated(model: SkinnedModel, tracks: Sequence[BodyTrack]) -> SkinnedModel:
    """The model with every clip as often as its track plays it."""
    if all(track.loops == 1 for track in tracks):
        return model
    frames, clips, start = [], [], 0
    for track in tracks:
        own = np.tile(np.arange(track.clip.start, track.clip.stop), track.loops)
        frames.append(own)
        clips.append(Clip(track.clip.name, start, start + len(own), track.clip.fps))
        start += len(own)
    return model.take_frames(np.concatenate(frames).astype(np.int32)).with_animation(clips=clips)


def solid_of(body: RigidBody) -> Solid:
    """The mesh of a body."""
    vertices, normals, faces, light = _box_mesh(body.size) if body.shape == "box" else _round_mesh(body.size)
    color = np.array(body.color)
    colors = np.where(light[:, None], color + WHITE * (1 - color), color)
    places = (vertices.astype(np.float32), normals.astype(np.float32), colors.astype(np.float32), faces)
    return Solid(body.name, *places, body.position, body.rotation)


def _box_mesh(half: Float64) -> tuple[Float64, Float64, np.ndarray, np.ndarray]:
    """A box with flat faces."""
    vertices: list[Float64] = []
    normals: list[Float64] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for side in (1.0, -1.0):
            n, u, v = np.zeros(3), np.zeros(3), np.zeros(3)
            n[axis], u[(axis + 1) % 3], v[(axis + 2) % 3] = side, side, 1.0
            first = len(vertices)
            vertices += [half * (n + s * u + t * v) for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [n] * 4
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return np.array(vertices), np.array(normals), np.array(faces, np.int32), np.zeros(24, bool)


def _round_mesh(size: Float64) -> tuple[Float64, Float64, np.ndarray, np.ndarray]:
    """A ball or a capsule along y in stripes from pole to pole, every second one light."""
    radius, half = size[0], size[1]
    down = np.pi * np.arange(DOWN + 1) / DOWN
    shift = np.where(down <= np.pi / 2, half, -half)
    if half > 0:  # the equator twice, once at each end of the cylinder
        middle = DOWN // 2
        down = np.insert(down, middle, np.pi / 2)
        shift = np.insert(shift, middle + 1, -half)
        shift[middle], shift[middle + 1] = half, -half
    parts = []
    for stripe in range(STRIPES):
        around = 2 * np.pi * (stripe + np.arange(ACROSS + 1) / ACROSS) / STRIPES
        angle, turn = np.meshgrid(down, around, indexing="ij")
        normals = np.stack([np.sin(angle) * np.sin(turn), np.cos(angle), np.sin(angle) * np.cos(turn)], axis=-1)
        points = radius * normals + np.array([0.0, 1.0, 0.0]) * shift[:, None, None]
        parts.append((points.reshape(-1, 3), normals.reshape(-1, 3)))
    grid = np.arange(len(down) * (ACROSS + 1)).reshape(len(down), ACROSS + 1)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    cells = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    points = parts[0][0]
    corners = points[cells]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    cells = cells[area > 1e-12 * radius * radius]  # none at the poles
    faces = np.concatenate([cells + stripe * grid.size for stripe in range(STRIPES)]).astype(np.int32)
    light = np.repeat(np.arange(STRIPES) % 2 == 1, grid.size)
    return np.concatenate([p for p, _ in parts]), np.concatenate([n for _, n in parts]), faces, light


def _ground_of(scene: Scene, model: SkinnedModel) -> Solid:
    """A square of ground below the character and the bodies."""
    assert scene.ground is not None
    assert scene.ground.height is not None
    up = scene.up
    half = GROUND * model.diagonal
    u = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    u /= np.linalg.norm(u)
    across = np.cross(up, u)
    corners = [s * u + t * across for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    vertices: Float32 = (half * np.array(corners)).astype(np.float32)
    middle = model.rest.astype(np.float64).mean(axis=0)
    position = middle + (scene.ground.height - middle @ up) * up
    normals = np.broadcast_to(up.astype(np.float32), vertices.shape).copy()
    colors = np.full(vertices.shape, GREY, np.float32)
    faces = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    return Solid("ground", vertices, normals, colors, faces, position, np.array([0.0, 0.0, 0.0, 1.0]), True)
