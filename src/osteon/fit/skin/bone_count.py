"""The number of bones that a motion needs, from quick fits on few vertices and frames.

Mean shift counts the near-rigid parts, which are too few for some motions (a bird, cloth, a walk whose limbs share a
cluster). Quick fits with growing numbers of bones are made until E is small, or until more bones gain too little. With
few frames the size of bones is negligible beside that of the mesh, and bones are added to a smaller E.

Notes, E of the quick fit over that of the whole fit with as many bones, from splitting alone: horse 29: 1.30; flag 32:
1.11; clothhorse 20: 1.72.
"""

from __future__ import annotations

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float64
from osteon.fit.problem import FitProblem
from osteon.fit.skin.bones import complete_bones, seed_bones
from osteon.fit.skin.refine import RefineOptions, refine_skin

__all__ = ["choose_bone_count"]

#: Sufficient E % of a quick fit, and the smaller one where bones are cheap: their keys take at most the fraction CHEAP
#: of the bytes of the vertices.
CLOSE, SMALL, CHEAP = 2.2, 0.4, 0.05
#: Bytes of a bone in a frame, and of a vertex, in a plain file.
BONE_BYTES, VERTEX_BYTES = 40, 52
#: Growth of the number of bones, and the least relative gain of E per step.
GROWTH, WORTH = 1.5, 0.12
#: Largest automatic number of bones, which every engine supports.
MOST = 64
#: Vertices, frames and rounds of a quick fit.
VERTICES, FRAMES, ROUNDS = 1_000, 32, 6
#: Least number of vertices per bone.
VERTICES_PER_BONE = 8


def choose_bone_count(
    problem: FitProblem,
    found: int,
    bone_type: BoneType,
    core: Float64 | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
) -> int:
    """At least `found` bones, and more until E is small; `core (f,b,3,4)` are the bones of the clusters."""
    most = max(found, min(MOST, problem.n_vertices // VERTICES_PER_BONE))
    if found >= most:
        return found
    frames = np.unique(np.linspace(0, problem.n_frames - 1, FRAMES).astype(np.int64))
    few = problem.with_normals(None).sampled(VERTICES, seed).take_frames(frames)
    quick = RefineOptions(bone_type=bone_type, rounds=ROUNDS, moves=0, seed=seed, threads=threads)

    def error(bones: int) -> float:
        starts = [seed_bones(few, bones, threads)]
        if core is not None:
            starts.append(complete_bones(few, np.ascontiguousarray(core[frames]), bones, threads))
        fit = refine_skin(few, starts, options=quick)
        return few.error_percent(fit.influences.errors)

    bones, now = found, error(found)
    while bones < most:
        more = min(most, max(bones + 1, round(GROWTH * bones)))
        cheap = BONE_BYTES * problem.n_frames * more <= CHEAP * VERTEX_BYTES * problem.n_vertices
        if now <= (SMALL if cheap else CLOSE):
            break
        then = error(more)
        if then > (1 - WORTH) * now and bones >= 4:
            break
        bones, now = more, then
    return bones
