"""What all routes share: the session behind them, and bodies read with a limit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from osteon.core.errors import OptionError
from osteon.view.server.guard import BODY
from osteon.view.server.request_bodies import MAX_REQUEST, Body
from osteon.view.server.session import Session

T = TypeVar("T")

__all__ = ["body_of", "read_json", "session_of", "while_wanted", "whole_number"]


def session_of(request: Request) -> Session:
    session: Session = request.app.state.session
    return session


def body_of(request: Request) -> Body:
    body: Body = request.scope[BODY]
    return body


def whole_number(text: str) -> int:
    """A count in a header or a query."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise OptionError(f"expected a whole number, got '{text[:20]}'")
    return int(text)


def read_json(request: Request, most: int = MAX_REQUEST) -> Coroutine[None, None, dict[str, Any]]:
    """The body as a JSON object, to be awaited."""
    return _json_object(request, most)


async def _json_object(request: Request, most: int) -> dict[str, Any]:
    body_of(request).allow(most)
    body = await request.body()
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise OptionError("expected a JSON object")
    return asked


async def while_wanted(request: Request, work: Coroutine[Any, Any, T], stop: Callable[[], None]) -> T:
    """What `work` gives; `stop` ends it when the page cancels its request, or goes away."""
    working = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            stop()
        return await working
    finally:
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
