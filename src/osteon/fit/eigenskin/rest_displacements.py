"""Errors of a skin in known poses, transformed to the rest pose: displacements of vertices, differences of normals.

    u_v^p = A_v^p^-1 (x_v^p - t_v^p) - p_v,      A | t the blend of vertex v in pose p         (section 2.2)

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.2 and figure 2.
Differs from the paper: the inverse of a nearly collapsed blend would make displacements huge. Singular values are
bounded below by `FLATTEST`, so that a displacement is at most 1 / FLATTEST as long as the error; such blends are
counted. All others are inverted exactly, so training poses are reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.character import Deformer
from osteon.core.mesh import Mesh, scale_of_bones
from osteon.core.normals import SourceNormals
from osteon.core.topology import weld_points
from osteon.deform.normals import rest_normals
from osteon.deform.pose import blends_of

#: Lower bound of the singular values of a blend, relative to the scale of the frames (`play_scale`).
FLATTEST = 0.1


@dataclass(frozen=True, slots=True)
class RestDisplacements:
    """Displacements of the rest pose that reproduce observed poses."""

    values: Float64  # (p,v,3)
    bounded: int  # blends, over all poses and vertices, whose inverse was bounded
    flattest: float  # the smallest singular value of all blends, over `play_scale`


def rest_displacements(deformer: Deformer, rest: Float64, frames: FloatArray, transforms: Float64) -> RestDisplacements:
    """For observed vertices (p,v,3) and posed_from_rest transforms (p,b,3,4) of the same poses."""
    values = np.empty(frames.shape)
    floor = FLATTEST * scale_of_bones(transforms)
    bounded, flattest = 0, np.inf
    for p, (frame, bones) in enumerate(zip(frames, transforms, strict=True)):
        blends = blends_of(deformer, bones)
        missing = frame - np.einsum("vij,vj->vi", blends[..., :3], rest) - blends[..., 3]
        inverse, flat, least = bounded_inverse(blends[..., :3], floor)
        values[p] = np.einsum("vij,vj->vi", inverse, missing)
        bounded += flat
        flattest = min(flattest, least * FLATTEST / floor)
    return RestDisplacements(values, bounded, float(flattest))


def bounded_inverse(linear: Float64, floor: float) -> tuple[Float64, int, float]:
    """(n,3,3) inverses, with singular values of at least `floor`; how many were below it, and the smallest."""
    u, s, vt = np.linalg.svd(linear)
    inverse = np.einsum("nji,nj,nkj->nik", vt, 1 / np.maximum(s, floor), u)
    return inverse, int((s[:, 2] < floor).sum()), float(s[:, 2].min(initial=np.inf))


# Errors of a skin's normals in known poses, transformed to the rest pose.
#
#     d_n^p = |F n~| F^-1 n^p - n~
#
# F is the linear part of the blend of a normal's vertex in pose p, n~ the normal at rest and n^p that of the pose.
# Players compute F (n~ + d) at unit length, which is n^p. Eigennormals are computed from d as
# eigendisplacements are from displacements (`driver_columns.py`). A mesh with several normals per vertex has a d for
# each of them.
#
# Based on: Kry, James and Pai, EigenSkin, 2002, section 2: "it applies similarly to the construction of linear normal
# corrections".
# Differs from the paper, beyond what `--preset paper` does: supports of normals have a quarter of the threshold.
#
# Notes, built-in hand, two columns per joint, limit 10, mean degrees in unseen poses: none 4.52; sharing the
# coefficients of the displacements 0.55; 81 separate ones 0.50, with a quarter of the threshold 0.47; 121 separate ones
# 0.49; without a limit 0.43 and, with a quarter of the threshold, 0.37. Elastic hand: none 2.52, shared 0.12, a quarter
# of the threshold 0.10. With `--preset paper`, whose supports are of 4 %, shared ones are closer: 1.06 and 1.22, 0.33
# and 0.44.


@dataclass(frozen=True, slots=True)
class PoseNormals:
    """The true normals of a mesh in any pose of its vertices."""

    source: SourceNormals
    group: Int32  # (n,) row of each normal of the mesh in the source; -1 for unused normals

    @staticmethod
    def of(mesh: Mesh) -> PoseNormals:
        """Authored normals move with the surface; smooth ones are computed in every pose."""
        own = mesh.asset.normals
        # Without authored normals each vertex, also a duplicate, is shaded by its own triangles.
        welded = np.arange(mesh.n_vertices, dtype=np.int32) if own is None else weld_points(mesh.rest)[1]
        source = SourceNormals.of(mesh, welded, own)
        group = np.full(mesh.n_normals, -1, np.int32)
        group[(mesh.faces if own is None else own.of_corner).reshape(-1)] = source.of_corner.reshape(-1)
        return PoseNormals(source, group)

    def at(self, points: FloatArray) -> Float64:
        """(n,3) unit normals of a pose (v,3); zero where they are undefined."""
        found = np.concatenate([self.source.at(points), np.zeros((1, 3))])
        return found[self.group]


def normal_differences(deformer: Deformer, mesh: Mesh, frames: FloatArray, transforms: Float64) -> Float64:
    """(p,n,3) d for observed vertices (p,v,3) and posed_from_rest transforms (p,b,3,4) of the same poses."""
    rest, wanted = rest_normals(mesh), PoseNormals.of(mesh)
    out = np.empty((len(frames), len(rest), 3))
    for p, (frame, bones) in enumerate(zip(frames, transforms, strict=True)):
        linear = blends_of(deformer, bones)[..., :3]
        size = float(np.median(np.linalg.norm(linear, axis=(1, 2)))) / np.sqrt(3)
        inverse = bounded_inverse(linear, FLATTEST * size)[0][mesh.vertex_of_normal]
        length = np.linalg.norm(np.einsum("nij,nj->ni", linear[mesh.vertex_of_normal], rest), axis=1, keepdims=True)
        normals = wanted.at(frame)
        missing = np.einsum("nij,nj->ni", inverse, length * normals) - rest
        out[p] = np.where(normals.any(axis=1, keepdims=True), missing, 0.0)
    return out
