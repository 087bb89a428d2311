"""The types of a pack for the page, generated from its schema.

    python -m tests.pack_types      writes src/osteon/view/page/engine/pack_types.d.ts

`tests/view/test_pack_types.py` checks that the file is current.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from osteon.view.pack.schema import SCHEMA

TARGET = Path(__file__).parents[1] / "src" / "osteon" / "view" / "page" / "engine" / "pack_types.d.ts"
HEAD = """// Types of a pack. Do not edit: `python -m tests.pack_types` generates them from view/pack/schema.json.

/** Numbers of an array; `any` data type in the schema. */
export type Numbers = Float32Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;
"""
PLAIN = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "object": "object"}
TYPED_ARRAYS = {
    "f4": "Float32Array",
    "f2": "Uint16Array",
    "i4": "Int32Array",
    "u4": "Uint32Array",
    "u2": "Uint16Array",
    "u1": "Uint8Array",
    "any": "Numbers",
}


def pack_types() -> str:
    """The declarations of all records, of the header of each kind of pack, and of its arrays."""
    kinds = list(dict.fromkeys(kind for rule in SCHEMA["header"].values() for kind in rule["in"]))
    parts = [HEAD]
    parts += [_interface(_name(name), _fields(record)) for name, record in SCHEMA["records"].items()]
    for kind in kinds:
        fields = {key: rule["type"] for key, rule in SCHEMA["header"].items() if kind in rule["in"] and key != "kind"}
        parts.append(_interface(f"{_name(kind)}Header", [f'  kind: "{kind}";', *_fields(fields)]))
        parts.append(_interface(f"{_name(kind)}Arrays", _arrays(kind)))
    parts.append(f"export type Header = {' | '.join(f'{_name(kind)}Header' for kind in kinds)};\n")
    return "\n".join(parts)


def _name(word: str) -> str:
    return "ArrayRecord" if word == "array" else "".join(part.capitalize() for part in word.split("_"))


def _interface(name: str, lines: list[str]) -> str:
    return "\n".join([f"export interface {name} {{", *lines, "}", ""])


def _fields(record: dict[str, str]) -> list[str]:
    return [f"  {key}: {_type(expected)};" for key, expected in record.items()]


def _type(expected: str) -> str:
    """A type in the notation of the schema, as TypeScript."""
    if expected.endswith("?"):
        return f"{_type(expected[:-1])} | null"
    if expected.startswith("["):
        inner = _type(expected[1:-1])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if expected.startswith("{"):
        return f"Record<string, {_type(expected[1:-1])}>"
    return PLAIN.get(expected, _name(expected))


def _key(name: str) -> str:
    """The name of an array as a key, quoted where TypeScript needs it."""
    return f'"{name}"' if "." in name else name


def _arrays(kind: str) -> list[str]:
    """Arrays that a kind of pack always has, those it may have, and patterns of names."""
    lines, patterns = [], {}
    rules: dict[str, dict[str, Any]] = SCHEMA["arrays"]
    for name, rule in rules.items():
        if kind not in (*rule.get("in", ()), *rule.get("may", ())):
            continue
        numbers = TYPED_ARRAYS[rule["dtype"]]
        shape = f"  // ({', '.join(map(str, rule['shape']))})" if "shape" in rule else ""
        if "*" in name:
            stem = name.partition("*")[0]
            patterns[stem] = numbers if patterns.get(stem, numbers) == numbers else "Numbers"
        else:
            optional = "" if kind in rule.get("in", ()) else "?"
            lines.append(f"  {_key(name)}{optional}: {numbers};{shape}")
    return lines + [f"  [name: `{stem}${{string}}`]: {numbers};" for stem, numbers in patterns.items()]


if __name__ == "__main__":
    TARGET.write_text(pack_types(), encoding="utf-8")
