"""Bridges between shells: what they connect, what is stray, and legs in sleeves."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sticks import StickSkeleton
from osteon.simplex.segmentation.bridges import CLOSE, connect_shells, find_bridges, find_stray, unite_small
from osteon.simplex.segmentation.segment import SegmentOptions, segment_mesh
from osteon.simplex.segmentation.sides import side_notes
from osteon.simplex.segmentation.unit_mesh import UnitMesh, make_unit_mesh
from osteon.synth.figure import make_figure
from osteon.synth.shapes import Shape, join_shapes, make_ball, make_tube
from osteon_bench.simplex_sides import make_sleeved_legs

BONE = StickSkeleton(np.array([[0.0, 0, 0], [2, 0, 0]]), np.array([[0, 1]]), ("a", "b"))


def unit(*shapes: Shape) -> UnitMesh:
    whole = join_shapes(list(shapes))
    return make_unit_mesh(whole.vertices.astype(np.float64), whole.faces, BONE, 3)[0]


def connected(*shapes: Shape) -> list[int]:
    mesh = unit(*shapes)
    return connect_shells(mesh.component, find_bridges(mesh)[0]).tolist()


def test_shells_inside_each_other_are_connected_and_those_apart_are_not():
    inner, sleeve = make_tube(12, 20, 0.1, 2.0), make_tube(12, 20, 0.12, 1.5).moved((0.2, 0, 0))
    assert connected(inner, sleeve) == [0, 0]
    far = sleeve.moved((0, 0.6, 0))
    assert len(set(connected(inner, far))) == 2
    wide = make_tube(12, 20, 0.1 + 2 * CLOSE * 2.2, 1.0).moved((0.5, 0, 0))
    assert len(set(connected(inner, wide))) == 2


def test_two_surfaces_that_face_each_other_are_not_connected():
    """Two legs that nearly touch: the air between them is no way; plates that meet edge to edge are one surface."""
    leg = make_tube(24, 30, 0.1, 2.0)
    assert len(set(connected(leg, leg.moved((0, 0.2 + 0.5 * CLOSE, 0))))) == 2
    plates = [make_tube(24, 30, 0.1, 1.0), make_tube(24, 30, 0.1, 1.0).moved((1.01, 0, 0))]
    open_plates = [Shape(plate.vertices, plate.faces[:-48]) for plate in plates]  # without caps
    assert connected(*open_plates) == [0, 0]


def test_lengths_are_those_of_the_way_over_the_bridge():
    mesh = unit(make_tube(12, 20, 0.1, 2.0), make_tube(12, 20, 0.12, 1.5).moved((0.2, 0, 0)))
    across, lengths = find_bridges(mesh)
    t, e = np.nonzero(across >= 0)
    centers = mesh.vertices[mesh.faces].mean(axis=1)
    straight = np.linalg.norm(centers[t] - centers[across[t, e]], axis=1)
    assert (lengths[t, e] >= straight - 1e-12).all()
    assert (lengths[t, e] < straight + 0.2).all()
    assert (mesh.component[t] != mesh.component[across[t, e]]).all()
    assert np.isinf(lengths[across < 0]).all()
    back = {(int(b), int(a)) for a, b in zip(t, across[t, e], strict=True)}
    assert back & {(int(a), int(b)) for a, b in zip(t, across[t, e], strict=True)}


def test_one_shell_has_no_bridges():
    across, _ = find_bridges(unit(make_tube(8, 10, 0.1, 2.0)))
    assert (across < 0).all()


def test_stray_is_what_has_no_way_to_the_core():
    """Six triangles in a row: 0-1 2-3 4-5 are shells; 1 and 2 have a bridge."""
    wide = np.array([[1, -1], [0, 2], [3, 1], [2, -1], [5, -1], [4, -1]], np.int32)
    component = np.array([0, 0, 1, 1, 2, 2], np.int32)
    areas = np.array([3.0, 1, 1, 1, 1, 1])
    assert not find_stray(np.array([0, 0, 0, 0, 1, 1], np.int32), wide, component, areas).any()
    found = find_stray(np.array([0, 0, 1, 1, 0, 1], np.int32), wide, component, areas)
    assert found.tolist() == [False, False, False, False, True, True]
    # The other piece is in the shell of the core: an island, not stray.
    assert not find_stray(np.array([0, 1, -1, -1, 1, 1], np.int32), wide, component, areas)[:2].all()


def test_small_hidden_shells_move_as_a_whole():
    mesh = unit(make_tube(12, 20, 0.1, 2.0), make_ball(60, 0.02).moved((1, 0, 0)))
    small = mesh.component == mesh.component[np.flatnonzero(mesh.component != mesh.component[0])[0]]
    small = small if small.sum() < len(small) / 2 else ~small
    bone = np.zeros(len(small), np.int32)
    bone[np.flatnonzero(small)[:5]] = 1
    hidden = np.zeros(2, bool)
    hidden[mesh.component[np.flatnonzero(small)[0]]] = True
    found = unite_small(bone, hidden, mesh, np.ones(len(small)))
    assert (found[small] == 0).all()
    assert np.array_equal(unite_small(bone, ~hidden, mesh, np.ones(len(small)))[small], bone[small])


@pytest.mark.parametrize("method", ["blocks", "traverse", "plain"])
def test_a_sleeve_follows_its_own_leg(method):
    vertices, faces, skeleton, leg = make_sleeved_legs()
    without, found = (
        segment_mesh(vertices, faces, skeleton, options=SegmentOptions(method=method, bridges=bridges))
        for bridges in (False, True)
    )
    own = np.array([0, 1])[leg]
    assert ((without.bone != own) & (without.bone < 2)).sum() > 300
    assert ((found.bone != own) & (found.bone < 2)).sum() == 0
    assert not [note for note in found.exceptions if "nearest to it" in note]


def test_units_and_place_do_not_matter():
    vertices, faces, skeleton, _ = make_sleeved_legs()
    moved = StickSkeleton(100 * skeleton.joints + 5, skeleton.bones, skeleton.names, skeleton.root)
    one, two = segment_mesh(vertices, faces, skeleton), segment_mesh(100 * vertices + 5, faces, moved)
    assert np.array_equal(one.bone, two.bone)


def test_a_note_names_bones_of_the_other_side():
    vertices, faces, skeleton = make_figure()
    bone = segment_mesh(vertices, faces, skeleton).bone
    assert side_notes(vertices, faces, skeleton, bone) == []
    names = [skeleton.bone_name(b) for b in range(skeleton.n_bones)]
    left, right = names.index("knee.L-ankle.L"), names.index("knee.R-ankle.R")
    wrong = bone.copy()
    wrong[np.flatnonzero(bone == left)[:7]] = right
    (note,) = side_notes(vertices, faces, skeleton, wrong)
    assert note.startswith("7 triangles follow a bone of the other side of the body (7 knee.R-ankle.R)")
    lonely = StickSkeleton(skeleton.joints[skeleton.bones[right]], np.array([[0, 1]]), ("a", "b"))
    assert side_notes(vertices, faces, lonely, np.zeros(len(faces), np.int32)) == []  # it has no partner
    assert side_notes(vertices * [1, 1, 0], faces, skeleton, wrong) == []
