"""JSON that is changed in places keeps the bytes of all others."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osteon.io.gltf.patch.document import write_changes

TEXT = ' {\n "a" : 1.00 , "b": [ 1e-3 , {"x":true, "y" :"q\\"}]\\u00e9"} ],"e":[ ], "o":{} }\n '
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def test_what_is_equal_keeps_its_bytes():
    assert write_changes(TEXT, json.loads(TEXT)) == TEXT


def test_what_is_new_comes_last():
    value = json.loads(TEXT)
    value["b"].append(2)
    value["e"].append(3)
    value["o"]["k"] = None
    value["z"] = [1]
    assert write_changes(TEXT, value) == (
        ' {\n "a" : 1.00 , "b": [ 1e-3 , {"x":true, "y" :"q\\"}]\\u00e9"},2 ],"e":[3], "o":{"k":null},"z":[1] }\n '
    )


def test_what_goes_takes_only_itself():
    value = json.loads(TEXT)
    del value["a"]
    assert write_changes(TEXT, value) == ' {"b": [ 1e-3 , {"x":true, "y" :"q\\"}]\\u00e9"} ],"e":[ ],"o":{}}\n '


@pytest.mark.parametrize(("old", "new"), [("1", True), ("true", 1), ("[1]", []), ("{}", []), ('"a"', "b")])
def test_other_values_are_written_anew(old, new):
    assert json.loads(write_changes(old, new)) == new
    assert isinstance(json.loads(write_changes(old, new)), bool) == isinstance(new, bool)


@given(VALUES, VALUES, st.sampled_from([None, 1, "\t"]))
def test_any_change_reads_back(old, new, indent):
    assert json.loads(write_changes(json.dumps(old, indent=indent), new)) == new
