"""Routes of the Pose panel.

POST /pose/ID/start        have a mesh prepared; gives a job, whose end tells its skeleton
POST /pose/ID/skeleton     another skeleton for it, a file named by X-Name
POST /pose/ID              a pose (pose_request.py); the answer is the posed mesh in the form of a pack
POST /pose/ID/mesh.obj     the same as a file
POST /pose/ID/pose.json    the pose itself as a file
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from osteon.io.skeletons import SKELETON_SUFFIXES
from osteon.view.jobs import posing
from osteon.view.jobs.pose_request import PoseRequest, pose_request
from osteon.view.server.requests import body_of, read_json, session_of, while_wanted
from osteon.view.server.uploads import plain_name

__all__ = ["SKELETON_BYTES", "pose_routes"]

#: Bytes of a dropped skeleton; a glTF has its meshes and pictures in it.
SKELETON_BYTES = 200_000_000
#: Bytes of a pose.
MAX_POSE = 4_000_000


def pose_routes() -> list[Route]:
    return [
        Route("/pose/{id}/start", _start, methods=["POST"]),
        Route("/pose/{id}/skeleton", _skeleton, methods=["POST"]),
        Route("/pose/{id}/mesh.obj", _mesh, methods=["POST"]),
        Route("/pose/{id}/pose.json", _pose_file, methods=["POST"]),
        Route("/pose/{id}", _pose, methods=["POST"]),
    ]


async def _start(request: Request) -> Response:
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
    return _file(await _posed(request, posing.save_mesh), "model/obj", "posed.obj")


async def _pose_file(request: Request) -> Response:
    # Not JSON to the page: it is a file to keep.
    return _file(await _posed(request, posing.save_pose), "application/octet-stream", "pose.json")


async def _posed(request: Request, task: posing.PoseTask) -> bytes:
    session = session_of(request)
    item = session.item(request.path_params["id"])
    asked: PoseRequest = pose_request(await read_json(request, MAX_POSE))
    return await session.pose(item, task, asked)


def _file(data: bytes, kind: str, name: str) -> Response:
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
