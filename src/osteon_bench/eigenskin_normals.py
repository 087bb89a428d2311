"""Rows about shading: separate eigennormals compared with columns that share the coefficients of displacements.

Shared columns change normals by the coefficients of the eigendisplacements, on the same supports, as in players that
have one weight for both. They are fitted to all training poses:

    minimise over N:   sum_p || d_v^p - sum_r a_r^p N_rv ||^2 + damping

d is the residual of the normals in the rest pose (`fit/eigenskin/rest_displacements.py`), a the coefficients.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import Character
from osteon.deform.eigenskin import EigenSkin
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.fit.eigenskin.rest_displacements import normal_differences
from osteon.io.poses.pose_set import PoseSet
from osteon.pipeline.eigenskin import LearnedSkin, PoseErrors, measure_poses, poses_of_rig
from osteon_bench.rows import Row, at_most, figure

__all__ = ["shading_rows", "share_coefficients"]

#: Damping relative to the mean square of a column's coefficients.
DAMPING = 1e-3


def shading_rows(case: str, learned: LearnedSkin, poses: PoseSet, threads: int) -> list[Row]:
    """Mean degrees of shading in validation poses: separate eigennormals, shared coefficients, none."""
    own, plain = learned.validation, replace(learned.model.character, displacements=())
    assert own is not None
    training, judged = (
        poses_of_rig(plain, poses, poses.of_kind(*kinds)) for kinds in (("train", "pair"), ("validate",))
    )
    shared = share_coefficients(plain, learned.displacement, training)
    once = measure_poses((plain, plain), judged, shared, threads=threads)
    skin, mine, theirs = own.shading_skin[:, 0].mean(), own.shading[:, 0].mean(), once.shading[:, 0].mean()
    return [
        at_most(case, "shading, own eigennormals, degrees; bound: shared coefficients", mine, float(theirs)),
        at_most(case, "shading, own eigennormals, degrees; bound: none", mine, float(skin)),
        figure(case, "shading, own eigennormals, degrees, 95th percentile", _p95(own)),
        figure(case, "shading, shared coefficients, degrees, 95th percentile", _p95(once)),
        figure(case, "shading, none, degrees, 95th percentile", own.shading_skin[:, 1].mean()),
        at_most(
            case, "eigennormals a normal, most", learned.displacement.columns_per_normal.max(), learned.options.limit
        ),
        figure(case, "eigennormals", learned.displacement.n_normals),
    ]


def share_coefficients(skin: Character, found: EigenSkin, poses: KnownPoses) -> EigenSkin:
    """The eigendisplacements with normals that share their coefficients."""
    mesh, columns = skin.mesh, found.without_normals(found.rank)
    missing = normal_differences(skin.deformer, mesh, poses.frames, poses.transforms)
    a = columns.rbf.values(poses.transforms)
    moves = np.any(columns.basis, axis=2)[:, mesh.vertex_of_normal]
    normals = np.zeros((found.rank, mesh.n_normals, 3), np.float32)
    for n in np.flatnonzero(moves.any(axis=0)).tolist():
        used = np.flatnonzero(moves[:, n])
        normals[used, n] = _solved(a[:, used], missing[:, n])
    return EigenSkin(columns.basis, columns.rbf, normals)


def _solved(a: Float64, missing: Float64) -> Float64:
    """(k,3) columns for coefficients (p,k) and residuals (p,3)."""
    gram = a.T @ a
    gram[np.diag_indices(len(gram))] += DAMPING * np.trace(gram) / len(gram) + 1e-300
    return np.asarray(np.linalg.solve(gram, a.T @ missing))


def _p95(errors: PoseErrors) -> float:
    return float(errors.shading[:, 1].mean())
