"""Commands to copy."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from osteon.core.options import command_text

NAMES = ["walk.glb", "my walk.glb", "it's.glb", "$HOME.glb", "a;b.glb", "out_####.obj", "-x.glb", ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_takes_every_name_as_one_word(name: str) -> None:
    text = command_text("osteon", "view", name)
    assert shlex.split(text, comments=True) == ["osteon", "view", name]


def test_plain_names_stay_as_they_are() -> None:
    assert command_text("osteon", "skin", Path("a/b.npz"), "--bones", 24) == "osteon skin a/b.npz --bones 24"
