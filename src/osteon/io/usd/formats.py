"""Entries of USD for the registries of formats."""

from __future__ import annotations

from osteon.io.formats.format_types import Extra, LazyFunction, ModelFormat, SequenceFormat

_NAMES = {".usda": "USD text", ".usdc": "binary USD", ".usdz": "USD package", ".usd": "USD"}

_PACKAGE = Extra("pxr", "usd")

_READ = LazyFunction("osteon.io.usd.client", "read_usd")
_WRITE = LazyFunction("osteon.io.usd.write.model", "write_usd_sequence")
_HOLDS_MODEL = LazyFunction("osteon.io.usd.client", "holds_usd_model")
_READ_MODEL = LazyFunction("osteon.io.usd.client", "read_usd_model")
_WRITE_MODEL = LazyFunction("osteon.io.usd.write.model", "write_usd")

USD = tuple(
    SequenceFormat(suffix, name, _READ, _WRITE, _PACKAGE, plain_pictures=True) for suffix, name in _NAMES.items()
)
USD_MODELS = tuple(
    ModelFormat(suffix, name, _HOLDS_MODEL, _READ_MODEL, _WRITE_MODEL, _READ_MODEL, _PACKAGE, plain_pictures=True)
    for suffix, name in _NAMES.items()
)
