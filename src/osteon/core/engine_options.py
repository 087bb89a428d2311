"""How the engine that a file is for changes a fit: the one place where `--for` decides what was not asked for."""

from __future__ import annotations

from dataclasses import replace

from osteon.core.engines import EngineName, engine_of
from osteon.core.errors import OptionError
from osteon.core.options import SkinOptions

__all__ = ["options_for"]


def options_for(options: SkinOptions, name: EngineName, *, bone_type_asked: bool, has_rig: bool = False) -> SkinOptions:
    """The options with the best bones that the engine plays, or those of the paper, unless they were asked for.

    Those of a rig are chosen once it is read.

    An engine that is named refuses more influences than it reads; bones that it does not play are never refused.
    """
    engine = engine_of(name)
    if name != "any" and options.influences > engine.influences:
        raise OptionError(
            f"influences: files for {name} have {engine.influences} bones a vertex at most, got {options.influences}; "
            f"use {engine.influences}, or write for another engine"
        )
    if bone_type_asked or has_rig:
        return options
    return replace(options, bone_type=engine.bone_type if options.preset == "default" else "flexible")
