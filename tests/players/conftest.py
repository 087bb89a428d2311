"""Players for the whole session, and the files that they play, written once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from osteon_bench.players.browser import ALL, Engine, WebPlayer, start_players
from osteon_bench.players.cases import Case, make_cases
from osteon_bench.players.tools import why_no_browser, why_no_usd, why_no_validator
from osteon_bench.players.validator import Message, validate_all


def need(reason: str) -> None:
    """Skip without the player; where CI=true that is a failure (tests/skip_rules.py)."""
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def players() -> Iterator[dict[Engine, WebPlayer]]:
    """Players of the web in one browser."""
    need(why_no_browser(ALL))
    with start_players(ALL) as started:
        yield started


@pytest.fixture
def three(players: dict[Engine, WebPlayer]) -> WebPlayer:
    return players["three"]


@pytest.fixture
def babylon(players: dict[Engine, WebPlayer]) -> WebPlayer:
    return players["babylon"]


@pytest.fixture(scope="session")
def messages() -> Callable[[list[Path]], list[list[Message]]]:
    """Errors and warnings of Khronos' validator."""
    need(why_no_validator())
    return validate_all


@pytest.fixture(scope="session")
def complaints(messages, saved) -> dict[str, list[Message]]:
    """What the validator says of each case, from one process."""
    found = messages([saved(case) for case in all_cases()])
    return {case.name: said for case, said in zip(all_cases(), found, strict=True)}


@pytest.fixture(scope="session")
def usd() -> None:
    """USD is there."""
    need(why_no_usd())


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case, str], Path]:
    """The file of a case with a suffix."""
    folder = tmp_path_factory.mktemp("players")
    paths: dict[tuple[str, str], Path] = {}

    def save(case: Case, suffix: str = ".glb") -> Path:
        key = case.name, suffix
        if key not in paths:
            paths[key] = case.save(folder, suffix)
        return paths[key]

    return save


@cache
def all_cases() -> tuple[Case, ...]:
    return make_cases()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a `case` runs for each."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", all_cases(), ids=[case.name for case in all_cases()])
