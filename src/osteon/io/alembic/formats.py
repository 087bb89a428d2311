"""Alembic for the registries."""

from osteon.io.alembic.read import read_alembic
from osteon.io.alembic.write import write_alembic
from osteon.io.doors.format_types import SequenceFormat

__all__ = ["ALEMBIC"]

ALEMBIC = SequenceFormat(".abc", "Alembic", read_alembic, write_alembic)
