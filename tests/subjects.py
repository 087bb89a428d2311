"""Small subjects for the fit: triangles that turn as told, hinges, and random problems."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.model import BoneTrack, Skin, SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.fit.influences import Influences
from osteon.fit.problem import FitProblem, pose_problem
from osteon.synth.baked import Baked, RandomOptions, bake_model, bake_random_model
from osteon.synth.motion import bend_joints, joint_skin
from osteon.synth.shapes import make_tube

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.8, 0.2]])


def random_turns(rng: np.random.Generator, n_frames: int, n_motions: int, size: float) -> np.ndarray:
    """(f,n,3,3) rotations by about `size` radians; frame 0 is at rest."""
    vectors = size * rng.normal(size=(n_frames, n_motions, 3))
    vectors[0] = 0
    return Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(n_frames, n_motions, 3, 3)


def soup(turns: np.ndarray) -> MeshSequence:
    """Separate triangles side by side, of which number t turns by turns[:, t] (f,t,3,3) about its own centre."""
    n = turns.shape[1]
    rest = TRIANGLE - TRIANGLE.mean(axis=0)
    centers = 3.0 * np.stack([np.arange(n) % 40, np.arange(n) // 40, np.zeros(n)], axis=1)
    frames = np.einsum("ftij,cj->ftci", turns, rest) + centers[:, None]
    flat = (rest + centers[:, None]).reshape(-1, 3)
    return MeshSequence(frames.reshape(len(turns), -1, 3), np.arange(3 * n).reshape(-1, 3), flat)


def bent_tube(n_bones: int = 2, n_frames: int = 8, softness: float = 0.5) -> Baked:
    """A coarse tube of rigid bones in a row."""
    tube = make_tube(8, 6 * n_bones, 0.15, 0.6 * n_bones)
    skin = joint_skin(tube.vertices[:, 0], n_bones, 0.6 * n_bones, softness)
    track = BoneTrack(bend_joints(n_bones, 0.6 * n_bones, n_frames, 50.0, 0), "rigid")
    return bake_model(SkinnedModel(tube.vertices, tube.faces, skin, track))


def random_problem(
    n_vertices: int = 60, n_bones: int = 5, n_frames: int = 8, seed: int = 0, noise: float = 0.02
) -> tuple[FitProblem, np.ndarray]:
    """A noisy skinned ball in the fit's units, and bones (f,b,3,4) near the true ones."""
    baked = bake_random_model(seed, options=RandomOptions(n_bones, n_frames, n_vertices, 3, "flexible"))
    rng = np.random.default_rng(seed)
    source = baked.sequence
    frames = source.frames + noise * rng.normal(size=source.frames.shape)
    problem = pose_problem(MeshSequence(frames, source.faces, source.rest))
    transforms = problem.from_world(baked.model.track.transforms)
    return problem, transforms + noise * rng.normal(size=transforms.shape)


def predictions(problem: FitProblem, transforms: np.ndarray) -> np.ndarray:
    """(v,b,3f) where each bone alone takes each vertex."""
    moved = np.einsum("fbij,vj->vbfi", transforms, problem.points)
    return moved.reshape(*moved.shape[:2], -1)


def dense(influences: Influences | Skin, n_bones: int) -> np.ndarray:
    """(v,b) weights with a column for every bone."""
    bones, weights = (influences.bones, influences.weights) if isinstance(influences, Skin) else influences[:2]
    out = np.zeros((len(bones), n_bones))
    np.add.at(out, (np.arange(len(bones))[:, None], bones), weights)
    return out


def direct_errors(problem: FitProblem, transforms: np.ndarray, influences: Influences) -> np.ndarray:
    """(v,) squared errors, by posing every vertex."""
    weights = dense(influences, transforms.shape[1])
    posed = np.einsum("vb,vbx->vx", weights, predictions(problem, transforms))
    return ((posed - problem.targets) ** 2).sum(axis=1)
