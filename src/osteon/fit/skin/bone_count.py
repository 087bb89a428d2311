"""How many bones a motion needs: as many as make the result close, from quick fits on few vertices and frames.

Mean shift counts the near-rigid parts. Where a motion has few of them (a bird, cloth, a walk whose limbs share a
cluster) that number leaves most of the motion out. So quick fits of growing numbers of bones are made until E is close,
or until more bones gain too little. Where a sequence has few frames per bone costs next to nothing beside the mesh,
and more of them follow until E is small.

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

#: E % of a quick fit that is enough, and that is enough where bones are cheap: their keys take no more than the part
#: CHEAP of the vertices.
CLOSE, SMALL, CHEAP = 2.2, 0.4, 0.05
#: Bytes of a bone in a frame, and of a vertex, in a plain file.
BONE_BYTES, VERTEX_BYTES = 40, 52
#: Factor of the next number of bones, and the part of E that it must take away.
GROWTH, WORTH = 1.5, 0.12
#: The largest number that is chosen without being asked: what every engine takes.
MOST = 64
#: Vertices, frames and rounds of a quick fit.
VERTICES, FRAMES, ROUNDS = 1_000, 32, 6
#: A bone has at least so many vertices of its own.
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
    """At least `found` bones, and as many more as make the motion close; `core (f,b,3,4)` are those of the clusters."""
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
