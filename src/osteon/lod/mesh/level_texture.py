"""Texture coordinates with which a level shows its source's texture where the source does.

They are fitted to samples of the level's surface (`level_samples.py`) whose closest point of the source is in the same
chart: triangles that share texture coordinates. Others, across a seam or on the other side of a thin part, do not
count. Coordinates of unchanged wedges are kept.

Notes. 95th percentile of FLIP at 100 and 200 pixels, all bones, of coordinates at the closest point of the source, and
of these: CesiumMan to 1,634 triangles .057 and .083, .056 and .080; to 1,168 .104 and .156, .102 and .152.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Bool, Float32, Int32
from osteon.core.mesh import Mesh
from osteon.core.topology import shells
from osteon.lod.mesh.level_normals import sample_normals
from osteon.lod.mesh.level_samples import LevelSamples

#: Weight of the coordinates at the closest point of the source.
HELD = 0.05


def charts_of(wedges: Int32, n_wedges: int) -> Int32:
    """(t,) the chart of each triangle with wedges (t,3)."""
    found: Int32 = shells(wedges, n_wedges)[1][wedges[:, 0]].astype(np.int32)
    return found


def fit_texture(
    source: Mesh, samples: LevelSamples, uvs: Float32, start: Float32, owners: Int32, same: Bool, free: Bool
) -> Float32:
    """(t,3,2) texture coordinates of a level, from those of the source (T,3,2) and those to start with (t,3,2).

    Owners (t,3) are the wedges of corners, `same` (s,) the samples in the same chart, `free` (w,) changed wedges.
    """
    first = np.zeros((len(free), 2))
    first[owners] = start
    targets = samples.targets(uvs)
    areas = samples.areas(samples.facing(sample_normals(source, samples)) & same)
    found = samples.fit(owners, areas, targets, first, HELD)
    return np.where(free[:, None], found, first)[owners].astype(np.float32)
