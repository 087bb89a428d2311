"""Segmentation of small meshes with a known answer, of bad ones, and of real ones where they exist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.io import load_sequence
from osteon.simplex.segmentation.segment import SegmentOptions, segment_mesh
from osteon.synth.shapes import Shape, join_shapes, make_grid, make_sphere, make_torus, make_tube

from .fleshed import HAND, bone_distances, flesh, stick_skeleton

DATA = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "meshes"
METHODS = [SegmentOptions(method="traverse"), SegmentOptions(method="plain"), SegmentOptions()]
BONE = stick_skeleton([[0.2, 0, 0], [1.0, 0, 0], [1.8, 0, 0]], [[0, 1], [1, 2]])
TUBE = make_tube(12, 40)


def segmented(shape, skeleton, options=METHODS[0]):
    found = segment_mesh(shape.vertices, shape.faces, skeleton, options=options)
    assert found.bone.shape == found.along.shape == found.distance.shape == found.seen.shape == (len(shape.faces),)
    assert found.bone.min() >= 0
    assert found.bone.max() < skeleton.n_bones
    assert np.isfinite(found.distance).all()
    assert (found.along >= 0).all()
    assert (found.along <= 1).all()
    assert np.isfinite(found.extended.joints).all()
    return found


def centers(shape):
    return shape.vertices[shape.faces].mean(axis=1)


@pytest.mark.parametrize("options", METHODS)
def test_a_tube_of_two_bones(options):
    found = segmented(TUBE, BONE, options)
    x = centers(TUBE)[:, 0]
    assert np.array_equal(found.bone, (x > 1).astype(np.int32))
    assert found.seen.all()
    assert found.exceptions == ()
    inner = (x > 0.2) & (x < 1.8)
    assert found.along[inner] == pytest.approx(np.where(x < 1, (x - 0.2) / 0.8, (x - 1) / 0.8)[inner])
    assert (found.along[x < 0.2] == 0).all()  # on the bone as given, not as extended
    assert (found.along[x > 1.8] == 1).all()
    side = np.linalg.norm(centers(TUBE)[:, 1:], axis=1)
    assert found.distance[inner] == pytest.approx(side[inner])
    assert found.extended.joints[:, 0] == pytest.approx([-0.002, 1, 2.002], abs=1e-3)
    assert set(found.seconds) == {"tree", "segmentation", "prepare", "settle"}


@pytest.mark.parametrize("options", METHODS)
def test_fingers_belong_to_their_bones(options):
    shape = flesh(HAND)
    found = segmented(shape, HAND, options)
    assert found.exceptions == ()
    nearest = bone_distances(HAND, centers(shape))
    clear = np.sort(nearest, axis=1)
    clear = clear[:, 1] - clear[:, 0] > 0.1  # one bone is much nearer than all others
    assert clear.mean() > 0.4
    assert np.array_equal(found.bone[clear], nearest.argmin(axis=1)[clear])


def test_a_line_through_the_air_is_penalised():
    """Two legs side by side, the bone of one so far aside that the side of the other is nearer to it."""
    legs = stick_skeleton([[0, 0, 0], [0, 1, 0], [0.32, 1, 0], [0.32, 0, 0]], [[0, 1], [1, 2], [2, 3]])
    shape = flesh(legs, 0.13, 40)
    aside = StickSkeleton(legs.joints - 0.09 * np.array([[1, 0, 0]]), legs.bones)
    below = (centers(shape)[:, 1] < 0.7) & (centers(shape)[:, 1] > 0)
    left = centers(shape)[below, 0] < 0.16
    plain = bone_distances(aside, centers(shape))[below]
    assert (left & (plain[:, 2] < plain[:, 0])).any()
    assert np.array_equal(segmented(shape, aside).bone[below] == 0, left)


def test_in_two_dimensions():
    grid = make_grid(20, 4, width=2, height=0.4)
    skeleton = stick_skeleton([[0.2, 0.2, 0], [1.0, 0.2, 0], [1.8, 0.2, 0]], [[0, 1], [1, 2]])
    for options in METHODS:
        found = segmented(grid, skeleton, options)
        assert np.array_equal(found.bone, (centers(grid)[:, 0] > 1).astype(np.int32))
        assert found.seen.all()
        assert found.extended.joints[[0, 2], 0] == pytest.approx([-0.002, 2.002], abs=2e-4)


def test_in_two_dimensions_the_border_hides():
    """A comb: both teeth see only their own bone, at any common z."""
    grid = make_grid(10, 10, width=1, height=1).moved((0, 0, 7))
    middle = centers(grid)
    teeth = Shape(grid.vertices, grid.faces[~((np.abs(middle[:, 0] - 0.5) < 0.1) & (middle[:, 1] > 0.3))])
    skeleton = stick_skeleton([[0.3, 0.15, 7], [0.3, 0.9, 7], [0.8, 0.15, 7], [0.8, 0.9, 7]], [[0, 1], [0, 2], [2, 3]])
    found = segmented(teeth, skeleton)
    high = centers(teeth)[:, 1] > 0.5
    assert np.array_equal(found.bone[high] == 0, centers(teeth)[high, 0] < 0.5)


def test_islands_can_be_kept():
    with_islands = segmented(flesh(HAND), HAND, SegmentOptions(islands=False))
    assert (with_islands.bone >= 0).all()


def test_a_part_that_no_bone_sees_moves_as_one():
    button = make_sphere(1, 0.05).moved((1.05, 0.4, 0))
    shape = join_shapes([TUBE, button])
    found = segmented(shape, BONE)
    own = found.bone[len(TUBE.faces) :]
    assert len(set(own)) == 1
    assert own[0] == 1
    assert any("seen by no bone" in sentence for sentence in found.exceptions)
    assert any("2 pieces" in sentence for sentence in found.exceptions)


def test_a_bone_outside_controls_nothing():
    skeleton = stick_skeleton([*BONE.joints, [1, 5, 0], [1.5, 5, 0]], [[0, 1], [1, 2], [3, 4]])
    found = segmented(TUBE, skeleton)
    assert set(found.bone) == {0, 1}
    assert found.exceptions == ("bone joint3-joint4 controls no triangle",)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(TUBE.vertices, TUBE.faces[100:]),  # a hole
        Shape(TUBE.vertices[TUBE.faces].reshape(-1, 3), np.arange(3 * len(TUBE.faces), dtype=np.int32).reshape(-1, 3)),
        Shape(TUBE.vertices, np.concatenate([TUBE.faces, TUBE.faces[:40], TUBE.faces[:9, ::-1]])),  # not manifold
        Shape(np.concatenate([TUBE.vertices, [[9.0, 9, 9]]]), TUBE.faces),  # a vertex that no triangle uses
        Shape(TUBE.vertices, np.concatenate([TUBE.faces, [[0, 0, 1], [5, 5, 5], [3, 15, 27]]]).astype(np.int32)),
        Shape(TUBE.vertices, TUBE.faces[:1]),
        Shape(np.ones((3, 3)), np.array([[0, 1, 2]], np.int32)),  # all in one place
        make_grid(3, 2),
    ],
    ids=["hole", "soup", "manifold", "unused", "degenerate", "one", "point", "sheet"],
)
@pytest.mark.parametrize("options", METHODS, ids=["traverse", "plain", "blocks"])
def test_bad_meshes(shape, options):
    segmented(shape, BONE, options)


@pytest.mark.parametrize(
    ("joints", "bones"),
    [
        ([[0.2, 0, 0], [1.8, 0, 0]], [[0, 1]]),  # one bone
        ([[0.2, 0, 0], [0.8, 0, 0], [1.2, 0, 0], [1.8, 0, 0]], [[0, 1], [2, 3]]),  # two pieces
        ([[0.2, 0, 0], [1, 0.05, 0], [1.8, 0, 0]], [[0, 1], [1, 2], [2, 0]]),  # a cycle
        ([[0.2, 0, 0], [1, 0, 0], [0.3, 0, 0]], [[0, 1], [1, 2]]),  # folded
        ([[0.2, 3, 0], [1, 2, 0], [1.8, 4, 0]], [[0, 1], [1, 2]]),  # all outside
        ([[-3, 0, 0], [1, 0, 0], [9, 0, 0]], [[0, 1], [1, 2]]),  # ends far outside
    ],
    ids=["one", "pieces", "cycle", "folded", "outside", "far"],
)
@pytest.mark.parametrize("options", METHODS, ids=["traverse", "plain", "blocks"])
def test_odd_skeletons(joints, bones, options):
    segmented(TUBE, stick_skeleton(joints, bones), options)


def test_a_torus_with_a_ring_of_bones():
    joints = [[0.5 * np.cos(a), 0, 0.5 * np.sin(a)] for a in np.arange(8) * np.pi / 4]
    ring = stick_skeleton(joints, [[i, (i + 1) % 8] for i in range(8)])
    shape = make_torus()
    found = segmented(shape, ring)
    turn = np.arctan2(centers(shape)[:, 2], centers(shape)[:, 0]) % (2 * np.pi)
    assert np.array_equal(found.bone, (turn // (np.pi / 4)).astype(np.int32))


@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 0.0), (1e7, 0.0), (1.0, 1e5), (1e3, -1e7)])
def test_units_and_place_do_not_matter(scale, offset):
    shape = flesh(HAND)
    here = segmented(shape, HAND)
    there = Shape(scale * shape.vertices + offset, shape.faces)
    found = segmented(there, StickSkeleton(scale * HAND.joints + offset, HAND.bones))
    assert (found.bone != here.bone).mean() < 0.01
    if offset == 0:
        np.testing.assert_allclose(found.distance, scale * here.distance, rtol=1e-6)


def test_bad_input_is_refused():
    with pytest.raises(GeometryError, match="at least one triangle"):
        segment_mesh(TUBE.vertices, np.zeros((0, 3), np.int32), BONE)
    with pytest.raises(GeometryError, match="faces"):
        segment_mesh(TUBE.vertices[:5], TUBE.faces, BONE)
    with pytest.raises(GeometryError, match="vertices"):
        segment_mesh(np.full_like(TUBE.vertices, np.nan), TUBE.faces, BONE)
    for bad in ({"penalty": 0.0}, {"threshold": float("nan")}, {"method": "fast"}, {"dimension": 4}):
        with pytest.raises(OptionError, match=next(iter(bad))):
            SegmentOptions(**bad)


def read_skel(path):
    """Joints, bones and names of a .skel file."""
    rows = [line.split() for line in path.read_text().splitlines()[1:] if line.strip()]
    names = [row[3] for row in rows]
    bones = [[names.index(row[4]), i] for i, row in enumerate(rows) if row[4] in names]
    return StickSkeleton(np.array([row[:3] for row in rows], float), np.array(bones, np.int32), tuple(names))


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the repository")
@pytest.mark.parametrize(
    ("mesh", "skeleton"), [("armadillo.obj", "armadillo_full.skel"), ("armadillo_LR3.off", "armadillo.skel")]
)
def test_the_armadillo(mesh, skeleton):
    sequence, sticks = load_sequence(DATA / mesh), read_skel(DATA / skeleton)
    quick = segment_mesh(sequence.rest.astype(float), sequence.faces, sticks)
    plain = segment_mesh(sequence.rest.astype(float), sequence.faces, sticks, options=METHODS[1])
    assert quick.exceptions == ()
    assert (quick.bone != plain.bone).mean() < 1e-3
    assert quick.seen.mean() > 0.9
    shape = Shape(sequence.rest.astype(float), sequence.faces)
    tips = sticks.joints[sticks.free_ends()]
    at = np.linalg.norm(centers(shape)[None] - tips[:, None], axis=2).argmin(axis=1)
    assert np.array_equal(quick.bone[at], [sticks.bones_at(int(j))[0] for j in sticks.free_ends()])
