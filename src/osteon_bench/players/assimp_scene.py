"""The structures of libassimp 5's C interface that hold a skinned, morphing, moving scene; see its `scene.h`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, Structure, c_char, c_double, c_float, c_uint, c_void_p
from ctypes.util import find_library
from pathlib import Path
from typing import Any

from osteon.core.errors import OsteonError

_SETS = 8  # colours and texture coordinates of a mesh, at most
_Three = c_float * 3
_Matrix = c_float * 16  # rows first


class String(Structure):
    _fields_ = (("length", c_uint), ("data", c_char * 1024))

    def __str__(self) -> str:
        return bytes(self.data[: self.length]).decode(errors="replace")


class Node(Structure):
    name: String
    transform: Any
    parent: Any


Node._fields_ = (
    ("name", String),
    ("transform", _Matrix),
    ("parent", POINTER(Node)),
    ("n_children", c_uint),
    ("children", POINTER(POINTER(Node))),
    ("n_meshes", c_uint),
    ("meshes", POINTER(c_uint)),
    ("metadata", c_void_p),
)


class Face(Structure):
    _fields_ = (("n_indices", c_uint), ("indices", POINTER(c_uint)))


class VertexWeight(Structure):
    _fields_ = (("vertex", c_uint), ("weight", c_float))


class Bone(Structure):
    _fields_ = (
        ("name", String),
        ("n_weights", c_uint),
        ("armature", c_void_p),
        ("node", c_void_p),
        ("weights", POINTER(VertexWeight)),
        ("bone_from_mesh", _Matrix),
    )


_ATTRIBUTES = (
    ("vertices", POINTER(c_float)),
    ("normals", c_void_p),
    ("tangents", c_void_p),
    ("bitangents", c_void_p),
    ("colors", c_void_p * _SETS),
    ("texture_coords", c_void_p * _SETS),
)


class MorphTarget(Structure):
    _fields_ = (("name", String), *_ATTRIBUTES, ("n_vertices", c_uint), ("weight", c_float))


class Mesh(Structure):
    _fields_ = (
        ("primitive_types", c_uint),
        ("n_vertices", c_uint),
        ("n_faces", c_uint),
        *_ATTRIBUTES,
        ("uv_components", c_uint * _SETS),
        ("faces", POINTER(Face)),
        ("n_bones", c_uint),
        ("bones", POINTER(POINTER(Bone))),
        ("material", c_uint),
        ("name", String),
        ("n_targets", c_uint),
        ("targets", POINTER(POINTER(MorphTarget))),
    )


class VectorKey(Structure):
    _fields_ = (("time", c_double), ("value", _Three))


class TurnKey(Structure):
    _fields_ = (("time", c_double), ("value", c_float * 4))  # w, x, y, z


class MorphKey(Structure):
    _fields_ = (
        ("time", c_double),
        ("targets", POINTER(c_uint)),
        ("weights", POINTER(c_double)),
        ("n_targets", c_uint),
    )


class NodeTrack(Structure):
    _fields_ = (
        ("node", String),
        ("n_positions", c_uint),
        ("positions", POINTER(VectorKey)),
        ("n_rotations", c_uint),
        ("rotations", POINTER(TurnKey)),
        ("n_scales", c_uint),
        ("scales", POINTER(VectorKey)),
        ("before", c_uint),
        ("after", c_uint),
    )


class MorphTrack(Structure):
    _fields_ = (("node", String), ("n_keys", c_uint), ("keys", POINTER(MorphKey)))


class Animation(Structure):
    _fields_ = (
        ("name", String),
        ("duration", c_double),
        ("ticks_per_second", c_double),
        ("n_tracks", c_uint),
        ("tracks", POINTER(POINTER(NodeTrack))),
        ("n_mesh_tracks", c_uint),
        ("mesh_tracks", c_void_p),
        ("n_morph_tracks", c_uint),
        ("morph_tracks", POINTER(POINTER(MorphTrack))),
    )


class Scene(Structure):
    _fields_ = (
        ("flags", c_uint),
        ("root", POINTER(Node)),
        ("n_meshes", c_uint),
        ("meshes", POINTER(POINTER(Mesh))),
        ("n_materials", c_uint),
        ("materials", c_void_p),
        ("n_animations", c_uint),
        ("animations", POINTER(POINTER(Animation))),
    )


def library_name() -> str | None:
    """How the system's libassimp 5 is called; None if there is none."""
    found = find_library("assimp")
    if found is not None:
        return found
    try:
        ctypes.CDLL("libassimp.so.5")
    except OSError:
        return None
    return "libassimp.so.5"


def import_file(path: Path) -> Any:
    """A scene as assimp imports it without any post-processing. It lives as long as the process."""
    library = ctypes.CDLL(str(library_name()))
    library.aiImportFile.restype = POINTER(Scene)
    library.aiGetErrorString.restype = ctypes.c_char_p
    scene = library.aiImportFile(str(path).encode(), 0)
    if not scene:
        raise OsteonError(f"{path}: assimp reports: {library.aiGetErrorString().decode()}")
    return scene.contents


def listed(pointers: Any, count: int) -> Iterator[Any]:
    """The values that some pointers point to."""
    return (pointers[i].contents for i in range(count))
