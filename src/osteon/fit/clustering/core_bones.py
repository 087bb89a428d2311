"""Bone transforms from core triangles alone, before any weights.

    rigid:     R = the rotation closest to  sum_t a_t R_t,     v = argmin sum_t a_t || c_t - R c0_t - v ||^2
    flexible:  (F, v) = argmin sum_t a_t || c_t - F c0_t - v ||^2

| symbol | name |
| --- | --- |
| a_t       | rest area of triangle t |
| c0_t, c_t | its centroid at rest, and in the frame |
| R_t       | its rotation (rotations.py) |

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 4.3 (rigid), 4.4 and appendix A, eq. 14 (flexible).

The flexible normal equations have one 4x4 matrix for all frames. Differs from the paper: a cluster that is flat or tiny
makes that matrix singular; F is then drawn towards the rigid R with a weight of FLATNESS times the cluster's own size.
"""

from __future__ import annotations

import numpy as np

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.arrays import Float64, Int32
from osteon.core.sequence import MeshSequence
from osteon.core.topology import triangle_areas
from osteon.core.transforms import nearest_rotation
from osteon.fit.clustering.rotations import mean_rotations
from osteon.fit.skin.scaled_bones import project_scaled

__all__ = ["fit_core_bones"]

#: Weight of the rigid fit, relative to the mean squared extent of the cluster.
FLATNESS = 1e-6


def fit_core_bones(sequence: MeshSequence, labels: Int32, bone_type: BoneType) -> BoneTrack:
    """A bone for every label >= 0 from the triangles that carry it."""
    n_bones = int(labels.max(initial=-1)) + 1
    areas = triangle_areas(sequence.rest, sequence.faces)
    rotations = nearest_rotation(mean_rotations(sequence.rest, sequence.source, sequence.faces, labels, areas))
    transforms = np.empty((sequence.n_frames, n_bones, 3, 4))
    cores = [np.flatnonzero(labels == bone) for bone in range(n_bones)]
    for block in sequence.blocks():
        run = slice(block.start, block.stop)
        for bone, core in enumerate(cores):
            faces, mass = sequence.faces[core], areas[core] / areas[core].sum()
            transforms[run, bone] = _fit_bone(
                sequence.rest[faces].mean(axis=1, dtype=np.float64),
                block.frames[:, faces].mean(axis=2, dtype=np.float64),
                mass,
                rotations[run, bone],
                bone_type,
            )
    if bone_type == "scaled":
        centers = [np.average(sequence.rest[sequence.faces[core]].mean(axis=1), 0, areas[core]) for core in cores]
        transforms = project_scaled(transforms, centers=np.array(centers).reshape(-1, 3))
    return BoneTrack(transforms.astype(np.float32), bone_type)


def _fit_bone(rest: Float64, posed: Float64, mass: Float64, rotations: Float64, bone_type: BoneType) -> Float64:
    """(f,3,4) from the centroids of a bone's triangles at rest (t,3) and in some frames (f,t,3)."""
    rest_mean, posed_mean = mass @ rest, np.einsum("t,fti->fi", mass, posed)
    linear = rotations
    if bone_type != "rigid":
        linear = _fit_linear(rest - rest_mean, posed - posed_mean[:, None], mass, linear)
    return np.concatenate([linear, (posed_mean - linear @ rest_mean)[..., None]], axis=2)


def _fit_linear(rest: Float64, posed: Float64, mass: Float64, rotations: Float64) -> Float64:
    """F (f,3,3) of eq. 14 for centred centroids (the translation equations are then solved by the centring)."""
    moment = np.einsum("t,ti,tj->ij", mass, rest, rest)
    pull = FLATNESS * np.trace(moment) + 1e-300
    right = np.einsum("t,fti,tj->fij", mass, posed, rest, optimize=True) + pull * rotations
    return np.asarray(np.swapaxes(np.linalg.solve(moment + pull * np.eye(3), np.swapaxes(right, 1, 2)), 1, 2))
