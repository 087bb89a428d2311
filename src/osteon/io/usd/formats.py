"""USD for the registries."""

from __future__ import annotations

from osteon.io.doors.format_types import ModelFormat, SequenceFormat
from osteon.io.doors.optional_packages import Extra
from osteon.io.usd.near_side import holds_usd_model, read_usd, read_usd_model
from osteon.io.usd.write.model import write_usd, write_usd_sequence

__all__ = ["USD", "USD_MODELS"]

_NAMES = {".usda": "USD text", ".usdc": "binary USD", ".usdz": "USD package", ".usd": "USD"}

_PACKAGE = Extra("pxr", "usd")

USD = tuple(SequenceFormat(suffix, name, read_usd, write_usd_sequence, _PACKAGE) for suffix, name in _NAMES.items())
USD_MODELS = tuple(
    ModelFormat(suffix, name, holds_usd_model, read_usd_model, write_usd, read_usd_model, _PACKAGE)
    for suffix, name in _NAMES.items()
)
