"""The server behind the page: what it shows, files dropped on it, fits that run for it.

    GET  /                     the page; /app.js, /app.css
    GET  /scene                what there is to see, and what the server allows
    GET  /pack/ID              one model as the renderer reads it
    POST /open                 a dropped file, named by X-Name; ?group=G&index=I&count=N for each file of a sequence
    POST /fit                  {"id", "options"}: skin the source of an item; gives a job
    POST /clusters             {"id"}: find its near-rigid triangles; gives a job, then GET /clusters/ID has them
    GET  /jobs/JOB             how a job goes, as events; POST /jobs/JOB/cancel
    GET  /file/ID.SUFFIX       the model that a fit made, to keep
    POST /close/ID             show an item no more
    POST /pose/ID…             posing (pose_routes.py)
    GET  /alive                open as long as a tab is; without any, the worker ends

A request that its page gives up ends what runs for it. All of it lies under the token (guard.py), and every body is
counted and timed (bodies.py). A refusal is {"error": one sentence}.
"""

from __future__ import annotations

import math
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from osteon.core.errors import OptionError, OsteonError
from osteon.io import MODEL_FORMATS
from osteon.io.formats.registry import mesh_suffixes
from osteon.io.skeletons import SKELETON_SUFFIXES
from osteon.view.bundle import BUNDLE, read_bundle
from osteon.view.server.fit_form import fit_form, fit_options
from osteon.view.server.pose_routes import SKELETON_BYTES, pose_routes
from osteon.view.server.request_bodies import App, TooLarge, TooSlow
from osteon.view.server.requests import body_of, read_json, session_of, while_wanted, whole_number
from osteon.view.server.session import Busy, Session, Unknown
from osteon.view.server.streams import EventStream
from osteon.view.server.uploads import COMPANIONS, known_suffixes, plain_name

__all__ = ["view_app"]

_STATUS: dict[type[Exception], int] = {TooLarge: 413, TooSlow: 408, Busy: 409, Unknown: 404}


def view_app(session: Session) -> App:
    """The application for one session; a guard stands before it."""
    routes = [
        Route("/", _page),
        Route("/app.js", _page),
        Route("/app.css", _page),
        Route("/scene", _scene),
        Route("/pack/{id}", _pack),
        Route("/open", _open, methods=["POST"]),
        Route("/fit", _fit, methods=["POST"]),
        Route("/clusters", _find_clusters, methods=["POST"]),
        Route("/clusters/{id}", _clusters),
        Route("/jobs/{id}", _follow),
        Route("/jobs/{id}/cancel", _cancel, methods=["POST"]),
        Route("/file/{name}", _file),
        Route("/close/{id}", _close, methods=["POST"]),
        Route("/alive", _alive),
        *pose_routes(),
    ]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    app.router.redirect_slashes = False
    app.state.session = session
    return app


async def _refused(request: Request, error: Exception) -> Response:
    sentence = session_of(request).uploads.hide_folders(str(error))
    return JSONResponse({"error": sentence}, _STATUS.get(type(error), 400))


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it


async def _nothing_there(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return JSONResponse({"error": "there is nothing at this address"}, status)


_HANDLERS: dict[Any, Any] = {
    OsteonError: _refused,
    ClientDisconnect: _gone,
    404: _nothing_there,
    405: _nothing_there,
}


async def _page(request: Request) -> Response:
    name = request.url.path.removeprefix("/") or "index.html"
    return Response(read_bundle(name), media_type=BUNDLE[name])


async def _scene(request: Request) -> Response:
    session = session_of(request)
    limits = {
        "upload_bytes": session.uploads.limit,
        "suffixes": known_suffixes(),
        "frames": list(mesh_suffixes()),
        "companions": list(COMPANIONS),
        "fit": fit_form(),
        "skeleton_bytes": SKELETON_BYTES,
        "skeletons": list(SKELETON_SUFFIXES),
    }
    models = [item.to_json() for item in session.collection.shown]
    return JSONResponse({"models": models, "can_fit": True, "limits": limits})


async def _pack(request: Request) -> Response:
    item = session_of(request).item(request.path_params["id"])
    return FileResponse(item.pack, media_type="application/octet-stream")


async def _open(request: Request) -> Response:
    session, query = session_of(request), request.query_params
    name = plain_name(request.headers.get("X-Name", ""))
    index, count = whole_number(query.get("index", "0")), whole_number(query.get("count", "1"))
    body_of(request).allow(math.inf)  # it counts with the other files of its drop
    drop = session.uploads.drop(name, query.get("group"), count)
    with session.uploads.taking(drop):
        session.uploads.check_length(drop, body_of(request).announced)
        await session.uploads.keep(drop, name, index, request.stream())
        if not drop.complete:
            return JSONResponse({"id": None, "received": len(drop.files), "count": drop.count})
        session.uploads.finish(drop)
        job = session.unlisted_job()
        item = await while_wanted(request, session.open(drop, job), lambda: session.cancel(job))
    return JSONResponse(item.to_json())


async def _fit(request: Request) -> Response:
    session, asked = session_of(request), await read_json(request)
    job = session.fit(session.item(str(asked.get("id"))), fit_options(asked.get("options", {})))
    return JSONResponse({"job": job.id})


async def _find_clusters(request: Request) -> Response:
    session, asked = session_of(request), await read_json(request)
    return JSONResponse({"job": session.find_clusters(session.item(str(asked.get("id")))).id})


async def _clusters(request: Request) -> Response:
    session = session_of(request)
    file = session.clusters_of(session.item(request.path_params["id"]))
    if not file.is_file():
        raise Unknown("the near-rigid triangles of this model were not looked for yet")
    return FileResponse(file, media_type="application/octet-stream")


async def _follow(request: Request) -> EventStream:
    session = session_of(request)
    return EventStream(session.follow(session.job(request.path_params["id"])), session.closing)


async def _cancel(request: Request) -> Response:
    session = session_of(request)
    session.cancel(session.job(request.path_params["id"]))
    return JSONResponse({})


async def _file(request: Request) -> Response:
    session = session_of(request)
    item_id, dot, suffix = request.path_params["name"].partition(".")
    item = session.item(item_id)
    if dot + suffix not in MODEL_FORMATS:
        raise OptionError(f"a model is saved as one of {', '.join(MODEL_FORMATS)}")
    job = session.unlisted_job()
    file = await while_wanted(request, session.save(item, dot + suffix, job), lambda: session.cancel(job))
    return FileResponse(file, filename=f"{item.name.partition(':')[0]}{dot}{suffix}")


async def _close(request: Request) -> Response:
    session = session_of(request)
    session.collection.close(session.item(request.path_params["id"]))
    return JSONResponse({})


async def _alive(request: Request) -> EventStream:
    session = session_of(request)
    return EventStream(session.tab(), session.closing)
