"""Alembic for the registries."""

from osteon.io.alembic.near_side import read_alembic
from osteon.io.alembic.write import write_alembic
from osteon.io.doors.format_types import SequenceFormat
from osteon.io.doors.optional_packages import Extra

__all__ = ["ALEMBIC"]

ALEMBIC = SequenceFormat(".abc", "Alembic", read_alembic, write_alembic, Extra("alembic3d", "alembic"))
