"""The server of the page for raters.

    GET  /                     the page; /study.js, /study.css
    GET  /state?rater=TOKEN    progress of a rater and the next question
    GET  /pack/ID              an animation
    POST /answer               {"rater", "number", "score"}: stores an answer, returns the state

A rater is identified by a random token of the browser, and questions are numbered in the rater's own order: the names
of candidates never leave the server. An error is {"error": one sentence}: 409 for a question that was answered already,
422 for an invalid answer. All paths begin with the key of the address (view/server/requests.py).
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
from osteon.study.plan import VIEWS, question_order
from osteon.view.bundle import STUDY_BUNDLE, read_bundle
from osteon.view.server.requests import App, Guard, TooLarge, TooSlow, read_json
from osteon.view.server.serve import HOST, PageServer, open_socket

_TOKEN = re.compile(r"[0-9a-f]{32}")
_STATUS: dict[type[Exception], int] = {
    AnsweredAlready: 409,
    OptionError: 422,
    FileFormatError: 500,
    TooLarge: 413,
    TooSlow: 408,
}


@dataclass(frozen=True, slots=True)
class Listener:
    """An open socket and the host names by which raters can address it."""

    socket: socket.socket
    names: tuple[str, ...]  # accepted as Host; the first is used in the printed address


def open_listener(host: str = HOST, port: int = 0) -> Listener:
    """Open the socket of a study; refuses addresses that are not of this machine."""
    if host in ("", "0.0.0.0", "::"):
        raise OptionError("--host: name the one address of this machine that raters open, such as 192.168.0.12")
    try:
        number = socket.gethostbyname(host)
    except (OSError, UnicodeError) as error:
        raise OptionError(f"--host: '{host}' cannot be resolved to an IPv4 address") from error
    names = (HOST, "localhost") if number == HOST else (host,) if number == host else (host, number)
    return Listener(open_socket(port, number), names)


def study_server(
    answers: AnswerFile, animations: Animations, listener: Listener, ready: Callable[[str], None] | None = None
) -> PageServer:
    """The server of a study; its address is the same in every run with this host and port."""
    guard = Guard(listener.socket.getsockname()[1], answers.key, listener.names)
    return PageServer(study_app(answers, animations), listener.socket, guard, ready)


def study_app(answers: AnswerFile, animations: Animations) -> App:
    """The application of one study, without the checks of the guard."""
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


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, _STATUS.get(type(error), 400))


async def _disconnected(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # there is no client to read it


async def _not_found(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "there is nothing at this address"}, getattr(error, "status_code", 404))


_HANDLERS: dict[Any, Any] = {
    OsteonError: _refused,
    ClientDisconnect: _disconnected,
    404: _not_found,
    405: _not_found,
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
    return JSONResponse(_state_of(request, _token(request.query_params.get("rater"))))


async def _answer(request: Request) -> Response:
    body = await read_json(request)
    token = _token(body.get("rater"))
    score = _integer(body.get("score"), LOWEST, HIGHEST, "an answer")
    answers: AnswerFile = request.app.state.answers
    count, done = len(answers.questions), len(answers.answered(token))
    number = _integer(body.get("number"), 1, count, "a question")
    if number <= done:
        raise AnsweredAlready(f"question {number} was answered already; answers are not changed")
    if number > done + 1:
        raise OptionError(f"question {done + 1} comes first")
    answers.add(token, question_order(token, count)[number - 1], score)
    return JSONResponse(_state_of(request, token))


def _state_of(request: Request, token: str) -> dict[str, Any]:
    """Progress of a rater and the next question: two animations and the direction of the camera."""
    answers: AnswerFile = request.app.state.answers
    animations: Animations = request.app.state.animations
    count, done = len(answers.questions), len(answers.answered(token))
    following = None
    if done < count:
        question = answers.questions[question_order(token, count)[done]]
        following = {
            "number": done + 1,
            "original": animations.originals[question.character],
            "copy": animations.candidates[question.character, question.candidate],
            "direction": VIEWS[question.view],
        }
    return {"questions": count, "answered": done, "next": following}


def _token(value: object) -> str:
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise OptionError("a rater is identified by 32 hexadecimal digits")
    return value


def _integer(value: object, low: int, high: int, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise OptionError(f"{what} is an integer from {low} to {high}")
    return value
