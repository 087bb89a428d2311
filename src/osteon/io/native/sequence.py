"""A sequence on its way from a child: frames one after the other, then the mesh and the clips as plain values."""

from __future__ import annotations

from typing import Any

from osteon.core.animation import Clip
from osteon.core.mesh import Mesh
from osteon.core.sequence import MeshSequence
from osteon.io.archives.archive import HeldArrays
from osteon.io.formats.options import ReadRequest
from osteon.io.load.source import Source
from osteon.io.metadata.asset import damage_named, pack_asset, pack_clips, unpack_asset, unpack_clips
from osteon.io.native.client import NativeTask, ask_native
from osteon.io.native.messages import Arrays

__all__ = ["ask_sequence", "pack_sequence"]


def pack_sequence(mesh: Mesh, clips: tuple[Clip, ...]) -> tuple[Any, Arrays]:
    """The answer of a child that has sent its frames."""
    arrays, header = pack_asset(mesh.asset)
    return header | {"name": mesh.name, "clips": pack_clips(clips)}, arrays | {"rest": mesh.rest, "faces": mesh.faces}


def ask_sequence(task: NativeTask, source: Source, request: ReadRequest) -> MeshSequence:
    """The sequence that a child reads."""
    asked = {"question": "sequence", "fps": request.options.fps, "clips": list(request.options.clips)}
    found = ask_native(task, source, asked, progress=request.progress)
    held, header = HeldArrays(source, found.arrays), found.value
    with damage_named(source):
        return MeshSequence(
            held.array("frames"),
            held.array("faces"),
            held.array("rest"),
            unpack_clips(header["clips"]),
            unpack_asset(held, header),
            header["name"],
        )
