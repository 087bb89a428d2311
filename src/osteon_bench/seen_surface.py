"""A source as a graphics card draws it: one vertex per combination of position, normal and texture coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32
from osteon.core.model import SkinnedModel
from osteon.core.normals import SourceNormals
from osteon.core.sequence import MeshSequence
from osteon.io.gltf.write.mesh import lay_out_mesh
from osteon.measure.shading import source_normals_of


@dataclass(frozen=True, slots=True)
class SeenSurface:
    """The parts that do not change between frames, and the source of its normals."""

    vertex: Int32  # (n,) of the sequence
    group: Int32  # (n,) of the source's normals
    corners: Int32  # (t,3) into n, triangles in the order of the file
    uvs: Float64 | None  # (n,2) origin at the top
    colors: Float32 | None  # (n,4)
    primitives: tuple[tuple[int, int], ...]  # first triangle and number of triangles of each primitive of the file
    normals: SourceNormals

    def at(self, points: FloatArray) -> tuple[Float64, Float64]:
        """(n,3) positions and (n,3) unit normals of a frame of the source (v,3)."""
        return np.asarray(points[self.vertex], np.float64), self.normals.at(points)[self.group]

    def packed(self) -> tuple[dict[str, object], bytes]:
        """The description for the page, and the arrays that it fetches."""
        numbers = [self.corners.astype("<u4").tobytes()]
        numbers += [values.astype("<f4").tobytes() for values in (self.uvs, self.colors) if values is not None]
        layout: dict[str, object] = {
            "vertices": len(self.vertex),
            "corners": self.corners.size,
            "uvs": 0 if self.uvs is None else 2,
            "colors": 0 if self.colors is None else 4,
            "groups": [[3 * start, 3 * count] for start, count in self.primitives],
        }
        return layout, b"".join(numbers)


def make_surface(sequence: MeshSequence, model: SkinnedModel) -> SeenSurface:
    """A sequence with its own normals, or smooth ones; triangles and primitives as in the model's file."""
    layout, normals = lay_out_mesh(model), source_normals_of(sequence)
    order = layout.triangles
    faces, groups, uvs = sequence.faces[order], normals.of_corner[order], sequence.asset.uvs
    columns = [faces.reshape(-1), groups.reshape(-1)]
    if uvs is not None:
        bits = np.ascontiguousarray(uvs[order].reshape(-1, 2) + np.float32(0)).view(np.int32)
        columns += [bits[:, 0], bits[:, 1]]
    rows, first, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    vertex = rows[:, 0].astype(np.int32)
    return SeenSurface(
        vertex,
        rows[:, 1].astype(np.int32),
        inverse.reshape(-1, 3).astype(np.int32),
        None if uvs is None else uvs[order].reshape(-1, 2)[first].astype(np.float64) * [1, -1] + [0, 1],
        None if sequence.asset.colors is None else sequence.asset.colors[vertex],
        tuple((group.start, group.stop - group.start) for group in layout.groups),
        normals,
    )
