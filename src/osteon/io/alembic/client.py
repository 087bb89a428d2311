"""Reading Alembic from this side: the outline of the file is checked here, the library reads it in a child.

About one damaged file of nine hundred passes the check and still ends the process of the library.
"""

from __future__ import annotations

from pathlib import Path

from osteon.core.sequence import MeshSequence
from osteon.io.alembic.ogawa import check_ogawa
from osteon.io.formats.optional_packages import find_extra
from osteon.io.formats.options import ReadRequest
from osteon.io.load.source import Source
from osteon.io.native.client import NativeTask
from osteon.io.native.sequence import ask_sequence

__all__ = ["read_alembic"]

ALEMBIC_TASK = NativeTask("Alembic", "osteon.io.alembic.child")


def read_alembic(path: Path, request: ReadRequest) -> MeshSequence:
    """The meshes in `path` as one, with the clips that Osteon wrote or one clip named after the file."""
    source = Source(path)
    check_ogawa(source)
    find_extra("alembic3d", "alembic", path)
    return ask_sequence(ALEMBIC_TASK, source, request)
