"""What `--quantize`, `--short-rotations` and `--compress` change: the order of triangles, how fine numbers are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.engines import engine_of
from osteon.core.two_nodes import BoolArray
from osteon.io.formats.engine_facts import packs_rotations
from osteon.io.formats.options import SaveOptions
from osteon.io.gltf.write.keys_between import KeyedModel
from osteon.io.gltf.write.mesh import MeshLayout
from osteon.io.gltf.write.precision import choose_precision
from osteon.io.gltf.write.rounding import Precision
from osteon.io.gltf.write.short_rotations import short_turns

__all__ = ["CompactForm", "compact_form"]


@dataclass(frozen=True, slots=True)
class CompactForm:
    """How a file is made small."""

    short: BoolArray  # (b,) joints whose rotations are stored in 16 bits
    precision: Precision | None = None  # of a compressed file
    step: float | None = None  # of positions and targets; None where 16 bits are used in full, or float32
    weight_bits: int | None = None  # None likewise

    def order(self, layout: MeshLayout) -> MeshLayout:
        """The mesh in the order in which it is written."""
        return layout if self.precision is None else _reordered(layout)


def compact_form(keyed: KeyedModel, options: SaveOptions) -> CompactForm:
    """With both options positions and weights have 16 bits, as `--quantize` alone gives them."""
    none = np.zeros(keyed.model.n_bones, bool)
    if not options.compress:
        return CompactForm(short_turns(keyed) if options.short_rotations else none)
    precision = choose_precision(keyed, short_rotations=packs_rotations(engine_of(options.engine)))
    short = none if precision.short is None else precision.short
    if options.quantize:
        return CompactForm(short, precision)
    return CompactForm(short, precision, precision.step, precision.weights)


def _reordered(layout: MeshLayout) -> MeshLayout:
    """Triangles of each group in runs, vertices in the order of their first use."""
    from osteon.io.gltf.write.mesh_order import order_triangles, order_vertices  # compiled

    n_vertices = len(layout.vertices)
    runs = [g.start + order_triangles(layout.corners[g.start : g.stop], n_vertices) for g in layout.groups]
    triangles = np.concatenate(runs)
    vertices = order_vertices(layout.corners[triangles], n_vertices)
    place = np.empty(n_vertices, np.int32)
    place[vertices] = np.arange(n_vertices)
    return replace(
        layout,
        vertices=layout.vertices[vertices],
        normals=layout.normals[vertices],
        triangles=layout.triangles[triangles],
        corners=place[layout.corners[triangles]],
        uvs=tuple(uvs[vertices] for uvs in layout.uvs),
        turned=True,
    )
