"""Pictures of a character with the rigid bodies around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.apply.collide.bodies import BodyTrack
from osteon.apply.collide.scene import Scene
from osteon.apply.collide.scene_files import solid_of
from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.model import SkinnedModel
from osteon.core.transforms import matrices_from_quaternions
from osteon.deform.pose import pose_vertices
from osteon.io.gltf.patch.solids import Solid

#: Grey of a body without colours.
PLAIN = 0.72


@dataclass(frozen=True, slots=True)
class SceneShapes:
    """The meshes of a character and of all bodies as one."""

    solids: tuple[Solid, ...]
    faces: Int32  # (t,3) of all
    colors: FloatArray  # (v,3) sRGB


def scene_shapes(model: SkinnedModel, placed: Scene) -> SceneShapes:
    """The shapes of a scene in the units of the model (`place_scene`)."""
    solids = tuple(solid_of(body) for body in placed.bodies)
    coat = model.asset.colors
    coat = np.full((model.n_vertices, 3), PLAIN) if coat is None else coat[:, :3]
    faces, first = [model.faces], model.n_vertices
    for solid in solids:
        faces.append(solid.faces + first)
        first += len(solid.vertices)
    paint = np.concatenate([coat, *(np.asarray(solid.colors) ** (1 / 2.2) for solid in solids)])
    return SceneShapes(solids, np.concatenate(faces), paint)


def scene_points(model: SkinnedModel, shapes: SceneShapes, track: BodyTrack, key: int) -> Float64:
    """(v,3) the vertices of character and bodies at a key of the simulation."""
    frame = track.clip.start + round(track.seconds[key] * track.clip.fps) % track.clip.n_frames
    turns = matrices_from_quaternions(track.rotations[key])
    placed = [s.vertices @ turns[i].T + track.positions[key, i] for i, s in enumerate(shapes.solids)]
    return np.concatenate([pose_vertices(model, frame).astype(np.float64), *placed])
