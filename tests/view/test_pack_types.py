"""The types of a pack in the page are those of its schema."""

from __future__ import annotations

from osteon.view.pack.schema import SCHEMA

from ..pack_types import TARGET, pack_types


def test_the_types_of_the_page_are_current():
    assert TARGET.read_text(encoding="utf-8") == pack_types(), "run python -m tests.pack_types"


def test_every_record_and_array_of_the_schema_has_a_type():
    types = pack_types()
    for record in SCHEMA["records"].values():
        for key in record:
            assert f"  {key}: " in types
    for name in SCHEMA["arrays"]:
        assert f"`{name.partition('*')[0]}" in types if "*" in name else f"  {name}" in types or f'  "{name}"' in types
