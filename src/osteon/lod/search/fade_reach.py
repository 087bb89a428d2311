"""How far a step between two levels moves the vertices: what the run time needs so that no step is seen as a pop.

    reach of a step = max over frames and vertices of || x(after) - x(before) || / size of the body

A step adds one bone (or bones that only together lower the error) or one blend. The controller spreads it over as many
frames as its reach needs (`controller.py`). Where several bones fade together, a fading bone may follow another one,
and the way of a vertex is a curve: it is measured in QUARTERS parts, and the largest part counts as often as there are.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.1.2: "the rate of change of each character's
LoD is limited". Differs from the paper: the limit is a distance, so a small bone fades in a frame and a leg in half a
second.

Notes. The reaches of all 50 steps of Soldier's clips take 0.3 s. Displacements of the rest pose are omitted: they are
small beside it and move alike before and after.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from osteon.core.arrays import Bool, Float32, Float64, Int32
from osteon.core.kernels import kernel
from osteon.core.model import SkinnedModel
from osteon.lod.bone_order import BoneOrder, fade_of_count, pose_at_count
from osteon.lod.progressive_skin import BlendOrder

#: Parts in which a step of several bones is measured.
QUARTERS = 4
#: Largest number of evenly spaced frames of a clip.
FRAMES = 48


def step_reaches(
    model: SkinnedModel, blends: BlendOrder, order: BoneOrder, clip: int, knots: Sequence[tuple[int, int]]
) -> Float64:
    """(m,) the reach of the step to each knot from the one before; knots are numbers of bones and of dropped-to blends.

    The first is 0. A knot (n, k) has n bones and k + 1 blends.
    """
    run = model.clips[clip]
    frames = np.unique(np.linspace(run.start, run.stop - 1, min(FRAMES, run.n_frames)).round().astype(np.int64))
    exact = model.animation.transforms[frames].astype(np.float64)
    rest = np.ascontiguousarray(model.rest, np.float64)
    weights = {k: np.ascontiguousarray(blends.weights(k + 1), np.float32) for k in {k for _, k in knots}}
    reaches = np.zeros(len(knots))
    posed = pose_at_count(order, exact, knots[0][0])
    for number in range(1, len(knots)):
        (n, k), (after, later) = knots[number - 1], knots[number]
        for part in _parts(order, n, after):
            then = pose_at_count(order, exact, n + part * (after - n)) if after != n else posed
            moved = np.abs(then - posed).max(axis=(0, 2, 3)) > 0
            way = _largest_way(blends.bones, weights[k], weights[later], rest, posed, then, moved | (k != later))
            reaches[number] = max(reaches[number], way * len(_parts(order, n, after)))
            posed = then
    return reaches / (model.diagonal or 1.0)


def _parts(order: BoneOrder, before: int, after: int) -> Sequence[float]:
    """Ends of the parts of a step: one where a single bone fades."""
    fade = fade_of_count(order, before)
    alone = fade.high - fade.low <= 1
    return (1.0,) if alone or after == before else tuple((i + 1) / QUARTERS for i in range(QUARTERS))


@kernel("i4.2r f4.2r f4.2r f8.2r f8.4r f8.4r b1.1r")
def _largest_way(
    bones: Int32,
    before: Float32,
    after: Float32,
    rest: Float64,
    posed: Float64,
    then: Float64,
    moved: Bool,
) -> float:
    """The largest distance between vertices under `posed` (f,b,3,4) with weights `before`, and `then` with `after`."""
    most = 0.0
    for v in range(bones.shape[0]):
        touched = False
        for k in range(bones.shape[1]):
            touched = touched or (moved[bones[v, k]] and (before[v, k] != 0 or after[v, k] != 0))
        if not touched:
            continue
        for f in range(posed.shape[0]):
            squared = 0.0
            for i in range(3):
                way = 0.0
                for k in range(bones.shape[1]):
                    b, w, u = bones[v, k], before[v, k], after[v, k]
                    for j in range(3):
                        way += (u * then[f, b, i, j] - w * posed[f, b, i, j]) * rest[v, j]
                    way += u * then[f, b, i, 3] - w * posed[f, b, i, 3]
                squared += way * way
            most = max(most, squared)
    return float(np.sqrt(most))
