"""Pictures of a fitted EigenSkin: supports on the rest pose, poses before and after beside the truth, and their errors.

Based on: Kry, James and Pai, EigenSkin, 2002, figures 3 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.animation import Animation, BoneTrack, bone_type_of
from osteon.core.arrays import Bool, Float32, Float64, FloatArray
from osteon.deform.pose import ColumnMotion, pose_points
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.pipeline.eigenskin import LearnedSkin
from osteon.report.gallery import NEUTRAL, Picture, Shot, UpAxis, draw_shots, round_up
from osteon.report.picture import bone_colors, heat_colors
from osteon.report.raster import Camera, DrawOptions, frame_camera
from osteon.report.views import both_sides

#: Poses that are drawn.
SHOWN = 3
LARGE, SMALL = DrawOptions(width=560, height=480), DrawOptions(width=300, height=300)
SIDES = ("one side", "the other side")


@dataclass(frozen=True, slots=True)
class PoseRow:
    """A pose: the skin, the result, the truth, and the error of the first two."""

    name: str
    unseen: bool
    pictures: tuple[Picture, ...]
    heat: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class EigenSkinGallery:
    """All pictures of the page."""

    supports: tuple[Picture, ...]  # from both sides
    each: tuple[Picture, ...]  # the support of each joint alone
    colors: Float32  # (d,3) of the joints, in the order of the fit's bases
    poses: tuple[PoseRow, ...]
    maximum: float  # % of the diagonal at the end of the scale of errors


def draw_eigenskin(learned: LearnedSkin, *, up: UpAxis = "y", threads: int = 0) -> EigenSkinGallery:
    """Draw all pictures."""
    alone = [basis for basis in learned.fit.bases if not basis.is_pair]
    colors = bone_colors(len(alone))
    supports = np.array([basis.support for basis in alone]).reshape(len(alone), -1)
    chosen = _chosen(learned)
    drawn = [_drawn(learned, known, p) for known, p, _ in chosen]
    maximum = round_up(max((float(one.errors[0].max(initial=0)) for one in drawn), default=1.0))
    groups = [
        _support_shots(learned, supports, colors, replace(LARGE, up=up)),
        _single_shots(learned, supports, colors, replace(SMALL, up=up)),
        *(_pose_shots(learned, one, maximum, replace(LARGE, up=up)) for one in drawn),
    ]
    pictures = draw_shots(groups, threads)
    rows = tuple(
        PoseRow(known.names[p], unseen, shots[:3], shots[3:])
        for (known, p, unseen), shots in zip(chosen, pictures[2:], strict=True)
    )
    return EigenSkinGallery(pictures[0], pictures[1], colors, rows, maximum)


def _chosen(learned: LearnedSkin) -> list[tuple[KnownPoses, int, bool]]:
    """Poses in which the skin is farthest off: unseen ones if there are any."""
    unseen = learned.validation is not None
    errors = learned.validation or learned.training
    known = learned.poses[1] if unseen else learned.poses[0]
    assert known is not None
    order = np.argsort(-errors.skin, kind="stable")[:SHOWN]
    return [(known, int(p), unseen) for p in order]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The surface of a pose three times, and errors of the first two in % of the diagonal."""

    name: str
    skin: Float32
    corrected: Float32
    truth: Float32
    errors: tuple[Float64, Float64]


def _drawn(learned: LearnedSkin, known: KnownPoses, p: int) -> _Drawn:
    bones = known.transforms[p : p + 1]
    track = BoneTrack(bones.astype(np.float32), bone_type_of(bones))
    columns = learned.displacement
    moved = [ColumnMotion(columns.by_vertex(), columns.position_coefficients(Animation(track)))]
    plain, character = learned.plain, learned.model.character
    rest = plain.mesh.rest.astype(np.float64)[None]
    skin = pose_points(plain.deformer, rest, bones)[0]
    corrected = pose_points(character.deformer, rest, bones, moved_by=moved)[0]
    truth, diagonal = known.frames[p], plain.mesh.diagonal
    used = np.unique(plain.mesh.faces)
    off = []
    for shown in (skin, corrected):
        distance = np.zeros(len(truth))
        distance[used] = 100 * np.linalg.norm(shown[used] - truth[used], axis=1) / diagonal
        off.append(distance)
    return _Drawn(known.names[p], skin, corrected, truth, (off[0], off[1]))


def _support_shots(learned: LearnedSkin, supports: Bool, colors: Float32, options: DrawOptions) -> list[Shot]:
    """All supports, each joint in its colour, mixed where they overlap."""
    mesh = learned.plain.mesh
    count = supports.sum(axis=0)
    mixed = (supports.T.astype(np.float32) @ colors) / np.maximum(count, 1)[:, None]
    paint = np.where((count > 0)[:, None], mixed, np.asarray(NEUTRAL, np.float32))
    shots = []
    for view, side in zip(both_sides(mesh.rest, options), SIDES, strict=True):
        alt = f"The rest pose from {side}; the support of each joint has a colour, mixed where supports overlap"
        shots.append(_shot(mesh.rest, learned, paint, view, frame_camera(mesh.rest, view), f"from {side}", alt))
    return shots


def _single_shots(learned: LearnedSkin, supports: Bool, colors: Float32, options: DrawOptions) -> list[Shot]:
    """The support of each joint, the vertices that it displaces most in the fullest colour."""
    mesh, names = learned.plain.mesh, learned.model.track.names
    alone = [basis for basis in learned.fit.bases if not basis.is_pair]
    camera = frame_camera(mesh.rest, options)
    shots = []
    for basis, support, color in zip(alone, supports, colors, strict=True):
        size = np.sqrt(np.einsum("qvi,qvi->qv", basis.field.values, basis.field.values).max(axis=0))
        part = np.where(support, 0.25 + 0.75 * np.sqrt(size / max(float(size.max()), 1e-300)), 0)[:, None]
        paint = (1 - part) * np.asarray(NEUTRAL) + part * color
        joint = names[int(learned.fit.settings.joints[basis.field.joints[0]])]
        caption = f"{joint}: {int(support.sum()):,} vertices"
        shots.append(_shot(mesh.rest, learned, paint, options, camera, caption, f"The support of {caption}"))
    return shots


def _pose_shots(learned: LearnedSkin, one: _Drawn, maximum: float, options: DrawOptions) -> list[Shot]:
    """Skin, result and truth with one camera, then the errors of skin and result."""
    camera = frame_camera(np.concatenate([one.skin, one.corrected, one.truth]), options)
    shots = []
    for word, points in (("the skin alone", one.skin), ("with EigenSkin", one.corrected), ("given", one.truth)):
        caption = f"{one.name}: {word}"
        shots.append(_shot(points, learned, np.asarray(NEUTRAL), options, camera, caption, caption))
    for word, points, off in (("skin", one.skin, one.errors[0]), ("EigenSkin", one.corrected, one.errors[1])):
        caption = f"error of the {word}" if word == "skin" else f"error with {word}"
        alt = f"{one.name}, {caption}"
        shots.append(_shot(points, learned, heat_colors(off, maximum), options, camera, caption, alt))
    return shots


def _shot(
    points: FloatArray,
    learned: LearnedSkin,
    paint: FloatArray,
    options: DrawOptions,
    camera: Camera,
    caption: str,
    alt: str,
) -> Shot:
    return Shot(points, learned.plain.mesh.faces, paint, options, camera, alt, caption)
