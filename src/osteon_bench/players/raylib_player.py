"""raylib, from the Python package `raylib`: its own loader, poses and skinning on the CPU.

A model is loaded without a window. raylib uses OpenGL only to upload meshes; it receives functions that do nothing. The
positions that it would draw, `animVertices`, are compared.

raylib samples every animation 60 times per second when it loads it and interpolates the samples; the end after the last
whole sample is missing. It has no morph targets, has 16-bit indices, and uses the node transforms of the joints as the
bind pose instead of the inverse bind matrices.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from osteon.core.arrays import Float32, Int32
from osteon.core.errors import OsteonError
from osteon_bench.players.deviation import Play

#: Samples per second of a glTF animation in raylib.
RATE = 60.0
_QUIET = 7  # LOG_NONE


def open_file(path: Path, shown: Literal["vertices", "normals"] = "vertices") -> Play:
    """Open a file; the player returns positions of corners, or their normals."""
    import raylib

    lib, ffi = raylib.rl, raylib.ffi
    lib.SetTraceLogLevel(_QUIET)
    kept = _null_opengl(lib, ffi)
    name = str(path).encode()
    model, count = lib.LoadModel(name), ffi.new("int *")
    animations = lib.LoadModelAnimations(name, count)
    if not model.skeleton.boneCount or not count[0]:
        raise OsteonError(f"{path}: raylib finds no animated bones in it")
    meshes = [model.meshes[m] for m in range(model.meshCount)]
    faces = [_array(ffi, mesh.indices, 3 * mesh.triangleCount, np.uint16) for mesh in meshes]

    def play(clip: int, times: list[float]) -> Float32:
        assert kept
        moments = []
        for t in times:
            _pose(lib, model, animations[clip], RATE * t)
            moments.append(_corners(ffi, meshes, faces, shown))
        return np.stack(moments)

    return play


def _null_opengl(lib: Any, ffi: Any) -> tuple[Any, ...]:
    """Install OpenGL functions that do nothing; returns the objects that must stay alive while they are used."""
    version = ffi.new("unsigned char[]", b"3.3")
    text = ffi.callback("unsigned char *(unsigned int)", lambda name: version)
    nothing = ffi.callback("long(void)", lambda: 0)
    texts = ("glGetString", "glGetStringi")

    def find(name: Any) -> Any:
        return ffi.cast("void *", text if ffi.string(name).decode() in texts else nothing)

    loader = ffi.callback("void *(char *)", find)
    lib.rlLoadExtensions(loader)
    return version, text, nothing, loader


def _pose(lib: Any, model: Any, animation: Any, frame: float) -> None:
    """Let raylib compute vertices and normals of a frame."""
    lib.UpdateModelAnimation(model, animation, min(frame, animation.keyframeCount - 1.0))  # it would wrap around


def _corners(ffi: Any, meshes: list[Any], faces: list[Int32], shown: str) -> Float32:
    """(c,3) corners of all meshes."""
    pointers = [mesh.animNormals if shown == "normals" else mesh.animVertices for mesh in meshes]
    posed = [
        _array(ffi, p, 3 * m.vertexCount, np.float32).reshape(-1, 3) for p, m in zip(pointers, meshes, strict=True)
    ]
    return np.concatenate([values[corners] for values, corners in zip(posed, faces, strict=True)])


def _array(ffi: Any, pointer: Any, count: int, dtype: type) -> Any:
    """A copy of what a pointer of raylib's points to."""
    return np.frombuffer(ffi.buffer(pointer, count * np.dtype(dtype).itemsize), dtype).copy()
