"""All that changes while edges collapse: tables of numbers, as kernels take them, and what their columns hold.

Few tables of many columns instead of many arrays: what a kernel is handed makes most of the time it takes to compile.

corners, of corner 3 t + e, the e-th of triangle t:
    POINT (-1: its triangle is gone), WEDGE, VERTEX, NEXT and LAST (the other corners of its triangle), AFTER (the next
    corner of the same point, -1: none), PART (that of its triangle)
parts, of a material and primitive in a shell:
    how many triangles it has
heads, of a point:
    FIRST (a corner of it, -1: none), VERSION (how often it changed, -1: it is gone), LOCKED, from CARRIERS on what
    moves it
state, of a point:
    REST (3), COST (what it costs where it is), WEIGHT (of all points that it stands for), from WEIGHTS on those of its
    carriers
poses, of a point in a pose:
    QUADRIC (10), POSED (3), SHIFT (3), and of all points that it stands for the sums NORMAL (3) and, weighted, SPREAD
    (4) of places and of their squares
transforms, of a carrier in a pose:
    a 3x4 matrix
attributes, of a wedge:
    see `quadrics.py`
counters:
    NOW (the current mark), HEAP (edges in it), STEPS (done), ASKED (edges to be priced)
ring, work, slots:
    scratch, see `links.py` and `placement.py`

Carriers are bones, or vertices of the source where weights cannot be mixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64

__all__ = ["History", "Room", "Tables", "make_history", "make_room"]

POINT, WEDGE, VERTEX, NEXT, LAST, AFTER, PART = 0, 1, 2, 3, 4, 5, 6
FIRST, VERSION, LOCKED, CARRIERS = 0, 1, 2, 3
REST, COST, WEIGHT, WEIGHTS = 0, 3, 4, 5
QUADRIC, POSED, SHIFT, NORMAL, SPREAD = 0, 10, 13, 16, 19
NOW, HEAP, STEPS, ASKED = 0, 1, 2, 3
#: A point with more wedges than these stays as it is.
PAIRS = 64
#: Marks of a point beside the first end of an edge, and as many beside the second (`links.py`).
SIDE = 5
#: Rows of `work` before the matrices of all poses (`placement.py`).
MATRICES = 8


class Tables(NamedTuple):
    """The surface as it is by now."""

    corners: Int32  # (3t,7)
    parts: Int32  # (p,)
    heads: Int32  # (n,3+k)
    state: Float64  # (n,5+k)
    poses: Float64  # (n,f,23)
    transforms: Float64  # (c,f,12)
    attributes: Float64  # (w,11+4m), or (w,0)


class Room(NamedTuple):
    """The heap, and scratch."""

    keys: Float64  # (h,) what it costs to collapse an edge
    edges: Int32  # (h,5) its points, their versions (stale: they changed since), whether its price is final
    counters: Int64  # (4,)
    asked: Int32  # (e,2) edges whose price is asked for
    work: Float64  # (8+f,12) or wider
    slots: Int32  # (PAIRS+2k,2)
    places: Float64  # (f,5) where a point would lie in every pose, and how much of the ends that would cut off
    ring: Int32  # (n,10)


class History(NamedTuple):
    """What happened, step by step."""

    merges: Int32  # (s,3+k) the point that went, the one that stayed, triangles left, carriers
    values: Float64  # (s,4+k) where it then was, what part it has of the one that went, weights
    labels: Int32  # (l,4) which wedge, and which vertex, each became, and when


def make_room(tables: Tables, n_edges: int) -> Room:
    """No more edges than there are can be up to date; the heap has room for some stale ones besides."""
    n_points, n_poses, n_heap = len(tables.heads), tables.poses.shape[1], 4 * n_edges + 64
    k = tables.heads.shape[1] - CARRIERS
    return Room(
        np.empty(n_heap),
        np.empty((n_heap, 5), np.int32),
        np.zeros(4, np.int64),
        np.zeros((n_edges + n_points, 2), np.int32),
        np.zeros((MATRICES + n_poses, max(12, 2 * k))),
        np.zeros((PAIRS + 2 * k, 2), np.int32),
        np.zeros((n_poses, 5)),
        np.zeros((n_points, 2 * SIDE), np.int32),
    )


def make_history(tables: Tables, n_labels: int) -> History:
    """Room for a step a point; labels are their own until they become another."""
    n_points, k = len(tables.heads), tables.heads.shape[1] - CARRIERS
    labels = np.empty((n_labels, 4), np.int32)
    labels[:, :2], labels[:, 2:] = np.arange(n_labels)[:, None], np.iinfo(np.int32).max
    return History(np.zeros((n_points, 3 + k), np.int32), np.zeros((n_points, 4 + k)), labels)
