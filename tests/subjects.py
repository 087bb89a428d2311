"""Small subjects for the fit: triangles that turn as told, hinges, and random problems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Corrections, Skin
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.fit.corrections.columns import ColumnFit, SkinState
from osteon.fit.problem import FitProblem, NormalRows, pose_problem
from osteon.fit.skin.influences import Influences, select_influences
from osteon.synth.baked import (
    Baked,
    RandomOptions,
    bake_model,
    bake_random_model,
    bend_joints,
    joint_skin,
    smooth_series,
)
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
    return bake_model(linear_blend_model(tube.vertices, tube.faces, skin, track))


def random_problem(
    n_vertices: int = 60, n_bones: int = 5, n_frames: int = 8, seed: int = 0, noise: float = 0.02
) -> tuple[FitProblem, np.ndarray]:
    """A noisy skinned ball in the fit's units, and bones (f,b,3,4) near the true ones."""
    baked = bake_random_model(seed, options=RandomOptions(n_bones, n_frames, n_vertices, 3, "flexible"))
    rng = np.random.default_rng(seed)
    source = baked.sequence
    frames = source.frames + noise * rng.normal(size=source.frames.shape)
    problem = pose_problem(MeshSequence(frames, source.faces, source.rest))
    transforms = problem.from_input(baked.model.track)
    return problem, transforms + noise * rng.normal(size=transforms.shape)


def predictions(problem: FitProblem, transforms: np.ndarray) -> np.ndarray:
    """(v,b,3f) where each bone alone takes each vertex."""
    moved = np.einsum("fbij,vj->vbfi", transforms, problem.points)
    return moved.reshape(*moved.shape[:2], -1)


def dense(influences: Influences | Skin | SkinState, n_bones: int) -> np.ndarray:
    """(v,b) weights with a column for every bone."""
    bones, weights = influences.bones, influences.weights
    out = np.zeros((len(bones), n_bones))
    np.add.at(out, (np.arange(len(bones))[:, None], bones), weights)
    return out


def direct_errors(problem: FitProblem, transforms: np.ndarray, influences: Influences) -> np.ndarray:
    """(v,) squared errors, by posing every vertex."""
    weights = dense(influences, transforms.shape[1])
    posed = np.einsum("vb,vbx->vx", weights, predictions(problem, transforms))
    return ((posed - problem.targets) ** 2).sum(axis=1)


def random_skin(
    n_vertices: int = 60, n_bones: int = 5, n_frames: int = 8, seed: int = 0, noise: float = 0.02
) -> tuple[FitProblem, SkinState]:
    """A noisy skinned ball in the fit's units, and a skin that is near the true one."""
    problem, transforms = random_problem(n_vertices, n_bones, n_frames, seed, noise)
    found = select_influences(problem, transforms, 3)
    return problem, SkinState(transforms, found.bones, found.weights)


def corrected(baked: Baked, rank: int, size: float = 0.05, seed: int = 0) -> Baked:
    """The model with smooth random corrections of this rank, and what it plays then."""
    rng = np.random.default_rng(seed)
    model = baked.model
    waves = np.sin(model.rest @ rng.normal(0, 1.5, (3, rank)) + rng.uniform(0, 6, rank))  # (v,r)
    basis = size * np.einsum("vr,rj->rvj", waves, rng.normal(size=(rank, 3)))
    columns = Corrections(basis.astype(np.float32), smooth_series(rng, model.n_frames, (rank,)).astype(np.float32))
    model = model.with_corrections(columns)
    return Baked(model, replace(baked.sequence, frames=pose_frames(model)))


def blends(skin: SkinState) -> np.ndarray:
    """(f,v,3,4) the blended transform of every vertex in every frame."""
    return np.einsum("vk,fvkij->fvij", skin.weights, skin.transforms[:, skin.bones], optimize=True)


def corrected_errors(problem: FitProblem, skin: SkinState, columns: ColumnFit, rank: int | None = None) -> np.ndarray:
    """(v,) squared errors with the first `rank` columns, by posing every vertex."""
    rank = columns.rank if rank is None else rank
    moved = problem.points[:, :3] + np.einsum(
        "fr,vrj->fvj", columns.coefficients[:, :rank], columns.basis[:, :rank], optimize=True
    )
    posed = np.einsum("fvij,fvj->fvi", blends(skin)[..., :3], moved) + blends(skin)[..., 3]
    return ((posed - frames_of(problem)) ** 2).sum(axis=(0, 2))


def frames_of(problem: FitProblem) -> np.ndarray:
    """(f,v,3) targets."""
    return problem.targets.astype(np.float64).reshape(problem.n_vertices, -1, 3).transpose(1, 0, 2)


def random_normals(problem: FitProblem, transforms: np.ndarray, weight: float = 0.0, seed: int = 0) -> NormalRows:
    """Normals of a problem: one or two per vertex, some vertices without; targets near what the bones give."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, problem.n_vertices)
    vertex = np.repeat(np.arange(problem.n_vertices, dtype=np.int64), counts)
    rest = rng.normal(size=(len(vertex), 3))
    rest /= np.linalg.norm(rest, axis=1, keepdims=True)
    near = np.einsum("fij,nj->nfi", transforms[..., :3].mean(axis=1), rest) + 0.3 * rng.normal(
        size=(len(vertex), len(transforms), 3)
    )
    near /= np.linalg.norm(near, axis=2, keepdims=True)
    near[: len(near) // 5, 1] = 0  # a frame that has none
    return NormalRows(rest, near.reshape(len(vertex), -1).astype(np.float32), vertex, weight)
