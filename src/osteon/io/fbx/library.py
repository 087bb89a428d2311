"""What the Python binding of ufbx needs: references counted that it forgets, and its lists as arrays.

In ufbx 0.0.5 for Python an element is created with one reference, which both the scene and whoever looked at it own: an
item of a list, and just so an attribute such as `node.mesh`. When a posed scene is freed, each of these owners gives
its reference back, and a mesh that two owners share is freed twice. So every element that is looked at is counted once
more; what that leaks goes with the process.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = ["affine", "floats", "held", "items", "moved", "shown", "wholes"]


def held(element: Any) -> Any:
    """The element with the reference counted that the library forgot; None stays None."""
    if element is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(element))
    return element


def items(elements: Any) -> list[Any]:
    """All of a list of elements."""
    return [held(elements[i]) for i in range(len(elements))]


def floats(values: Any) -> np.ndarray:
    """A list of numbers or vectors."""
    with memoryview(held(values)) as view:
        return np.array(view)


def wholes(values: Any) -> np.ndarray:
    """A list of whole numbers."""
    return np.fromiter((values[i] for i in range(len(values))), np.int64, len(values))


def affine(matrix: Any) -> np.ndarray:
    """(3,4)"""
    return np.array([matrix.c0, matrix.c1, matrix.c2, matrix.c3], np.float64).T


def moved(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points after a transform (3,4)."""
    return np.asarray(points @ matrix[:, :3].T + matrix[:, 3])


def shown(scene: Any) -> list[tuple[Any, Any]]:
    """Nodes and their meshes, those with polygons."""
    pairs = [(node, held(node.mesh)) for node in items(scene.nodes)]
    return [(node, mesh) for node, mesh in pairs if mesh is not None and mesh.num_faces]
