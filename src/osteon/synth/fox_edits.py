"""Edits of the built-in fox: a crest of plates along its spine, and a horn on its nose.

Both are displacements of the rest pose along its normals or up, smooth functions of the position, so that they do not
depend on the resolution of the mesh.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.mesh import Mesh
from osteon.core.normals import vertex_normals
from osteon.synth.creature import ramp

#: Length of a plate, height, and half its thickness.
PLATE, CREST, THIN = 0.15, 0.11, 0.024
#: Foot of the horn, its radius, and its tip relative to the foot.
HORN, ROUND, TIP = (0.0, 1.185, 0.92), 0.045, (0.0, 0.17, -0.04)


def fox_edits(mesh: Mesh) -> dict[str, Float64]:
    """(v,3) displacements of the fox's mesh, by name."""
    points = mesh.rest.astype(np.float64)
    return {"crest": _crest(points, vertex_normals(points, mesh.faces)), "horn": _horn(points)}


def _crest(points: Float64, normals: Float64) -> Float64:
    """Plates from the neck to the root of the tail; each is highest in its middle."""
    x, y, z = points.T
    along = z + 0.35 * y  # plates on the neck stand apart as those on the back do
    plate = np.sqrt(np.clip(np.sin(2 * np.pi * along / PLATE), 0, 1))
    where = np.exp(-((x / THIN) ** 2)) * ramp(z, -0.62, -0.50) * ramp(z, 0.66, 0.56) * ramp(normals[:, 1], 0.1, 0.5)
    lean = np.array([0.0, 1.0, -0.35]) / np.hypot(1.0, 0.35)
    return np.asarray(CREST * (plate * where * ramp(y, 0.7, 0.8))[:, None] * lean)


def _horn(points: Float64) -> Float64:
    """A cone, thinner towards its tip."""
    distance = np.linalg.norm(points - HORN, axis=1) / ROUND
    return np.asarray((np.clip(1 - distance, 0, 1) ** 1.2)[:, None] * np.array(TIP))
