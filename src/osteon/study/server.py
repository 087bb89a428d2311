"""The server behind the page that raters see.

    GET  /                     the page; /study.js, /study.css
    GET  /state?rater=TOKEN    how far a rater is, and what he is asked next
    GET  /pack/ID              an animation
    POST /answer               {"rater", "number", "score"}: keeps an answer, and says what is asked next

A rater is a random token of his browser, and questions are numbered in his own order: what is compared never leaves the
server. A refusal is {"error": one sentence}: 409 for a question that was answered already, 422 for what is no answer.
All of it lies under the key of the address (view/server/guard.py).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from osteon.core.errors import FileFormatError, OptionError, OsteonError
from osteon.study.animations import Animations
from osteon.study.answers import HIGHEST, LOWEST, AnsweredAlready, AnswerFile
from osteon.study.plan import VIEWS, ask_order
from osteon.view.bundle import STUDY_BUNDLE, read_bundle
from osteon.view.server.requests import App, Guard, TooLarge, TooSlow, read_json
from osteon.view.server.serve import HOST, PageServer, open_socket

__all__ = ["Door", "open_door", "study_app", "study_server"]

_TOKEN = re.compile(r"[0-9a-f]{32}")
_STATUS: dict[type[Exception], int] = {
    AnsweredAlready: 409,
    OptionError: 422,
    FileFormatError: 500,
    TooLarge: 413,
    TooSlow: 408,
}


@dataclass(frozen=True, slots=True)
class Door:
    """Where raters come in."""

    socket: socket.socket
    names: tuple[str, ...]  # what the machine is called in the address; the first is told


def open_door(host: str = HOST, port: int = 0) -> Door:
    """Take an address; refuses one that this machine does not have, before anything is read."""
    names = _names_of(host)
    return Door(open_socket(port, names[-1]), names if names[-1] != HOST else (HOST, "localhost"))


def study_server(
    answers: AnswerFile, animations: Animations, door: Door, ready: Callable[[str], None] | None = None
) -> PageServer:
    """The server of a study, at an address that is the same for every run with this host and port."""
    guard = Guard(door.socket.getsockname()[1], answers.key, door.names)
    return PageServer(study_app(answers, animations), door.socket, guard, ready)


def study_app(answers: AnswerFile, animations: Animations) -> App:
    """The application for one study; a guard stands before it."""
    routes = [
        Route("/", _page),
        Route("/study.js", _page),
        Route("/study.css", _page),
        Route("/state", _state),
        Route("/pack/{id}", _pack),
        Route("/answer", _answer, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    app.router.redirect_slashes = False
    app.state.answers, app.state.animations = answers, animations
    return app


def _names_of(host: str) -> tuple[str, ...]:
    """What the machine is called in the address, its number last."""
    if host in ("", "0.0.0.0", "::"):
        raise OptionError("--host: name the one address of this machine that raters open, such as 192.168.0.12")
    try:
        number = socket.gethostbyname(host)
    except (OSError, UnicodeError) as error:
        raise OptionError(f"--host: '{host}' is no name or IPv4 address that this machine knows") from error
    return (host,) if number == host else (host, number)


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, _STATUS.get(type(error), 400))


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it


async def _nothing_there(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "there is nothing at this address"}, getattr(error, "status_code", 404))


_HANDLERS: dict[Any, Any] = {
    OsteonError: _refused,
    ClientDisconnect: _gone,
    404: _nothing_there,
    405: _nothing_there,
}


async def _page(request: Request) -> Response:
    name = request.url.path.removeprefix("/") or "study.html"
    return Response(read_bundle(name), media_type=STUDY_BUNDLE[name])


async def _pack(request: Request) -> Response:
    animations: Animations = request.app.state.animations
    file = animations.pack_of(request.path_params["id"])
    if file is None:
        return JSONResponse({"error": "there is no such animation; load the page again"}, 404)
    return FileResponse(file, media_type="application/octet-stream")


async def _state(request: Request) -> Response:
    return JSONResponse(_asked_next(request, _token(request.query_params.get("rater"))))


async def _answer(request: Request) -> Response:
    given = await read_json(request)
    token = _token(given.get("rater"))
    score = _whole(given.get("score"), LOWEST, HIGHEST, "an answer")
    answers: AnswerFile = request.app.state.answers
    count, done = len(answers.questions), len(answers.answered(token))
    number = _whole(given.get("number"), 1, count, "a question")
    if number <= done:
        raise AnsweredAlready(f"question {number} was answered already; answers are not changed")
    if number > done + 1:
        raise OptionError(f"question {done + 1} comes first")
    answers.add(token, ask_order(token, count)[number - 1], score)
    return JSONResponse(_asked_next(request, token))


def _asked_next(request: Request, token: str) -> dict[str, Any]:
    """How far a rater is, and the next question: two animations and from where they are seen."""
    answers: AnswerFile = request.app.state.answers
    animations: Animations = request.app.state.animations
    count, done = len(answers.questions), len(answers.answered(token))
    asked = None
    if done < count:
        question = answers.questions[ask_order(token, count)[done]]
        asked = {
            "number": done + 1,
            "original": animations.originals[question.character],
            "copy": animations.candidates[question.character, question.candidate],
            "direction": VIEWS[question.view],
        }
    return {"questions": count, "answered": done, "next": asked}


def _token(value: object) -> str:
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise OptionError("a rater is known by 32 hexadecimal digits")
    return value


def _whole(value: object, low: int, high: int, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise OptionError(f"{what} is a whole number from {low} to {high}")
    return value
