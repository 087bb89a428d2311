"""Triangles that follow a bone of the other leg or arm, with and without bridges between shells.

Of a skinned character the truth is its skin: a triangle of which more than 80 % of the weight belongs to joints on one
side of the mirror plane must not follow a stick on the other. Characters are the .glb files in `characters`, beside the
folder of sequences; a pair of legs in sleeves is built in.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import OsteonError
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal
from osteon.fit.mirror import MirrorPlane
from osteon.io import load_model
from osteon.io.skeletons import load_skeleton
from osteon.simplex.segmentation.segment import SegmentOptions, segment_mesh
from osteon.simplex.segmentation.sides import mirror_plane
from osteon.synth.shapes import Shape, join_shapes, make_tube
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Distance of a joint from the plane, of the diagonal, from which on it is of a side.
CLEAR = 0.02
#: Difference of the weights of both sides above which a triangle is of a side.
SURE = 0.6
#: Bound of the triangles on the wrong side.
WRONG = 0


def make_sleeved_legs() -> tuple[Float64, Int32, StickSkeleton, Int32]:
    """Two legs along z: one in a sleeve, the other with a slit towards it, so that the sleeve sees its bone.

    With the leg of every triangle.
    """
    tube = make_tube(24, 30, 0.1, 2.0)
    left = tube.moved((0.0, 0.3, 0.0))
    middle = left.vertices[left.faces].mean(axis=1)
    slit = (middle[:, 1] < 0.24) & (np.abs(middle[:, 2]) < 0.05) & (np.abs(middle[:, 0] - 1) < 0.3)
    sleeve = make_tube(24, 30, 0.125, 1.2).moved((0.4, -0.3, 0.0))
    shapes = [Shape(left.vertices, left.faces[~slit]), tube.moved((0.0, -0.3, 0.0)), sleeve]
    whole = join_shapes(shapes)
    leg = np.repeat(np.array([0, 1, 1], np.int32), [len(shape.faces) for shape in shapes])
    joints = np.array([[0.05, 0.3, 0], [1.95, 0.3, 0], [0.05, -0.3, 0], [1.95, -0.3, 0], [-0.4, 0, 0]])
    bones = np.array([[0, 1], [2, 3], [4, 0], [4, 2]])
    turn = [1, 2, 0]  # side by side along x
    sticks = StickSkeleton(joints[:, turn], bones, tuple("abcde"), 4)
    return whole.vertices[:, turn].astype(np.float64), whole.faces, sticks, leg


def side_rows(run: BenchRun) -> list[Row]:
    """Rows of the built-in legs and of all characters that are there."""
    vertices, faces, skeleton, leg = make_sleeved_legs()
    counts = [
        int((leg * 2 - 1 == 1 - 2 * _segments(vertices, faces, skeleton, bridges=bridges)).sum())
        for bridges in (False, True)
    ]
    rows = _rows("legs in sleeves, 3 shells", *counts)
    folder = run.data.parent / "characters"
    for path in sorted(folder.glob("*.glb")):
        run.report(f"{path.name}: sides")
        rows += _character(path)
    return rows


def _rows(case: str, without: int, with_bridges: int) -> list[Row]:
    return [
        at_most(case, "triangles that follow a bone of the other side", with_bridges, WRONG),
        figure(case, "triangles that follow a bone of the other side, --no-bridges", without),
    ]


def _character(path: Path) -> list[Row]:
    try:
        model, skeleton = load_model(path), load_skeleton(path)
    except OsteonError:  # no skin
        return []
    rest = model.rest.astype(np.float64)
    plane = mirror_plane(rest, model.faces)
    if plane is None or model.skeleton is None or len(model.skeleton.names) != model.n_bones:
        return []
    joints = _sides(model.skeleton.world_from_joint[:, :, 3].astype(np.float64), plane, bounding_diagonal(rest))
    weights = model.skin.dense(model.n_bones)
    lean = (weights @ joints)[model.faces].mean(axis=1)
    truth = np.where(np.abs(lean) > SURE, np.sign(lean), 0)
    # A stick rotates with the joint nearer to the root.
    sticks = _sides(skeleton.joints[skeleton.tree.head], plane, bounding_diagonal(rest))
    counts = []
    for bridges in (False, True):
        bone = _segments(rest, model.faces, skeleton, bridges=bridges)
        counts.append(int((truth * sticks[bone] < 0).sum()))
    return _rows(f"{path.stem}, {len(model.faces):,} triangles", *counts)


def _sides(points: Float64, plane: MirrorPlane, diagonal: float) -> Float64:
    away = plane.distances(points) / diagonal
    return np.where(np.abs(away) > CLEAR, np.sign(away), 0.0)


def _segments(vertices: Float64, faces: Int32, skeleton: StickSkeleton, *, bridges: bool) -> Int32:
    return segment_mesh(vertices, faces, skeleton, options=replace(SegmentOptions(), bridges=bridges)).bone
