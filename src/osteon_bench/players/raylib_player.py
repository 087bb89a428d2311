"""raylib, as PyPI's `raylib` brings it: its own loader, its own poses, its own skinning on the processor.

A model is loaded without a window. raylib wants OpenGL only to hand meshes to the graphics card; it gets functions that
do nothing, and notices by itself that the card is not ready. What is compared is what it would draw: `animVertices`.

raylib samples every animation 60 times a second when it loads it, and blends between these samples; what comes after
the last whole sample is not there. It has no morph targets, has 16-bit indices, and takes where the joints stand in the
file for the bind pose, not the inverse bind matrices.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from osteon.core.arrays import Float32, Int32
from osteon.core.errors import OsteonError
from osteon_bench.players.judge import Play

__all__ = ["RATE", "open_file"]

#: Samples a second that raylib takes of an animation of a glTF.
RATE = 60.0
_QUIET = 7  # LOG_NONE


def open_file(path: Path, shown: Literal["vertices", "normals"] = "vertices") -> Play:
    """A player of a file; what it shows are the places of corners, or their normals."""
    import raylib

    lib, ffi = raylib.rl, raylib.ffi
    lib.SetTraceLogLevel(_QUIET)
    kept = _do_nothing_on_the_card(lib, ffi)
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


def _do_nothing_on_the_card(lib: Any, ffi: Any) -> tuple[Any, ...]:
    """OpenGL of which every function does nothing; what must live as long as it is used."""
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
    """Have raylib move its vertices and normals to a frame."""
    lib.UpdateModelAnimation(model, animation, min(frame, animation.keyframeCount - 1.0))  # it would go on to the first


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
