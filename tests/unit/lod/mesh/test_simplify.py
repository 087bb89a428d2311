"""Levels of small meshes with exact results; what is stuck, without area or empty; what survives, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.character import Corrections
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Asset, Material
from osteon.core.topology import shells
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.lod.mesh.corners import BORDER, corners_of, edge_kinds
from osteon.lod.mesh.level_shape import triangle_normals
from osteon.lod.mesh.poses import choose_frames
from osteon.lod.mesh.simplify import SimplifyOptions, simplify_model
from osteon.synth.shapes import make_ball
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.small_meshes import OCTAHEDRON, SQUARE, TETRAHEDRON, TRIANGLE, bending, fan, grid, still

EGGS = JointedOptions(joints=4, vertices=60)


def level(model, triangles, **options):
    return simplify_model(model, triangles=[triangles], options=SimplifyOptions(**options)).levels[0]


def places(model):
    """Corners of all triangles as a set of sets of rounded places."""
    return {frozenset(tuple(p) for p in corners) for corners in np.round(model.rest[model.faces], 4).tolist()}


def borders(model):
    """(e,2) border edges as vertices."""
    found = corners_of(model.mesh, model.rest[None].astype(np.float64))
    here = np.flatnonzero(edge_kinds(found.points, found.wedges) == BORDER)
    there = np.where(here % 3 == 2, here - 2, here + 1)
    return np.stack([found.vertices[here], found.vertices[there]], axis=1)


class TestExact:
    def test_a_flat_grid_becomes_its_four_corners(self):
        for n in (2, 3):
            found = level(still(grid(n)), 2)
            assert found.n_triangles == 2
            assert sorted(np.round(found.model.rest, 5).tolist()) == [[0, 0, 0], [0, n, 0], [n, 0, 0], [n, n, 0]]
            assert found.error.worst_percent == pytest.approx(0, abs=1e-5)

    def test_the_middle_of_a_flat_fan_goes(self):
        found = level(still(fan()), 2)
        assert found.model.rest.tolist() == [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]
        assert found.model.faces.tolist() == [[2, 3, 1], [3, 0, 1]]
        assert found.vertex_of_source.tolist() == [0, 1, 2, 3, 1]

    def test_a_bent_sheet_keeps_its_fold(self):
        """A strip of four cells, folded up at x = 2: five places along it become three, the fold among them."""
        rest, faces = grid(4)
        folded = [[x, y, 0.0] if x <= 2 else [2.0, y, x - 2] for x, y, _ in rest]
        found = level(still((folded, faces)), 4)
        expected = [[0, 0, 0], [0, 4, 0], [2, 0, 0], [2, 0, 2], [2, 4, 0], [2, 4, 2]]
        assert sorted(np.round(found.model.rest, 4).tolist()) == expected

    def test_a_sheet_that_folds_in_a_frame_keeps_that_fold(self):
        """Flat at rest, and folded along x = 2 in one frame: weights of either side, none between."""
        model = bending(grid(4), degrees=(0.0, 90.0))
        moved = model.rest - np.array([2, 0, 0], np.float32)
        side = (model.rest[:, 0] > 2).astype(np.float32)
        model = model.with_mesh(rest=moved).with_character(
            deformer=LinearBlend(replace(model.skin, weights=np.stack([1 - side, side], axis=1)))
        )
        found = level(model, 4).model
        assert sorted(np.round(found.rest, 4).tolist()) == [[x, y, 0] for x in (-2, 0, 2) for y in (0, 4)]
        flat = level(model.take_frames(np.array([0], np.int32)), 2)
        assert flat.n_triangles == 2  # without that frame nothing holds it

    def test_untouched_vertices_are_kept_to_the_last_bit(self):
        model = bending(grid(3))
        found = level(model, 16)
        same = {tuple(p) for p in model.rest.tolist()} & {tuple(p) for p in found.model.rest.tolist()}
        assert len(same) >= 9

    def test_all_triangles_are_the_source_itself(self):
        model = still(OCTAHEDRON)
        for count in (8, 100):
            found = level(model, count)
            assert found.model is model
            assert found.error.worst.distance == 0


class TestStuck:
    @pytest.mark.parametrize("shape", [TRIANGLE, TETRAHEDRON])
    def test_the_least_surface_stays(self, shape):
        found = simplify_model(still(shape), triangles=[1]).levels[0]
        assert places(found.model) == places(still(shape))
        assert found.reached is (len(shape[1]) == 1)

    def test_a_closed_shell_ends_as_a_tetrahedron(self):
        found = simplify_model(still(OCTAHEDRON), triangles=[2])
        assert found.levels[0].n_triangles == 4
        assert not found.levels[0].reached
        assert not found.report.converged
        assert "allow no fewer" in found.report.stopped_by

    def test_a_fit_never_leads_away(self):
        """Four triangles are left of eight: steps along planes once led nine diagonals away."""
        plain, fitted = (level(still(OCTAHEDRON), 4, fit=fit) for fit in (False, True))
        assert fitted.error.worst_percent < 1.2 * plain.error.worst_percent
        assert np.abs(fitted.model.rest).max() <= 1.1

    def test_shells_go_last_and_the_smallest_first(self):
        large, small = np.array(TETRAHEDRON[0]), np.array(TETRAHEDRON[0]) / 4 + 3
        faces = np.array(TETRAHEDRON[1])
        shape = (np.concatenate([small, large]), np.concatenate([faces, faces + 4]))
        found = level(still(shape), 5)
        assert (found.n_triangles, found.shells_gone) == (4, 1)
        assert found.model.rest.max() == 1.0  # the large one is left
        assert found.vertex_of_source.tolist() == [-1, -1, -1, -1, 0, 1, 2, 3]
        assert level(still(shape), 1).n_triangles == 4  # the last one never goes


class TestDegenerate:
    def test_no_triangles(self):
        with pytest.raises(GeometryError, match="has no triangles"):
            level(still((SQUARE[0], [])), 1)

    def test_no_triangle_with_three_corners(self):
        with pytest.raises(GeometryError, match="no triangle has three distinct corners"):
            level(still((SQUARE[0], [[0, 0, 1], [2, 2, 2]])), 1)

    def test_all_in_one_place(self):
        with pytest.raises(GeometryError, match="all vertices coincide"):
            level(still(([[1.0, 2, 3]] * 3, [[0, 1, 2]] * 2)), 1)

    def test_slivers_between_others(self):
        """A vertex on an edge of the square, with the triangle without area that closes the gap."""
        rest, faces = [*SQUARE[0], [0.5, 0.0, 0.0]], [[0, 4, 2], [4, 1, 2], [0, 2, 3], [0, 1, 4]]
        found = level(still((rest, faces)), 2)
        assert found.n_triangles <= 2
        assert found.error.worst_percent == pytest.approx(0, abs=1e-3)

    def test_nothing_asked_for_or_nonsense(self):
        for words in ({}, {"triangles": [0]}, {"max_errors": [0.0]}, {"max_errors": [float("nan")]}):
            with pytest.raises(OptionError):
                simplify_model(still(SQUARE), **words)


class TestSurvives:
    def test_borders(self):
        """The border of a grid keeps its place; locked, it keeps every vertex."""
        source = still(grid(6))
        found = level(source, 8).model
        for axis in (0, 1):
            ends = found.rest[borders(found)][..., axis]
            assert ends.min() == pytest.approx(0, abs=1e-5)
            assert ends.max() == pytest.approx(6, abs=1e-5)
        locked = level(source, 2, lock_borders=True)
        assert not locked.reached
        kept = {tuple(p) for p in locked.model.rest[np.unique(borders(locked.model))].tolist()}
        assert kept == {tuple(p) for p in source.rest[np.unique(borders(source))].tolist()}

    def test_shells(self):
        model = make_jointed(1, EGGS)
        found = level(model, len(model.faces) // 4).model
        count = [len(np.unique(shells(m.faces, m.n_vertices)[1][m.faces[:, 0]])) for m in (model, found)]
        assert count == [4, 4]

    def test_every_material(self):
        rest, faces = grid(4)
        materials = tuple(Material(name) for name in "abc")
        which = np.array([max(rest[v][0] for v in f) // 2 for f in faces], np.int32).clip(0, 2)
        found = level(still((rest, faces), materials=materials, triangle_material=which), 6).model
        assert set(found.asset.triangle_material.tolist()) == set(which.tolist())
        for t, kind in enumerate(found.asset.triangle_material):  # and where each was
            x = found.rest[found.faces[t], 0].mean()
            assert (
                which[[i for i, f in enumerate(faces) if abs(np.mean([rest[v][0] for v in f]) - x) < 1]].min() <= kind
            )

    def test_primitives_have_names_and_triangles(self):
        rest, faces = grid(4)
        which = np.array([int(rest[f[0]][1] >= 2) for f in faces], np.int32)
        source = still((rest, faces), primitive_of_triangle=which, primitive_names=("low", "high"))
        found = level(source, 4).model
        assert set(found.asset.primitive_of_triangle.tolist()) == {0, 1}
        assert found.asset.primitive_names == ("low", "high")

    def test_texture_coordinates_are_exact_where_they_are_linear(self):
        """Two charts, each a linear map of the plane: coordinates of a level are those of its places."""
        rest, faces = grid(4)
        plane = np.array([[rest[v][:2] for v in f] for f in faces], np.float32)
        right = np.array([max(rest[v][0] for v in f) > 2 for f in faces])
        uvs = plane / 10
        uvs[right] = plane[right] / 5 + 3
        found = level(still((rest, faces), uvs=uvs), 8).model
        on_right = found.rest[found.faces][..., 0].max(axis=1) > 2.01
        assert on_right.any()
        assert not on_right.all()
        expected = found.rest[found.faces][..., :2] / np.where(on_right, 5, 10)[:, None, None]
        expected[on_right] += 3
        assert found.asset.uvs == pytest.approx(expected, abs=1e-4)
        assert (found.rest[found.faces][on_right][..., 0] >= 2 - 1e-5).all()  # the seam is where it was

    def test_colours(self):
        rest, faces = grid(4)
        colors = np.array([[x / 4, y / 4, 0.5, 1] for x, y, _ in rest], np.float32)
        found = level(still((rest, faces), colors=colors), 8).model
        assert found.asset.colors[:, :2] == pytest.approx(found.rest[:, :2] / 4, abs=1e-4)

    def test_corrections(self):
        """A column that lifts vertices by a linear function lifts those of a level by the same."""
        source = still(grid(4))
        lift = np.zeros((1, source.n_vertices, 3), np.float32)
        lift[0, :, 2] = 0.1 * source.rest[:, 0] + 0.2 * source.rest[:, 1]
        track = replace(source.track, transforms=np.repeat(source.track.transforms, 3, axis=0))
        model = linear_blend_model(
            source.rest,
            source.faces,
            source.skin,
            track,
            corrections=Corrections(lift, np.array([[0.0], [0.5], [1.0]], np.float32)),
        )
        found = level(model, 4)
        basis = found.model.corrections.basis
        expected = 0.1 * found.model.rest[:, 0] + 0.2 * found.model.rest[:, 1]
        assert basis[0, :, 2] == pytest.approx(expected, abs=1e-3)
        assert np.array_equal(found.model.corrections.coefficients, model.corrections.coefficients)
        assert found.error.worst_percent < 0.05

    def test_one_palette_for_all(self):
        model = make_jointed(2, EGGS)
        for each in simplify_model(model, triangles=[200, 60], max_errors=[5.0]).levels:
            assert each.model.animation is model.animation
            assert each.model.skeleton is model.skeleton
            assert each.model.skin.bones.max() < model.n_bones

    def test_weights(self):
        model = make_jointed(3, replace(EGGS, influences=4))
        for each in simplify_model(model, triangles=[200, 60, 16]).levels:
            weights = each.model.skin.weights
            assert (weights >= 0).all()
            assert weights.sum(axis=1) == pytest.approx(1, abs=1e-6)
            assert each.model.skin.n_influences == 4

    def test_families_whose_weights_cannot_be_mixed_take_those_of_a_vertex(self):
        plain = make_jointed(1, EGGS)
        model = plain.with_character(deformer=DualQuaternion(plain.skin), fallback=plain.skin)
        found = level(model, len(model.faces) // 3)
        assert isinstance(found.model.deformer, DualQuaternion)
        rows = {tuple(row) for row in model.skin.dense(model.n_bones).tolist()}
        assert {tuple(row) for row in found.model.skin.dense(model.n_bones).tolist()} <= rows
        fallback = found.model.character.fallback
        assert fallback.weights.sum(axis=1) == pytest.approx(1, abs=1e-6)
        assert found.error.mean_percent < 2

    def test_vertices_that_are_shared_by_hard_edges(self):
        """A cube with a vertex for each side of a corner is closed afterwards too."""
        ball = make_ball(60, 1.0)
        corners = ball.faces.reshape(-1)
        cut = (ball.vertices[corners], np.arange(len(corners)).reshape(-1, 3))
        whole, hard = level(still((ball.vertices, ball.faces)), 40), level(still(cut), 40)
        assert hard.n_triangles == whole.n_triangles
        assert len(borders(hard.model)) == 0


class TestFlips:
    @pytest.mark.parametrize("fit", [False, True])
    def test_no_triangle_turns_over_in_any_pose(self, fit):
        """Every triangle of a level faces to where the source faces nearby, in every frame that was looked at."""
        model = make_jointed(1, replace(EGGS, swing=1.0))
        found = simplify_model(model, triangles=[120], options=SimplifyOptions(fit=fit))
        frames = found.poses
        source, after = (pose_frames(m.take_frames(frames)).astype(float) for m in (model, found.levels[0].model))
        coarse = found.levels[0].model.faces
        new, old = triangle_normals(after, coarse), triangle_normals(source, model.faces)
        near = found.levels[0].vertex_of_source
        for t, corners in enumerate(coarse):
            stands_for = np.isin(near[model.faces], corners).any(axis=1)
            facing = np.einsum("fi,fti->ft", new[:, t], old[:, stands_for])
            assert (facing.max(axis=1) > 0).all(), t

    def test_a_flat_star_stays_a_star(self):
        """A square with dents: whatever collapses, areas keep their sign."""
        angles = 2 * np.pi * np.arange(12) / 12
        radius = np.where(np.arange(12) % 2, 0.4, 1.0)
        rest = [[0.0, 0, 0], *np.stack([radius * np.cos(angles), radius * np.sin(angles), 0 * angles], axis=1).tolist()]
        faces = [[0, 1 + k, 1 + (k + 1) % 12] for k in range(12)]
        for count in (10, 8, 6):
            found = level(still((rest, faces)), count).model
            assert (triangle_normals(found.rest[None].astype(float), found.faces)[0, :, 2] > 0).all()


class TestSame:
    def test_again_and_on_any_number_of_threads(self):
        model = make_jointed(1, EGGS)
        one, two, three = (level(model, 150, threads=n).model for n in (1, 1, 3))
        for other in (two, three):
            assert np.array_equal(one.rest, other.rest)
            assert np.array_equal(one.faces, other.faces)
            assert np.array_equal(one.skin.weights, other.skin.weights)

    def test_levels_do_not_depend_on_their_neighbours(self):
        """A level that is asked for with others is the one that is asked for alone."""
        model = make_jointed(1, EGGS)
        together = simplify_model(model, triangles=[200, 100]).levels
        for count, found in zip((200, 100), together, strict=True):
            assert np.array_equal(level(model, count).model.faces, found.model.faces)

    def test_by_error(self):
        model = make_jointed(1, EGGS)
        found = simplify_model(model, max_errors=[1.0, 4.0]).levels
        assert [each.error.worst_percent <= bound for each, bound in zip(found, (1.0, 4.0), strict=True)] == [
            True,
            True,
        ]
        assert found[1].n_triangles < found[0].n_triangles < len(model.faces)
        assert simplify_model(model, max_errors=[1e-9]).levels[0].model is model


class TestPoses:
    def test_the_most_different_come_first(self):
        model = bending(fan(0.3), degrees=(0.0, 5.0, 90.0, 40.0, 90.0))
        assert choose_frames(model, 2).tolist()[0] == 2
        assert sorted(choose_frames(model, 9).tolist()) == [1, 2, 3]  # the rest pose and what repeats is none
        assert len(choose_frames(still(SQUARE), 4)) == 1  # never none

    def test_errors_are_both_ways(self):
        """A triangle of a square: no vertex of it is off the square, whose far corner is off the triangle."""
        found = level(still(SQUARE), 1)
        assert found.error.percent(found.error.level_mean) == pytest.approx(0, abs=1e-3)
        assert found.error.source_mean > 0
        assert found.error.mean == pytest.approx(found.error.source_mean / 2, rel=1e-3)
        assert found.error.worst_side == "source"


def test_assets_of_nothing(tmp_path):
    """Polygons are gone, names stay."""
    source = still(SQUARE, polygon_of_triangle=np.array([0, 0], np.int32))
    found = level(source, 1).model
    assert found.asset == replace(Asset(), polygon_of_triangle=None)
    assert found.name == source.name
