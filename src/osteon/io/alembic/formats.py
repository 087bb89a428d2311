"""Alembic for the registries."""

from osteon.io.doors.format_types import SequenceFormat, WhenCalled
from osteon.io.doors.optional_packages import Extra

__all__ = ["ALEMBIC"]

ALEMBIC = SequenceFormat(
    ".abc",
    "Alembic",
    WhenCalled("osteon.io.alembic.near_side", "read_alembic"),
    WhenCalled("osteon.io.alembic.write", "write_alembic"),
    Extra("alembic3d", "alembic"),
)
