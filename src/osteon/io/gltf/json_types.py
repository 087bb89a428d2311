"""The JSON of a glTF file, as Python holds it."""

from typing import Any

__all__ = ["JsonObject"]

JsonObject = dict[str, Any]
