"""The pose that tells left from right: a walk whose first frame is its rest pose still has two sides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.normals import vertex_normals
from osteon.core.sequence import MeshSequence
from osteon.fit.mirror import MirrorPlane, asymmetry
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skeleton.reference_pose import ReferencePose, _areas, find_reference_pose
from osteon.synth.shapes import make_tube

N_FRAMES = 16
HIPS = np.array([[0.6, 0, 0], [-0.6, 0, 0]])


def walk(turn: float = 0.0) -> tuple[MeshSequence, np.ndarray, np.ndarray]:
    """A trunk and two legs that swing in turns, with frame 0 as rest: the sequence, rotations (f,3,3,3), side (v,)."""
    tube = make_tube(8, 12, 0.25, 1.6)
    upright = tube.vertices @ Rotation.from_euler("z", 90, degrees=True).as_matrix().T
    trunk = 0.9 * upright + [0, 1.6, 0.3]
    points = np.concatenate([trunk, *(upright + hip - [0, 0.8, 0] for hip in HIPS)])
    faces = np.concatenate([tube.faces + n * len(upright) for n in range(3)]).astype(np.int32)
    part = np.repeat([0, 1, 2], len(upright))
    phase = 2 * np.pi * np.arange(N_FRAMES) / N_FRAMES + np.pi / 2
    swings = np.stack([0 * phase, 0.7 * np.sin(phase), -0.7 * np.sin(phase)], axis=1)
    matrices = Rotation.from_rotvec(swings.reshape(-1, 1) * [1.0, 0, 0]).as_matrix().reshape(N_FRAMES, 3, 3, 3)
    centers = np.concatenate([[[0.0, 0, 0]], HIPS])
    posed = np.einsum("fvij,vj->fvi", matrices[:, part], points - centers[part]) + centers[part]
    world = Rotation.from_rotvec(np.linspace(0, turn, N_FRAMES)[:, None] * [0, 1.0, 0]).as_matrix()
    posed = np.einsum("fij,fvj->fvi", world, posed)
    return MeshSequence(posed, faces, posed[0]), matrices, np.array([0, 1, -1])[part]


def reference(turn: float = 0.0) -> tuple[ReferencePose, FitProblem, np.ndarray]:
    sequence, _, side = walk(turn)
    problem = pose_problem(sequence)
    return find_reference_pose(problem, sequence.faces, None), problem, side


@pytest.mark.parametrize("turn", [0.0, 6.0])
def test_the_mean_of_a_walk_has_sides(turn: float) -> None:
    pose, _, side = reference(turn)
    assert len(pose.frames) == N_FRAMES
    assert pose.plane is not None
    assert abs(pose.plane.normal[0]) > 0.99
    away = pose.plane.distances(pose.points)
    assert (np.sign(away[side != 0]) == side[side != 0]).all()


def test_a_symmetric_rest_pose_is_its_own_reference() -> None:
    sequence, _, _ = walk()
    problem, plane = pose_problem(sequence), MirrorPlane(np.array([1.0, 0, 0]), 0.0)
    pose = find_reference_pose(problem, sequence.faces, plane)
    assert pose.plane is plane
    np.testing.assert_array_equal(pose.points, problem.points[:, :3])
    joints = np.ones((2, 3))
    assert pose.joints(joints, np.zeros((N_FRAMES, 2, 3, 4))) is joints


def test_joints_move_as_the_vertices_around_them() -> None:
    pose, problem, _ = reference()
    targets = problem.targets.reshape(len(pose.points), -1, 3)
    some = [0, 100, 250]
    transforms = np.zeros((N_FRAMES, 3, 3, 4))
    transforms[..., 3] = targets[some].transpose(1, 0, 2)  # bones that take every point to a vertex
    np.testing.assert_allclose(pose.joints(np.ones((3, 3)), transforms), pose.points[some], atol=1e-6)


def test_asymmetry_is_the_distance_to_the_mirror_image() -> None:
    tube = make_tube(12, 20, 0.2, 2.0)
    points, plane = tube.vertices - tube.vertices.mean(axis=0), MirrorPlane(np.array([1.0, 0, 0]), 0.0)
    normals, areas = vertex_normals(points, tube.faces), _areas(points, tube.faces)
    assert asymmetry(points, normals, areas, plane) < 1e-6
    moved = MirrorPlane(plane.normal, 0.3)
    assert asymmetry(points, normals, areas, moved, most=1.0) == pytest.approx(
        0.6 / np.linalg.norm(np.ptp(points, axis=0)), rel=0.05
    )
