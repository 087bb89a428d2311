"""Routes of the page server.

    GET  /                     the page; /app.js, /app.css
    GET  /scene                the list of items, and the limits of the server
    GET  /pack/ID              one model as the renderer reads it
    POST /open                 an uploaded file, named by X-Name; ?group=G&index=I&count=N for each file of a sequence
    POST /fit                  {"id", "options"}: skin the source of an item; returns a job
    POST /edit/ID              strokes of the page: store them in the rest pose of a model; returns a job
    POST /refit/ID             {"tree", "form", "influences"}: fit an edited tree to the source; returns a job
    POST /clusters             {"id"}: find its near-rigid triangles; returns a job, then GET /clusters/ID returns them
    GET  /jobs/JOB             progress of a job as events; POST /jobs/JOB/cancel
    GET  /file/ID.SUFFIX       the model that a fit made, as a download
    POST /close/ID             remove an item
    POST /pose/ID/start        prepare a mesh for posing; returns a job whose last message has its skeleton
    POST /pose/ID/skeleton     replace its skeleton by an uploaded file, named by X-Name
    POST /pose/ID              a pose (pose_request.py); returns the posed mesh in the form of a pack
    POST /pose/ID/mesh.obj     the same as a file
    POST /pose/ID/pose.json    the pose itself as a file
    GET  /alive                stays open while a tab is open; without any, the worker ends

When a page cancels a request, the work for it is stopped. All paths follow the token, and every body is counted and
timed (requests.py). A refusal is {"error": one sentence}.
"""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from osteon.core.errors import OptionError, OsteonError
from osteon.core.options import OptionField, options_in
from osteon.core.skin_options import SkinOptions
from osteon.io import MODEL_FORMATS
from osteon.io.engines import bone_type_players
from osteon.io.formats.registry import mesh_suffixes
from osteon.io.skeletons import SKELETON_SUFFIXES
from osteon.pipeline.options import RigOptions
from osteon.view.bundle import BUNDLE, read_bundle
from osteon.view.jobs import posing
from osteon.view.jobs.pose_request import pose_request
from osteon.view.server.model_files import METHOD_NAMES
from osteon.view.server.requests import (
    App,
    EventStream,
    TooLarge,
    TooSlow,
    body_of,
    read_json,
    while_wanted,
    whole_number,
)
from osteon.view.server.session import Busy, Session, Unknown
from osteon.view.server.uploads import COMPANIONS, TooManyUploads, known_suffixes, plain_name

#: Bytes of an uploaded skeleton; a glTF file includes its meshes and images.
SKELETON_BYTES = 200_000_000
#: Bytes of a pose.
MAX_POSE = 4_000_000
#: Bytes of strokes: a million vertices.
MAX_STROKES = 100_000_000
#: Bytes of an edited tree with its sections: two million vertices.
MAX_TREE = 100_000_000
#: Options of a refit that the page may set.
REFIT_OPTIONS = ("form", "influences")
#: Kind of input in the form of a fit, by the type of the option.
_INPUTS: dict[type | None, str] = {int: "whole", float: "number", bool: "switch", None: "choice"}
#: Hints of options in the page, where the help text of the command line does not apply.
_HINTS = {
    "model": "LBS blends bones linearly. DQS blends dual quaternions, which keep their volume when they twist. "
    "Animation Space and Multi-Weight have more numbers per bone and are closer on new poses.",
    "influences": "Bones per vertex, 1 to 8. Animation Space and Multi-Weight add as many again, to 8 at most.",
}
_STATUS: dict[type[Exception], int] = {TooLarge: 413, TooSlow: 408, Busy: 409, Unknown: 404, TooManyUploads: 503}


def view_app(session: Session) -> App:
    """The application for one session, without the guard of its token."""
    routes = [
        Route("/", _page),
        Route("/app.js", _page),
        Route("/app.css", _page),
        Route("/scene", _scene),
        Route("/pack/{id}", _pack),
        Route("/open", _open, methods=["POST"]),
        Route("/fit", _fit, methods=["POST"]),
        Route("/edit/{id}", _edit, methods=["POST"]),
        Route("/refit/{id}", _refit, methods=["POST"]),
        Route("/clusters", _find_clusters, methods=["POST"]),
        Route("/clusters/{id}", _clusters),
        Route("/jobs/{id}", _follow),
        Route("/jobs/{id}/cancel", _cancel, methods=["POST"]),
        Route("/file/{name}", _file),
        Route("/close/{id}", _close, methods=["POST"]),
        Route("/alive", _alive),
        Route("/pose/{id}/start", _start_posing, methods=["POST"]),
        Route("/pose/{id}/skeleton", _skeleton, methods=["POST"]),
        Route("/pose/{id}/mesh.obj", _mesh, methods=["POST"]),
        Route("/pose/{id}/pose.json", _pose_file, methods=["POST"]),
        Route("/pose/{id}", _pose, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    app.router.redirect_slashes = False
    app.state.session = session
    return app


def session_of(request: Request) -> Session:
    session: Session = request.app.state.session
    return session


async def _refused(request: Request, error: Exception) -> Response:
    sentence = session_of(request).uploads.hide_folders(str(error))
    return JSONResponse({"error": sentence}, _STATUS.get(type(error), 400))


async def _client_gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # the client has disconnected


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return JSONResponse({"error": "there is nothing at this address"}, status)


_HANDLERS: dict[Any, Any] = {
    OsteonError: _refused,
    ClientDisconnect: _client_gone,
    404: _not_found,
    405: _not_found,
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
    return JSONResponse({"models": models, "sources": session.source_names(), "can_fit": True, "limits": limits})


async def _pack(request: Request) -> Response:
    item = session_of(request).item(request.path_params["id"])
    return FileResponse(item.pack, media_type="application/octet-stream")


async def _open(request: Request) -> Response:
    session, query = session_of(request), request.query_params
    name = plain_name(request.headers.get("X-Name", ""))
    index, count = whole_number(query.get("index", "0")), whole_number(query.get("count", "1"))
    body_of(request).allow(math.inf)  # limited together with the other files of its drop
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
    session, body = session_of(request), await read_json(request)
    job = session.fit(session.item(str(body.get("id"))), fit_options(body.get("options", {})))
    return JSONResponse({"job": job.id})


async def _edit(request: Request) -> Response:
    session = session_of(request)
    item = session.item(request.path_params["id"])
    return JSONResponse({"job": session.edit(item, await read_json(request, MAX_STROKES)).id})


async def _refit(request: Request) -> Response:
    session = session_of(request)
    item, body = session.item(request.path_params["id"]), await read_json(request, MAX_TREE)
    tree = body.pop("tree", None)
    if not isinstance(tree, str):
        raise OptionError("tree: expected the text of a tree, as osteon rig --save-tree writes it")
    return JSONResponse({"job": session.refit(item, tree, refit_options(body)).id})


async def _find_clusters(request: Request) -> Response:
    session, body = session_of(request), await read_json(request)
    return JSONResponse({"job": session.find_clusters(session.item(str(body.get("id")))).id})


async def _clusters(request: Request) -> Response:
    session = session_of(request)
    file = session.clusters_of(session.item(request.path_params["id"]))
    if not file.is_file():
        raise Unknown("the near-rigid triangles of this model have not been computed yet")
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


async def _start_posing(request: Request) -> Response:
    session = session_of(request)
    return JSONResponse({"job": session.start_posing(session.item(request.path_params["id"])).id})


async def _skeleton(request: Request) -> Response:
    session = session_of(request)
    item = session.item(request.path_params["id"])
    name = plain_name(request.headers.get("X-Name", ""), SKELETON_SUFFIXES)
    body_of(request).allow(SKELETON_BYTES)
    drop = session.uploads.drop(name, None, 1)
    with session.uploads.taking(drop):
        session.uploads.check_length(drop, body_of(request).announced)
        await session.uploads.keep(drop, name, 0, request.stream())
        job = session.unlisted_job()
        await while_wanted(request, session.give_skeleton(item, drop, job), lambda: session.cancel(job))
    return JSONResponse({})


async def _pose(request: Request) -> Response:
    posed = await _posed(request, posing.pose_mesh)
    return Response(posed, media_type="application/octet-stream")


async def _mesh(request: Request) -> Response:
    return _download(await _posed(request, posing.save_mesh), "model/obj", "posed.obj")


async def _pose_file(request: Request) -> Response:
    # Not served as JSON: it is a download.
    return _download(await _posed(request, posing.save_pose), "application/octet-stream", "pose.json")


async def _posed(request: Request, task: posing.PoseTask) -> bytes:
    session = session_of(request)
    item = session.item(request.path_params["id"])
    return await session.pose(item, task, pose_request(await read_json(request, MAX_POSE)))


def _download(data: bytes, kind: str, name: str) -> Response:
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _page_options() -> dict[str, OptionField]:
    return {of.name: of for of in options_in(SkinOptions) if of.option.page}


def fit_form() -> list[dict[str, Any]]:
    """The inputs of the form of a fit, in order: name, label, hint, kind, default, range, choices and their names."""
    return [_input(of) for of in _page_options().values()]


def _input(of: OptionField) -> dict[str, Any]:
    known = of.option
    meaning = f" {of.default}: {known.shown_default}." if known.shown_default else ""
    if of.name == "bone_type":
        meaning += f" Engines that play them: {bone_type_players()}."
    return {
        "name": of.name,
        "label": known.page,
        "hint": _HINTS.get(of.name, known.help) + meaning,
        "kind": _INPUTS[of.kind.base],
        "default": of.default,
        "min": known.above if known.minimum is None else known.minimum,
        "max": known.below if known.maximum is None else known.maximum,
        "choices": list(of.choices),
        "names": [METHOD_NAMES.get(str(word), str(word).capitalize()) for word in of.choices],
    }


def refit_options(values: dict[str, Any]) -> RigOptions:
    """The options of a refit from the JSON of the page."""
    for name, value in values.items():
        if name not in REFIT_OPTIONS:
            raise OptionError(f"'{str(name)[:40]}' is unknown; known are tree, {', '.join(REFIT_OPTIONS)}")
        if isinstance(value, (dict, list)):
            raise OptionError(f"{name}: expected one value, got {json.dumps(value)[:40]}")
    return RigOptions(**values)


def fit_options(values: Any) -> SkinOptions:
    """The options of a fit from the JSON of the page; others have the defaults of `osteon skin`."""
    if not isinstance(values, dict):
        raise OptionError("options: expected an object")
    offered = _page_options()
    for name, value in values.items():
        if name not in offered:
            raise OptionError(f"options: '{str(name)[:40]}' is unknown; known are {', '.join(offered)}")
        if isinstance(value, (dict, list)):
            raise OptionError(f"{name}: expected {offered[name].expected()}, got {json.dumps(value)[:40]}")
    return SkinOptions(**{name: value for name, value in values.items() if value is not None})
