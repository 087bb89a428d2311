"""Which boundaries are cut, in which order: coarse to fine where several segments meet.

Based on: Yan, Hu, Martin and Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, section
4.3, figure 5: the parts that meet are put into two large regions, the boundary between the regions is cut, and each
region is divided in the same way until it has one part.

The paper leaves open how parts are put into regions. Here the joints are passed from the root outward. At a joint the
bone towards the root stands against all others; the others are joined, those with the longest common border first,
until two groups are left. Segments that touch without a common joint are cut in pairs at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sticks import StickSkeleton

__all__ = ["Cut", "plan_cuts"]

Cut = tuple[tuple[int, ...], tuple[int, ...]]  # the bones on either side


def plan_cuts(border: Float64, skeleton: StickSkeleton) -> list[Cut]:
    """The cuts in order; `border` (b,b) holds the length that two segments share."""
    cuts: list[Cut] = []
    met: set[tuple[int, int]] = set()
    for joint, above in _joints_outward(skeleton):
        bones = [b for b in skeleton.bones_at(joint).tolist() if border[b].any()]
        for cut in _cuts_at_joint(bones, above, border):
            pairs = {(min(a, b), max(a, b)) for a in cut[0] for b in cut[1]}
            if not pairs <= met:
                cuts.append(cut)
                met |= pairs
    rest = [(int(a), int(b)) for a, b in np.argwhere(np.triu(border) > 0) if (int(a), int(b)) not in met]
    return cuts + [((a,), (b,)) for a, b in rest]


def _joints_outward(skeleton: StickSkeleton) -> Iterator[tuple[int, int]]:
    """Joints with the bone that leads to each from the root, -1 at a root; each joint once."""
    tree = skeleton.tree
    seen: set[int] = set()
    for b in tree.order.tolist():
        head = int(tree.head[b])
        if head not in seen:
            seen.add(head)
            yield head, -1
        tail = int(skeleton.bones[b].sum()) - head
        if tail not in seen:
            seen.add(tail)
            yield tail, b


def _cuts_at_joint(bones: list[int], above: int, border: Float64) -> Iterator[Cut]:
    others = [b for b in bones if b != above]
    if above in bones and others:
        if border[above, others].any():
            yield (above,), tuple(others)
        yield from _cuts_within(others, border)
    else:
        yield from _cuts_within(bones, border)


def _cuts_within(bones: list[int], border: Float64) -> Iterator[Cut]:
    """Halve a set of segments again and again."""
    if len(bones) < 2:
        return
    groups = _join_to_two(bones, border)
    if len(groups) == 2 and border[np.ix_(*groups)].any():
        yield groups[0], groups[1]
    for group in groups:
        yield from _cuts_within(list(group), border)


def _join_to_two(bones: list[int], border: Float64) -> list[tuple[int, ...]]:
    """Two groups of segments that hang together, or more where they do not touch."""
    groups: list[tuple[int, ...]] = [(b,) for b in bones]
    while len(groups) > 2:
        shared = {
            (i, j): float(border[np.ix_(groups[i], groups[j])].sum())
            for i in range(len(groups))
            for j in range(i + 1, len(groups))
        }
        i, j = max(shared, key=lambda pair: shared[pair])
        if shared[i, j] == 0:
            break
        joined = tuple(sorted(groups[i] + groups[j]))
        groups = [joined, *(g for k, g in enumerate(groups) if k not in (i, j))]
    return groups
