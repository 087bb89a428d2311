"""The form of a fit: what the page may ask for, made from the fields of SkinOptions that have a name there."""

from __future__ import annotations

import json
from typing import Any

from osteon.core.engines import bone_type_players
from osteon.core.errors import OptionError
from osteon.core.option_fields import OptionField, options_in
from osteon.core.options import SkinOptions
from osteon.view.pack.model_names import METHOD_NAMES

__all__ = ["fit_form", "fit_options"]

#: What an input of the page takes, by the type of the field.
_INPUTS: dict[type | None, str] = {int: "whole", float: "number", bool: "switch", None: "choice"}


#: What the page says of an option, where the words of the command line would say nothing there.
_HINTS = {
    "model": "LBS blends bones linearly. DQS blends dual quaternions, which keep their volume when they twist. "
    "Animation Space and Multi-Weight have more numbers per bone and are closer on new poses.",
    "influences": "Bones per vertex, 1 to 8. Animation Space and Multi-Weight add as many again, to 8 at most.",
}


def _offered() -> dict[str, OptionField]:
    return {of.name: of for of in options_in(SkinOptions) if of.option.page}


def fit_form() -> list[dict[str, Any]]:
    """The inputs of the form, in order: name, label, hint, kind, default, range, choices and what these are called."""
    return [_input(of) for of in _offered().values()]


def _input(of: OptionField) -> dict[str, Any]:
    known = of.option
    meaning = f" {of.default}: {known.shown_default}." if known.shown_default else ""
    if of.name == "bone_type":
        meaning += f" Engines that play them: {bone_type_players()}."
    return {
        "name": of.name,
        "label": known.page,
        "hint": _HINTS.get(of.name, known.help) + meaning,
        "kind": _INPUTS[of.kind.base],
        "default": of.default,
        "min": known.above if known.minimum is None else known.minimum,
        "max": known.below if known.maximum is None else known.maximum,
        "choices": list(of.choices),
        "names": [METHOD_NAMES.get(str(word), str(word).capitalize()) for word in of.choices],
    }


def fit_options(asked: Any) -> SkinOptions:
    """The options of a fit from the page's JSON; all others are those of `osteon skin`."""
    if not isinstance(asked, dict):
        raise OptionError("options: expected an object")
    offered = _offered()
    for name, value in asked.items():
        if name not in offered:
            raise OptionError(f"options: '{str(name)[:40]}' is unknown; known are {', '.join(offered)}")
        if isinstance(value, (dict, list)):
            raise OptionError(f"{name}: expected {offered[name].expected()}, got {json.dumps(value)[:40]}")
    return SkinOptions(**{name: value for name, value in asked.items() if value is not None})
