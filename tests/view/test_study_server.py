"""Who reaches the server of a study, and under which names."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from osteon.core.errors import OptionError
from osteon.study.server import open_listener
from osteon.view import bundle
from osteon.view.server.requests import Guard

from .serving import PAGE
from .study_serving import ServedStudy, served_study

RATER = "0f" * 16


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedStudy]:
    (tmp_path / "static").mkdir()
    for name in bundle.STUDY_BUNDLE:
        (tmp_path / "static" / name).write_text(PAGE if name.endswith(".html") else f"/* {name} */")
    monkeypatch.setattr(bundle, "STATIC", tmp_path / "static")
    with served_study(tmp_path / "study") as running:
        yield running


def ask(
    study: ServedStudy, path: str, *, token: bool = True, body: bytes | None = None, **headers: str
) -> tuple[int, bytes]:
    address = urlsplit(study.address)
    line = http.client.HTTPConnection(str(address.hostname), address.port or 0, timeout=300)
    try:
        line.request("POST" if body else "GET", (address.path if token else "/") + path, body, headers)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def test_the_page_and_its_files(study):
    for path, name in (("", "study.html"), ("study.js", "study.js"), ("study.css", "study.css")):
        status, body = ask(study, path)
        assert (status, body) == (200, bundle.read_bundle(name))
    assert ask(study, "app.js")[0] == 404


def test_only_with_the_key_and_under_its_own_name(study):
    assert ask(study, f"state?rater={RATER}", token=False)[0] == 403
    assert ask(study, f"state?rater={RATER}", Host="evil.example")[0] == 403
    assert ask(study, f"state?rater={RATER}", Origin="http://evil.example")[0] == 403
    assert ask(study, f"state?rater={RATER}")[0] == 200


def test_large_bodies_and_other_packs_are_refused(study):
    assert ask(study, "answer", body=b"x" * 100_000)[0] == 413
    assert ask(study, "pack/m1")[0] == 404
    assert ask(study, "pack/..%2Fanswers")[0] == 404
    asked = json.loads(ask(study, f"state?rater={RATER}")[1])["next"]
    assert ask(study, f"pack/{asked['copy']}")[1].startswith(b"OSTP")


def test_an_answer_in_time_is_kept_and_others_are_not(study):
    body = json.dumps({"rater": RATER, "number": 1, "score": 6}).encode()
    assert [ask(study, "answer", body=body)[0] for _ in range(3)] == [200, 409, 409]
    assert study.answers.counts() == (1, 1)


def test_the_machine_is_called_as_it_was_named():
    listener = open_listener("localhost")
    listener.socket.close()
    assert listener.names == ("127.0.0.1", "localhost")
    guard = Guard(8080, "key", ("Lab-PC", "192.168.0.12"))
    assert guard.address == "http://Lab-PC:8080/key/"
    for host, allowed in ((b"lab-pc:8080", True), (b"192.168.0.12:8080", True), (b"127.0.0.1:8080", False)):
        assert guard.allows_headers([(b"host", host)]) is allowed


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "no such host", "192.0.2.1"])
def test_addresses_that_nobody_can_open_are_refused(host):
    with pytest.raises(OptionError, match="--host"):
        open_listener(host)


def test_many_raters_at_once_lose_nothing(study):
    raters = [f"{i:032x}" for i in range(1, 9)]

    def rate(rater: str) -> list[int]:
        bodies = ({"rater": rater, "number": number, "score": number} for number in range(1, 5))
        return [ask(study, "answer", body=json.dumps(body).encode())[0] for body in bodies]

    with ThreadPoolExecutor(len(raters)) as pool:
        assert list(pool.map(rate, raters)) == [[200] * 4] * 8
    assert study.answers.counts() == (32, 8)
    given = [(answer.rater, answer.number) for answer in study.answers.answers()]
    assert sorted(given) == [(rater, question) for rater in range(1, 9) for question in range(4)]
