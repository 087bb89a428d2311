"""Edits on coarse meshes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.apply.edit.carry_to_level import carry_edits
from osteon.apply.edit.edit_rest import edit_rest
from osteon.apply.edit.options import EditOptions
from osteon.core.mesh import Mesh
from osteon.deform.edits import Edits, edits_of
from osteon.deform.pose import pose_frames
from osteon.lod.model_levels import load_levels, model_at_level, save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.small_meshes import grid, still
from tests.tolerance import assert_near, assert_same_points


def test_a_coarse_plane_moves_as_the_fine_one() -> None:
    fine = still(grid(8))
    points, faces = grid(4)
    coarse = still((2 * np.array(points), faces)).character
    slope = np.zeros((fine.n_vertices, 3))
    slope[:, 2] = 0.1 * fine.rest[:, 0] + 0.2 * fine.rest[:, 1]
    found = carry_edits(fine.mesh, Edits(("slope",), np.array([0.5]), slope[None]), coarse)
    edits = edits_of(found)
    assert (edits.names, edits.scales.tolist()) == (("slope",), [0.5])
    assert_near(edits.basis[0, :, 2], 0.1 * coarse.mesh.rest[:, 0] + 0.2 * coarse.mesh.rest[:, 1], 1e-6)


def test_the_back_of_a_thin_part_does_not_follow_its_front() -> None:
    """Two planes close to each other that face apart; only the upper one is edited. The coarse mesh is between them."""
    rest, faces = (np.array(a) for a in grid(6))
    points = np.concatenate([rest, rest - [0, 0, 0.1]])
    both = np.concatenate([faces, faces[:, ::-1] + len(rest)])
    fine = Mesh(points, both)
    d = np.zeros((1, len(points), 3))
    d[0, : len(rest), 2] = 1.0
    low = still((rest - [0, 0, 0.04], faces[:, ::-1])).character  # faces down, and is nearer to the upper plane
    found = edits_of(carry_edits(fine, Edits(("a",), np.ones(1), d), low))
    assert not found.basis.any()
    up = still((rest - [0, 0, 0.06], faces)).character
    assert edits_of(carry_edits(fine, Edits(("a",), np.ones(1), d), up)).basis[0, :, 2].min() == 1.0


def test_levels_keep_their_edits_and_get_new_ones(tmp_path) -> None:
    model = make_jointed(1, JointedOptions(joints=6, vertices=40))
    d = np.zeros_like(model.rest)
    near = np.linalg.norm(model.rest - model.rest[5], axis=1) < 0.3 * model.diagonal
    d[near, 1] = 0.05 * model.diagonal
    edited = edit_rest(model, model.rest + d, options=EditOptions(name="first")).model
    levels = fit_levels(edited, options=LodOptions(bones="4,2", threads=1)).levels
    save_levels(levels, tmp_path / "levels.glb")
    again = load_levels(tmp_path / "levels.glb")
    assert edits_of(again.model.character).names == ("first",)
    assert_same_points(pose_frames(again.model), pose_frames(edited), 2e-6)
    coarse = [mesh.character for mesh in again.coarse]
    assert coarse
    found = edit_rest(again.model, model.rest - d, options=EditOptions(name="second"), coarse=coarse)
    for one in found.coarse:
        assert edits_of(one).names == ("first", "second")
        assert_near(edits_of(one).basis[0], -edits_of(one).basis[1], 1e-5)
    at = model_at_level(again.model, again.skin, "clip", 0.5)
    expected = model_at_level(replace(again.model, character=model.character), again.skin, "clip", 0.5)
    assert np.abs(pose_frames(at) - pose_frames(expected)).max() > 0.04 * model.diagonal  # the edit is seen there
