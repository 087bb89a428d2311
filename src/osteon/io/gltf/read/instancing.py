"""Meshes that one node shows many times (EXT_mesh_gpu_instancing): each time becomes geometry of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64
from osteon.io.gltf.read.accessors import read_floats
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.nodes import Placement
from osteon.io.gltf.read.primitives import Geometry

__all__ = ["place_geometries", "read_placements"]

INSTANCING = "EXT_mesh_gpu_instancing"


def read_placements(document: Document, node: int) -> Float64 | None:
    """(n,4,4) where a node shows its mesh, in its own space; None if it does so once, as nodes do."""
    what = f"node {node}"
    entry = document.items("nodes")[node]
    extensions = document.object(entry, "extensions", what)
    if INSTANCING not in extensions:
        return None
    if "skin" in entry:
        raise document.error(
            f"{what} shows a skinned mesh many times ({INSTANCING}), which no skin can; export it once"
        )
    accessors = document.object(document.object(extensions, INSTANCING, what), "attributes", what)
    parts = {
        name: read_floats(document, accessors[name], (width,), f"{name} of the instances of {what}")
        for name, width in (("TRANSLATION", 3), ("ROTATION", 4), ("SCALE", 3))
        if name in accessors
    }
    counts = {len(values) for values in parts.values()}
    if len(counts) > 1:
        raise document.error(f"the instances of {what} differ in number: {', '.join(map(str, sorted(counts)))}")
    if not counts:
        return None
    document.claim(128 * max(counts), f"the instances of {what}")
    placement = Placement(
        parts.get("TRANSLATION", np.zeros(3)),
        parts.get("ROTATION", np.array([0.0, 0, 0, 1])),
        parts.get("SCALE", np.ones(3)),
    )
    return placement.parent_from_node()


@np.errstate(over="ignore", invalid="ignore")  # what grows beyond all bounds is named by the frame it is in
def place_geometries(
    document: Document, geometries: list[Geometry], placements: Float64, node: int
) -> list[list[Geometry]]:
    """The geometries of a mesh, once for each placement."""
    size = sum(g.positions.size + 2 * g.deltas.size + sum(p.faces.size for p in g.pieces) for g in geometries)
    document.claim(8 * size * len(placements), f"the {len(placements)} instances of node {node}")
    return [[_placed(geometry, matrix) for geometry in geometries] for matrix in placements]


def _placed(geometry: Geometry, matrix: Float64) -> Geometry:
    """Geometry moved by a matrix; one that mirrors turns the triangles round."""
    linear = matrix[:3, :3]
    turned = slice(None, None, -1 if np.linalg.det(linear) < 0 else 1)
    normal_deltas = geometry.normal_deltas
    if normal_deltas is not None:
        size = np.cbrt(abs(np.linalg.det(linear)))
        normal_deltas = normal_deltas @ (linear / (size if size > 0 else 1.0)).T
    normals = geometry.normals
    if normals is not None and np.linalg.det(linear) != 0:
        normals = normals @ np.linalg.inv(linear)
    return replace(
        geometry,
        normals=normals,
        positions=geometry.positions @ linear.T + matrix[:3, 3],
        deltas=geometry.deltas @ linear.T,
        normal_deltas=normal_deltas,
        pieces=tuple(replace(piece, faces=piece.faces[:, turned]) for piece in geometry.pieces),
    )
