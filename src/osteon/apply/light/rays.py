"""Rays against a mesh in one pose: by Embree where embreex is installed, else by a tree of our own.

`make_tracer(vertices, faces)` returns the faster of the two; both find the same triangles, up to rays that graze an
edge. Embree is the extra `light` (`pip install 'osteon[light]'`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np

from osteon.apply.light.ray_kernels import any_hits, first_hits
from osteon.core.arrays import Bool, Float32, FloatArray, Int32
from osteon.core.box_tree import build_boxes
from osteon.core.errors import OptionError
from osteon.core.options import command_text

TracerName = Literal["auto", "embree", "tree"]


@dataclass(frozen=True, slots=True)
class Hits:
    """The first triangle on each ray."""

    triangles: Int32  # (n,) -1: none
    shares: Float32  # (n,2) of its second and third corner at the point


class Tracer(Protocol):
    """Rays against one mesh in one pose."""

    def any_hits(self, origins: Float32, directions: Float32) -> Bool:
        """(n,) whether each ray meets a triangle."""
        ...

    def first_hits(self, origins: Float32, directions: Float32) -> Hits:
        """The first triangle on each ray."""
        ...


def has_embree() -> bool:
    """Whether embreex is installed."""
    return find_spec("embreex") is not None


def make_tracer(vertices: FloatArray, faces: Int32, name: TracerName = "auto") -> Tracer:
    """Rays against vertices (v,3) and triangles (t,3)."""
    if name == "embree" and not has_embree():
        raise OptionError(
            f"rays: embree is not installed; run: {command_text('pip', 'install', 'osteon[light]')}, or use tree"
        )
    embree = name == "embree" or (name == "auto" and has_embree())
    return (EmbreeTracer if embree else TreeTracer)(vertices, faces)


class EmbreeTracer:
    """Rays by Embree."""

    def __init__(self, vertices: FloatArray, faces: Int32) -> None:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        self._scene: Any = EmbreeScene()
        corners = np.ascontiguousarray(vertices, np.float32)
        self._mesh = TriangleMesh(self._scene, corners, np.ascontiguousarray(faces, np.int32))

    def any_hits(self, origins: Float32, directions: Float32) -> Bool:
        found = self._scene.run(origins, directions, query="OCCLUDED")
        return np.asarray(found != -1)

    def first_hits(self, origins: Float32, directions: Float32) -> Hits:
        found = self._scene.run(origins, directions, query="INTERSECT", output=True)
        triangles = np.asarray(found["primID"], np.int32)
        return Hits(triangles, np.stack([found["u"], found["v"]], axis=1).astype(np.float32))


class TreeTracer:
    """Rays through the boxes of `core/box_tree.py`."""

    def __init__(self, vertices: FloatArray, faces: Int32) -> None:
        corners = np.asarray(vertices, np.float64)[faces]
        tree = build_boxes(np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1))
        low = np.nextafter(tree.bounds[:, :3].astype(np.float32), np.float32(-np.inf))
        high = np.nextafter(tree.bounds[:, 3:].astype(np.float32), np.float32(np.inf))
        self._bounds = np.ascontiguousarray(np.concatenate([low, high], axis=1))
        self._links = np.ascontiguousarray(np.stack([tree.after, tree.first, tree.held], axis=1), np.int32)
        a, b, c = np.moveaxis(corners[tree.order], 1, 0)
        self._edges = np.ascontiguousarray(np.concatenate([a, b - a, c - a], axis=1), np.float32)
        self._order = tree.order

    def any_hits(self, origins: Float32, directions: Float32) -> Bool:
        found = np.empty(len(origins), np.bool_)
        any_hits(origins, directions, self._bounds, self._links, self._edges, found)
        return found

    def first_hits(self, origins: Float32, directions: Float32) -> Hits:
        triangles, shares = np.empty(len(origins), np.int32), np.zeros((len(origins), 2), np.float32)
        first_hits(origins, directions, self._bounds, self._links, self._edges, triangles, shares)
        found = np.where(triangles >= 0, self._order[triangles], np.int32(-1))
        return Hits(found.astype(np.int32), shares)
