"""`rig_sequence`: known skeletons are found again, whatever the units and wherever the scene; bad input says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.errors import GeometryError, OptionError
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import apply
from osteon.io.skeletons.section_tree import SectionJoint, SectionTree
from osteon.pipeline.options import RigOptions
from osteon.pipeline.skeleton import RigFit, rig_sequence
from osteon.synth.baked import BakeOptions, bake_chain, bake_rigid_body

from ...subjects import bent_tube

BENDS = (0.6, 1.2, 1.8)  # where the tube of four bones bends


@pytest.fixture(scope="module")
def tube() -> MeshSequence:
    return bent_tube(4, n_frames=12).sequence


@pytest.fixture(scope="module")
def found(tube: MeshSequence) -> RigFit:
    return rig_sequence(tube, options=RigOptions(threads=2))


def joints_of(fit: RigFit) -> np.ndarray:
    """(j,3) all but the root, along the tube."""
    places = fit.skeleton.world_from_joint[fit.skeleton.parents >= 0, :, 3]
    return places[np.argsort(places[:, 0])]


def test_the_joints_of_a_tube(found: RigFit, tube: MeshSequence) -> None:
    joints = joints_of(found)
    offset = tube.rest[:, 0].min()
    assert len(joints) == 3
    np.testing.assert_allclose(joints[:, 0] - offset, BENDS, atol=0.03 * tube.diagonal)
    np.testing.assert_allclose(joints[:, 1:], 0, atol=0.02 * tube.diagonal)
    assert found.fit.report.error_percent < 1
    assert (found.skeleton.parents < 0).sum() == 1
    assert found.model.track.bone_type == "rigid"
    assert found.model.track.names == found.skeleton.names


def test_lengths_are_constant_and_the_file_carries_the_tree(found: RigFit) -> None:
    model, skeleton = found.model, found.skeleton
    posed = apply(model.track.transforms, skeleton.world_from_joint[:, None, :, 3])[:, :, 0]
    below = np.flatnonzero(skeleton.parents >= 0)
    lengths = np.linalg.norm(posed[:, below] - posed[:, skeleton.parents[below]], axis=2)
    assert np.ptp(lengths, axis=0).max() < 1e-6 * model.diagonal
    told = found.to_json()
    assert told["names"] == list(skeleton.names)
    assert np.asarray(told["positions"]).shape == (len(skeleton.names), 3)


def test_where_the_scene_is_and_its_unit_change_nothing(found: RigFit, tube: MeshSequence) -> None:
    turn = Rotation.from_rotvec([0.3, -0.8, 0.4]).as_matrix()
    moved = MeshSequence(
        100 * tube.frames.astype(np.float64) @ turn.T + 7, tube.faces, 100 * tube.rest.astype(np.float64) @ turn.T + 7
    )
    again = rig_sequence(moved, options=RigOptions(threads=2))
    back = (again.skeleton.world_from_joint[again.skeleton.parents >= 0, :, 3] - 7) @ turn / 100
    np.testing.assert_allclose(back[np.argsort(back[:, 0])], joints_of(found), atol=0.01 * tube.diagonal)
    assert again.fit.report.error_percent == pytest.approx(found.fit.report.error_percent, rel=0.3, abs=0.05)


def test_exactly_as_many_bones_as_asked_for(tube: MeshSequence) -> None:
    for bones in (1, 2, 6):
        assert rig_sequence(tube, options=RigOptions(bones=bones, threads=2)).model.n_bones == bones


def test_more_bones_than_two_poses_can_tell(tube: MeshSequence) -> None:
    """Some of them move no vertex at all."""
    two = tube.take_frames(np.array([0, tube.n_frames - 1], np.int32))
    fit = rig_sequence(two, options=RigOptions(bones=two.n_vertices // 3, threads=1))
    assert fit.model.n_bones == two.n_vertices // 3
    assert np.isfinite(fit.skeleton.world_from_joint).all()
    assert any("guesses" in warning for warning in fit.fit.report.warnings)


def test_the_free_form_keeps_every_motion(found: RigFit, tube: MeshSequence) -> None:
    free = rig_sequence(tube, options=RigOptions(form="free", threads=2))
    assert free.fit.report.error_percent == pytest.approx(free.free_error_percent, rel=0.01, abs=1e-4)
    assert free.fit.report.error_percent < 0.01
    assert free.model.n_bones == found.model.n_bones


def test_same_seed_same_skeleton(found: RigFit, tube: MeshSequence) -> None:
    again = rig_sequence(tube, options=RigOptions(threads=1))
    assert np.array_equal(again.skeleton.world_from_joint, found.skeleton.world_from_joint)
    assert np.array_equal(again.model.track.transforms, found.model.track.transforms)


def test_the_root_is_where_it_is_asked_for(tube: MeshSequence) -> None:
    end = int(tube.rest[:, 0].argmax())
    fit = rig_sequence(tube, options=RigOptions(root=end, threads=2))
    owner = fit.model.skin.bones[end, fit.model.skin.weights[end].argmax()]
    assert fit.skeleton.parents[owner] == -1


def test_separate_shells_hang_together() -> None:
    chain = bake_chain(4, options=BakeOptions(frames=12, bend=40)).sequence
    fit = rig_sequence(chain, options=RigOptions(threads=2))
    assert fit.model.n_bones == 4
    assert sorted(np.bincount(fit.skeleton.parents[1:], minlength=4).tolist())[-1] <= 2  # a chain, told from its middle
    assert (fit.skeleton.parents < 0).sum() == 1


def test_a_rigid_body_is_one_bone_and_says_so() -> None:
    fit = rig_sequence(bake_rigid_body().sequence, options=RigOptions(threads=2))
    assert fit.model.n_bones == 1
    assert any("one rigid body" in warning for warning in fit.fit.report.warnings)


def test_symmetric_joints(tube: MeshSequence) -> None:
    fit = rig_sequence(tube, options=RigOptions(symmetric=True, threads=2))
    places = fit.skeleton.world_from_joint[:, :, 3]
    middle = (tube.rest[:, 0].min() + tube.rest[:, 0].max()) / 2
    mirrored = places * [-1, 1, 1] + [2 * middle, 0, 0]
    apart = np.linalg.norm(mirrored[:, None] - places[None], axis=2).min(axis=1)
    assert apart.max() < 0.03 * tube.diagonal


def test_what_is_refused(tube: MeshSequence) -> None:
    with pytest.raises(OptionError, match="root: vertex"):
        rig_sequence(tube, options=RigOptions(root=10**6))
    still = replace_frames(tube, np.repeat(tube.frames[:1], 4, axis=0))
    with pytest.raises(GeometryError, match="nothing moves"):
        rig_sequence(still)
    screw = tube.rest + np.stack(
        [0 * tube.rest[:, 0], 0.5 * np.sin(4 * tube.rest[:, 0]), 0.5 * np.cos(4 * tube.rest[:, 0])], axis=1
    )
    bent = MeshSequence(np.concatenate([screw[None], tube.frames[1:]]), tube.faces, screw)
    with pytest.raises(GeometryError, match="--symmetric: the rest pose"):
        rig_sequence(bent, options=RigOptions(symmetric=True))


def test_few_poses_are_told(tube: MeshSequence) -> None:
    fit = rig_sequence(replace_frames(tube, tube.frames[:3]), options=RigOptions(threads=2))
    assert any("3 poses hardly determine" in warning for warning in fit.fit.report.warnings)


def replace_frames(sequence: MeshSequence, frames: np.ndarray) -> MeshSequence:
    return sequence.with_parts(frames=frames, clips=())


def edited(tree: SectionTree, **changes: dict[str, Any]) -> SectionTree:
    """The tree with changes to joints by name."""
    return replace(tree, joints=tuple(replace(j, **changes.get(j.name, {})) for j in tree.joints))


def test_a_tree_that_was_not_edited_gives_the_same_joints(found: RigFit, tube: MeshSequence) -> None:
    again = rig_sequence(tube, options=RigOptions(threads=2), tree=found.tree)
    assert again.skeleton.names == found.skeleton.names
    assert again.skeleton.parents.tolist() == found.skeleton.parents.tolist()
    np.testing.assert_allclose(joints_of(again), joints_of(found), atol=0.01 * tube.diagonal)
    assert again.fit.report.error_percent < 1
    assert "count" not in again.fit.report.seconds  # no new search


def test_moved_and_renamed_joints_stay_as_they_were_edited(found: RigFit, tube: MeshSequence) -> None:
    name = found.skeleton.names[-1]
    place = found.skeleton.world_from_joint[-1, :, 3].astype(float) + 0.02 * tube.diagonal * np.array([1.0, 0, 0])
    change = {"position": tuple(place.tolist()), "moved": True, "name": "paw"}
    fit = rig_sequence(tube, options=RigOptions(threads=2), tree=edited(found.tree, **{name: change}))
    assert fit.skeleton.names[-1] == "paw"
    np.testing.assert_allclose(fit.skeleton.world_from_joint[-1, :, 3], place, atol=2e-3 * tube.diagonal)


def test_merged_and_split_joints(found: RigFit, tube: MeshSequence) -> None:
    tree = found.tree
    leaf = next(j for j in range(len(tree.joints)) if not (tree.parents == j).any())
    parent = tree.joints[leaf].parent
    both = (*tree.joints[parent].sections, *tree.joints[leaf].sections)
    kept = [replace(j, sections=both) if n == parent else j for n, j in enumerate(tree.joints) if n != leaf]
    number = {n: k for k, n in enumerate(n for n in range(len(tree.joints)) if n != leaf)}
    merged = replace(tree, joints=tuple(replace(j, parent=number.get(j.parent, -1)) for j in kept))
    fewer = rig_sequence(tube, options=RigOptions(threads=2), tree=merged)
    assert fewer.model.n_bones == found.model.n_bones - 1
    split = replace(
        fewer.tree,
        joints=(
            *fewer.tree.joints,
            SectionJoint(
                "again", number[parent], tree.joints[leaf].position, (), split_from=number[parent], moved=True
            ),
        ),
    )
    more = rig_sequence(tube, options=RigOptions(threads=2), tree=split)
    assert more.skeleton.names[-1] == "again"
    assert more.fit.report.error_percent < fewer.fit.report.error_percent / 3


def test_a_tree_of_another_mesh_or_with_options_that_it_decides(found: RigFit, tube: MeshSequence) -> None:
    other = bake_chain(4, options=BakeOptions(frames=12, bend=40)).sequence
    with pytest.raises(OptionError, match="--tree: its sections have"):
        rig_sequence(other, tree=found.tree)
    for options in (RigOptions(bones=3), RigOptions(root=0), RigOptions(symmetric=True)):
        with pytest.raises(OptionError, match="the tree of --tree decides this"):
            rig_sequence(tube, options=options, tree=found.tree)


def test_a_standard_for_humanoids_is_refused_for_a_tube(tube: MeshSequence) -> None:
    with pytest.raises(GeometryError, match="--names mixamo: expected a humanoid"):
        rig_sequence(tube, options=RigOptions(names="mixamo", threads=2))


def test_joints_that_hardly_bend_are_named(tube: MeshSequence) -> None:
    near = tube.rest + 0.08 * (tube.frames - tube.rest)
    fit = rig_sequence(replace_frames(tube, near), options=RigOptions(bones=4, threads=2))
    assert any("hardly determines where they are" in warning for warning in fit.fit.report.warnings)


def test_few_different_poses_are_told(tube: MeshSequence) -> None:
    fit = rig_sequence(replace_frames(tube, np.repeat(tube.frames[:5], 3, axis=0)), options=RigOptions(threads=2))
    assert any("show only 5 distinct poses" in warning for warning in fit.fit.report.warnings)


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="form"):
        RigOptions(form="loose")  # type: ignore[arg-type]
    assert replace(RigOptions(), bones=3).bones == 3
