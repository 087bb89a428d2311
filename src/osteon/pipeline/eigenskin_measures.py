"""How much of what a skin misses EigenSkin puts right, pose by pose, and how much its columns could at best.

    removed = 1 - rms / rms of the skin alone
    limit:    the same with the coefficients that are best for each pose, instead of those that follow its joints

RMS is over the vertices of the surface, those that no triangle has left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int64
from osteon.core.character import Character
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.pose import ColumnMotion, blends_of, pose_points
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses

__all__ = ["PoseErrors", "measure_poses"]


@dataclass(frozen=True, slots=True)
class PoseErrors:
    """RMS distances in some poses, in units of the input."""

    names: tuple[str, ...]
    skin: Float64  # (p,) of the rig's own skin
    corrected: Float64  # (p,) with EigenSkin
    best: Float64  # (p,) with the same columns and the best coefficients
    diagonal: float

    @property
    def removed(self) -> Float64:
        """(p,) the share of the skin's error that is gone; 0 where it has none."""
        return _share(self.skin, self.corrected)

    @property
    def limit(self) -> Float64:
        """(p,) what the best coefficients remove."""
        return _share(self.skin, self.best)

    def to_json(self) -> dict[str, object]:
        rows = zip(self.names, self.skin, self.corrected, 100 * self.removed, 100 * self.limit, strict=True)
        keys = ("pose", "rms_skin", "rms", "removed_percent", "limit_percent")
        return {
            "poses": [dict(zip(keys, (row[0], *map(float, row[1:])), strict=True)) for row in rows],
            "rms_skin": float(self.skin.mean()),
            "rms": float(self.corrected.mean()),
            "rms_percent_of_diagonal": float(100 * self.corrected.mean() / self.diagonal),
            "removed_percent": {"mean": float(100 * self.removed.mean()), "least": float(100 * self.removed.min())},
            "limit_percent": {"mean": float(100 * self.limit.mean()), "least": float(100 * self.limit.min())},
        }


def measure_poses(
    skins: tuple[Character, Character], poses: KnownPoses, displacement: EigenSkin, *, threads: int = 0
) -> PoseErrors:
    """Errors of the rig as it came, and as it has become, in known poses."""
    plain, corrected = (replace(skin, displacements=()) for skin in skins)
    surface = np.unique(plain.mesh.faces).astype(np.int64)
    rest = plain.mesh.rest.astype(np.float64)[None]
    a = displacement.rbf.values(poses.transforms)
    moved_by = [ColumnMotion(displacement.by_vertex(), a.astype(np.float32))]
    before = pose_points(plain.deformer, rest, poses.transforms, threads=threads)
    after = pose_points(corrected.deformer, rest, poses.transforms, threads=threads, moved_by=moved_by)
    own = pose_points(corrected.deformer, rest, poses.transforms, threads=threads)
    best = [
        _best(corrected, poses.transforms[p], displacement, poses.frames[p] - own[p].astype(np.float64), surface)
        for p in range(len(poses.names))
    ]
    errors = [_rms(poses.frames - shown.astype(np.float64), surface) for shown in (before, after)]
    return PoseErrors(poses.names, errors[0], errors[1], np.array(best), plain.mesh.diagonal)


def _best(skin: Character, bones: Float64, displacement: EigenSkin, missing: Float64, surface: Int64) -> float:
    """RMS that the best coefficients leave of what the skin misses (v,3) in a pose."""
    linear = blends_of(skin.deformer, bones, surface)[..., :3]
    columns = displacement.basis[:, surface].astype(np.float64)
    moved = np.einsum("vij,rvj->rvi", linear, columns, optimize=True).reshape(len(columns), -1)
    wanted = missing[surface].reshape(-1)
    gram = moved @ moved.T
    gram[np.diag_indices(len(gram))] += 1e-12 * max(float(np.trace(gram)), 1e-300)
    q = np.linalg.solve(gram, moved @ wanted)
    return float(np.sqrt(np.square(wanted - q @ moved).sum() / max(len(surface), 1)))


def _rms(off: FloatArray, surface: Int64) -> Float64:
    """(p,)"""
    chosen = off[:, surface]
    return np.asarray(np.sqrt(np.einsum("pvi,pvi->p", chosen, chosen) / max(len(surface), 1)))


def _share(whole: Float64, left: Float64) -> Float64:
    return np.asarray(np.where(whole > 0, 1 - left / np.where(whole > 0, whole, 1.0), 0.0))
