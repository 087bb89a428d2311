"""A vertex animation texture: places and normals of all vertices at some frames, which a shader looks up by vertex.

What is compared is the strongest form of it that is known here, byte for byte:

- a sample is three whole numbers of a position between the corners of the box of all frames, and a normal of two bytes
  on an octahedron: 8 bytes with 16-bit positions (one texel of four 16-bit channels), 5 bytes with 8-bit ones;
- the triangles' indices are the only thing beside the samples. A rest pose, texture coordinates to look up by, padding
  to powers of two and fourth channels, which the importers of engines require, are not counted;
- the largest number of frames that fits is kept, evenly from the first to the last, and the shader interpolates
  positions and normals linearly between them and normalises the normals. More than all frames are never needed;
- of both widths the one that is seen less is taken (bench/seen.py).

Half-float positions are coarser than whole numbers of 16 bits; normals of three bytes cost more than they show.

Based on: the look-up by vertex and frame as Houdini's and Unreal Engine's vertex animation textures do it; octahedral
normals: Cigolle et al., A Survey of Efficient Representations for Independent Unit Vectors, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32

#: Of one number of a position.
TextureBits = Literal[8, 16]
NORMAL_BYTES = 2
NORMAL_STEPS = 127


@dataclass(frozen=True, slots=True)
class VertexTexture:
    """The data that a shader reads, in the number formats of the texture."""

    keys: Float64  # (k,) the frames that are kept
    positions: Float64  # (k,v,3) rounded
    normals: Float64  # (k,v,3) rounded, unit
    bits: TextureBits
    nbytes: int  # of samples and indices

    def at(self, frame: float) -> tuple[Float64, Float64]:
        """(v,3) positions and (v,3) unit normals of a frame."""
        before = int(np.clip(np.searchsorted(self.keys, frame, "right") - 1, 0, max(len(self.keys) - 2, 0)))
        after = min(before + 1, len(self.keys) - 1)
        step = self.keys[after] - self.keys[before]
        part = (frame - self.keys[before]) / step if step else 0.0
        places, normals = (
            (1 - part) * values[before] + part * values[after] for values in (self.positions, self.normals)
        )
        return places, _unit(normals)


def fitting_frames(nbytes: int, n_frames: int, n_vertices: int, faces: Int32, bits: TextureBits) -> int:
    """Frames that fit into some bytes; 0 if not even one does."""
    return int(np.clip((nbytes - _index_bytes(n_vertices, faces)) // _frame_bytes(n_vertices, bits), 0, n_frames))


def bake_vertex_texture(
    frames: FloatArray, normals: FloatArray, faces: Int32, n_keys: int, bits: TextureBits
) -> VertexTexture:
    """Keep some frames of positions (f,v,3) and unit normals (f,v,3)."""
    keys = np.linspace(0, len(frames) - 1, n_keys).round()
    kept = keys.astype(np.int64)
    low, high = frames.min(axis=(0, 1)).astype(np.float64), frames.max(axis=(0, 1)).astype(np.float64)
    span = np.where(high > low, high - low, 1.0)
    steps = 2**bits - 1
    positions = np.round((frames[kept] - low) / span * steps) / steps * span + low
    size = n_keys * _frame_bytes(frames.shape[1], bits) + _index_bytes(frames.shape[1], faces)
    return VertexTexture(keys, positions, _octahedral(normals[kept]), bits, size)


def _frame_bytes(n_vertices: int, bits: TextureBits) -> int:
    return n_vertices * (3 * bits // 8 + NORMAL_BYTES)


def _index_bytes(n_vertices: int, faces: Int32) -> int:
    return faces.size * (2 if n_vertices <= 65535 else 4)


def _octahedral(normals: FloatArray) -> Float64:
    """Unit vectors as two signed bytes hold them."""
    flat = normals / np.maximum(np.abs(normals).sum(axis=-1, keepdims=True), 1e-12)
    sides = np.where(flat[..., :2] >= 0, 1.0, -1.0)
    folded = np.where(flat[..., 2:] < 0, (1 - np.abs(flat[..., 1::-1])) * sides, flat[..., :2])
    stored = np.round(folded * NORMAL_STEPS) / NORMAL_STEPS
    height = 1 - np.abs(stored).sum(axis=-1, keepdims=True)
    sides = np.where(stored >= 0, 1.0, -1.0)
    plane = np.where(height < 0, (1 - np.abs(stored[..., ::-1])) * sides, stored)
    return _unit(np.concatenate([plane, height], axis=-1))


def _unit(vectors: Float64) -> Float64:
    unit: Float64 = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return unit
