"""`osteon warm`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from osteon.cli import warm as module
from osteon.cli.main import cli


def test_says_what_was_compiled_and_where_it_is(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TASKS", ())
    first = CliRunner().invoke(cli, ["warm", "--json", str(tmp_path / "a.json")])
    assert first.exit_code == 0, first.output
    facts = json.loads((tmp_path / "a.json").read_text())
    assert f"kept in '{facts['cache']}'" in first.output
    again = CliRunner().invoke(cli, ["warm", "--json", "-"])
    assert again.exit_code == 0
    assert json.loads(again.output)["compiled"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", module.TASKS)
def test_what_compiles_by_working_works(name: str) -> None:
    getattr(module, name.rpartition(":")[2])()
