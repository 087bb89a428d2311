"""The precomputed light of a model in its pack (`apply/light/model_light.py` describes the numbers).

    light.mean (v,c), light.basis (r,v,c)       transfer of every vertex, in its own frame; half precision
    light.coefficients (f,r)                    of the columns; linear between two frames
    light.rotations (f,b,4)                     unit quaternions of the bones, from which a vertex's frame is blended:
                                                sum |w| s q, normalised; s = sign of q . q of the slot of most weight
    light.seen (c,25)                           L = seen E, for an environment E of order 5 in the frame of the world
    light.environments (e,25,3)                 those that the file names; red, green, blue, linear
    light.ground_*                              the same for a square grid of points, in the frame of the world; row by
                                                row, the axis after `up` first; centres (f,3), half the length of a side
    light.baked_colors (k,v,1|3), light.baked_ground (k,g,1|3)      under the first environment
    light.baked_weights (k,f,k)                 of the colours if only the first i + 1 of them are used
    coarse.N.light_mean, light_basis, light_colors      of coarser meshes

A vertex of albedo 1 has the radiance max(0, t . R^-1 L), t = mean + sum_r q_r basis_r. A point of the ground has
max(0, t . E), with the first c coefficients of E itself and not with L: it sees the upper half only, and a horizon in
the environment would need more bands. With order 1 the light is ambient occlusion, sqrt(4 pi) t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from osteon.core.character import Arrays
from osteon.core.model import SkinnedModel

if TYPE_CHECKING:
    from osteon.apply.light.model_light import ModelLight
    from osteon.core.arrays import Int32
    from osteon.lod.model_levels import CoarseMesh

#: The header of a model without light.
NO_LIGHT: dict[str, Any] = {"light": None}


def light_parts(
    model: SkinnedModel, light: ModelLight | None, coarse: Sequence[CoarseMesh] = ()
) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of the light of a model, and of its coarser meshes."""
    if light is None:
        return NO_LIGHT, {}
    from osteon.apply.light.vertex_frames import bone_rotations

    light.check_fit(model)
    shown = split_light(light, model.mesh.normal_of_vertex)
    arrays: Arrays = {
        "light.mean": shown.transfer.mean,
        "light.basis": shown.transfer.basis,
        "light.coefficients": light.transfer.coefficients,
        "light.rotations": bone_rotations(model),
        "light.seen": light.seen,
    }
    if light.environments:
        arrays["light.environments"] = np.stack([one.coefficients for one in light.environments])
    ground = None
    if light.ground is not None:
        under = light.ground.transfer
        arrays |= {"light.ground_mean": under.mean, "light.ground_basis": under.basis}
        arrays |= {"light.ground_coefficients": under.coefficients, "light.ground_centers": light.ground.centers}
        ground = {
            "half": light.ground.half,
            "resolution": light.ground.resolution,
            "errors": list(under.errors),
        }
    if shown.baked is not None:
        arrays |= {"light.baked_weights": shown.baked.weights, "light.baked_colors": shown.baked.colors}
        arrays |= {} if shown.baked.ground is None else {"light.baked_ground": shown.baked.ground}
    for number, (one, level) in enumerate(zip(light.coarse, coarse, strict=False)):
        own = level.character.mesh.normal_of_vertex
        arrays |= {f"coarse.{number}.light_mean": np.ascontiguousarray(one.mean[own])}
        arrays |= {f"coarse.{number}.light_basis": np.ascontiguousarray(one.basis[:, own])}
        if one.colors is not None:
            arrays[f"coarse.{number}.light_colors"] = np.ascontiguousarray(one.colors[:, own])
    header = {
        "order": light.order,
        "up": light.up,
        "errors": list(light.transfer.errors),
        "environments": [one.name for one in light.environments],
        "ground": ground,
        "baked_errors": [] if light.baked is None else list(light.baked.errors),
    }
    return {"light": header}, arrays


def split_light(light: ModelLight, normals: Int32) -> ModelLight:
    """The light of other points: those of the given normals (n,), in that order."""
    transfer, baked = light.transfer, light.baked
    mean, basis = np.ascontiguousarray(transfer.mean[normals]), np.ascontiguousarray(transfer.basis[:, normals])
    if baked is not None:
        baked = replace(baked, colors=np.ascontiguousarray(baked.colors[:, normals]))
    return replace(light, transfer=replace(transfer, mean=mean, basis=basis), baked=baked)
