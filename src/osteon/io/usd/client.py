"""Reading USD: a child process parses the stage, and its answer becomes a model or a sequence."""

from __future__ import annotations

from pathlib import Path

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.io.archives.archive import HeldArrays
from osteon.io.archives.model_npz import unpack_model
from osteon.io.formats.format_types import find_extra
from osteon.io.formats.options import DEFAULT_LOAD_OPTIONS, LoadOptions, ReadRequest
from osteon.io.load.source import Source
from osteon.io.metadata.asset import damage_named
from osteon.io.native.client import NativeTask, query_child, read_sequence_in_child
from osteon.io.usd.stage import check_head

USD_TASK = NativeTask("USD", "osteon.io.usd.child")


def holds_usd_model(path: Path) -> bool:
    """Whether the stage has a skinned mesh."""
    return bool(query_child(USD_TASK, _checked(path), {"question": "holds"}, keep=True).value)


def read_usd_model(path: Path, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> SkinnedModel:
    """The model that Osteon wrote, or what the first SkelRoot of the stage shows."""
    source = _checked(path)
    request = {"question": "model", "fps": options.fps, "clips": list(options.clips)}
    found = query_child(USD_TASK, source, request)
    with damage_named(source):
        return unpack_model(HeldArrays(source, found.arrays), found.value)


def read_usd(path: Path, request: ReadRequest) -> MeshSequence:
    """The meshes of the stage as one, with the clips that Osteon wrote or one clip named after the file."""
    return read_sequence_in_child(USD_TASK, _checked(path), request)


def _checked(path: Path) -> Source:
    """The file, if it has a header of USD and the library is installed."""
    source = Source(path)
    check_head(source)
    find_extra("pxr", "usd", path)
    return source
