"""Alembic for the registries."""

from osteon.io.formats.format_types import SequenceFormat, WhenCalled
from osteon.io.formats.optional_packages import Extra

__all__ = ["ALEMBIC"]

ALEMBIC = SequenceFormat(
    ".abc",
    "Alembic",
    WhenCalled("osteon.io.alembic.client", "read_alembic"),
    WhenCalled("osteon.io.alembic.write", "write_alembic"),
    Extra("alembic3d", "alembic"),
)
