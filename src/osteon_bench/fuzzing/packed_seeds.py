"""glTF whose data are compressed: a bent square of nine vertices by meshopt and by Draco, streams of their encoders."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

_MESHOPT = "EXT_meshopt_compression"
_DRACO = "KHR_draco_mesh_compression"

#: Streams of meshopt in base64: mode, filter, count, bytes of an element.
_STREAMS = (
    (
        *("ATTRIBUTES", "EXPONENTIAL", 9, 12),
        "oAABM8/AAEA/QD8gIAABOSAAAMgAAQM8AABAHyAAATkgAADIAQD/wAAproMpzQEA/8AAPjkDPjUAATkgAADIAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AACOAAAAjgAAAI4=",
    ),
    ("ATTRIBUTES", "OCTAHEDRAL", 9, 4, "oAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB/AA=="),
    ("ATTRIBUTES", "QUATERNION", 3, 8, "of+qAADHAADYAMfIANjXAAAAAAAAAAAAAAAAAAAAAAAAAAD/fwAA"),
    ("ATTRIBUTES", "COLOR", 9, 4, "oZ0AaACAAYAA/v4E/v4E/v4ATAECfn4CAAAAAAAAAAAAAAAAAAAAAAAAAECBwP8A"),
    ("ATTRIBUTES", "NONE", 9, 8, "oepaAH4Bf34Bf34BAEAA/wAIAH4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAEgA="),
    ("TRIANGLES", "NONE", 24, 2, "4f7+/v5YR39jDwjyAj8EPwIDAHaHVmd4qYZliWiYAWkAAA=="),
    ("INDICES", "NONE", 24, 4, "0QAEDAoEDAYEDAoEDB4QAgYQAgIQAgYQAgAAAAA="),
)
#: Streams of Draco, sequential and from neighbour to neighbour.
_SEQUENTIAL = (
    "RFJBQ08CAgEAAAAICQEAAQQBAgUDBAcEBQgABAMBBQQDBwYECAcBBQAJAwAAAwkCAAECAgQAAgQEBAADBAkEAAQCAAEBAAABAQALAx0HH+U4AwTg"
    "hfgfAAD8BwAAAf4H4H8A+PcfgLUF8P+R/wE4wH8AUAIAAAAA/wMAAAAAAAAAAAAAAAAAPwAAAAAAAIA/AAAAAAAAAAAAAAA/AAAAPwAAAD8AAIA/"
    "AAAAPwAAAAAAAIA/AAAAPwAAgD8AAIA/AACAPwABAQEBgAJ1HB0HkQP////nVQUdB3EMDFiV9L50QHPAGC1WtAAAAAD/AAAAAAEBAQECOT7JAQNM"
    "L5YAAAAAAQAAAAAAgD8AAAAAAAAAAAAAAAAAAAA/AAAAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAAA/AAAAPwAA"
    "AAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAAA/AAAAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "gD8K"
)
_NEIGHBOURS = (
    "RFJBQ08CAgEBAAAACQgECAIAA3/aB/8BEf8CiED/AohA/wKIQP8CiEAF/wAAAAAAAQAAAgAAAwAAAQAJAwAAAgEDCQIAAQABAgIEAAIBAQQEBAAD"
    "AQEECQQABAABAQEBAoAI7SX/////////////////p70EYQL//zcdB2ECB30JCXqFmOi8hCpvgAAAAAD/AwAAAAAAAAAAAAAAAAAAAACAPwoAAAA/"
    "AAAAPwAAAAAAAAA/AAAAAAAAAAAAAAA/AAAAAAAAgD8AAAA/AACAPwAAAAAAAIA/AACAPwAAAD8AAIA/AAAAAAAAgD8BAQEBAoACxTGRA////+/J"
    "AeUIB5xFyzcx748AAAAA/wAAAAEBAQEBAjk+yQEDTC+WAAAAAAEAAAAAAAA/AAAAPwAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAA"
    "AAAAAAAAAAA/AAAAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAPwAAAD8AAAAAAAAA"
    "AAAAgD8AAAAAAAAAAAAAAAA="
)


class _Blob:
    """The data of a file, and its buffer views."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []

    def place(self, data: bytes) -> dict[str, Any]:
        self.data += bytes(-len(self.data) % 4)
        found = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)}
        self.data += data
        return found

    def view(self, view: dict[str, Any]) -> int:
        self.views.append(view)
        return len(self.views) - 1

    def buffer(self) -> dict[str, Any]:
        text = base64.b64encode(self.data).decode()
        return {"byteLength": len(self.data), "uri": f"data:application/octet-stream;base64,{text}"}


def _accessor(view: int | None, component: int, count: int, kind: str, **more: Any) -> dict[str, Any]:
    held = {} if view is None else {"bufferView": view}
    return held | {"componentType": component, "count": count, "type": kind, **more}


def _meshopt() -> bytes:
    """All modes and filters, a bone that rotates, and a node that shows its mesh twice."""
    blob, views = _Blob(), []
    for mode, how, count, stride, text in _STREAMS:
        stream = blob.place(base64.b64decode(text))
        packed = stream | {"byteStride": stride, "count": count, "mode": mode, "filter": how}
        kept = {"buffer": 1, "byteLength": count * stride, "extensions": {_MESHOPT: packed}}
        views.append(blob.view(kept | ({"byteStride": stride} if mode == "ATTRIBUTES" else {})))
    position, normal, rotation, color, uv, triangles, indices = views
    times = blob.view(blob.place(struct.pack("<3f", 0, 0.5, 1)))
    places = blob.view(blob.place(struct.pack("<6f", 0, 0, 0, 3, 0, 0)))
    accessors = [
        _accessor(position, 5126, 9, "VEC3"),
        _accessor(normal, 5120, 9, "VEC3", normalized=True),
        _accessor(rotation, 5122, 3, "VEC4", normalized=True),
        _accessor(color, 5121, 9, "VEC4", normalized=True),
        _accessor(uv, 5126, 9, "VEC2"),
        _accessor(triangles, 5123, 24, "SCALAR"),
        _accessor(indices, 5125, 24, "SCALAR"),
        _accessor(times, 5126, 3, "SCALAR"),
        _accessor(places, 5126, 2, "VEC3"),
    ]
    attributes = {"POSITION": 0, "NORMAL": 1, "COLOR_0": 3, "TEXCOORD_0": 4}
    shown_twice = {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 8}}}
    return _file(
        {
            "extensionsUsed": [_MESHOPT, "EXT_mesh_gpu_instancing"],
            "extensionsRequired": [_MESHOPT],
            "nodes": [{"mesh": 0, "rotation": [0, 0, 0, 1]}, {"mesh": 0, "extensions": shown_twice}],
            "meshes": [{"primitives": [{"attributes": attributes, "indices": i} for i in (5, 6)]}],
            "animations": [_animation(7, 2, node=0)],
            "accessors": accessors,
            "bufferViews": blob.views,
            "buffers": [blob.buffer(), {"byteLength": 4 * 9 * 12}],
        }
    )


def _animation(times: int, rotations: int, node: int) -> dict[str, Any]:
    channel = {"sampler": 0, "target": {"node": node, "path": "rotation"}}
    return {"samplers": [{"input": times, "output": rotations}], "channels": [channel]}


def _draco(*streams: str) -> bytes:
    """A primitive for each stream, with two joints of which one rotates."""
    blob = _Blob()
    views = [blob.view(blob.place(base64.b64decode(stream))) for stream in streams]
    times = blob.view(blob.place(struct.pack("<2f", 0, 1)))
    rotations = blob.view(blob.place(struct.pack("<8f", 0, 0, 0, 1, 0, 0.6, 0, 0.8)))
    ids = {"POSITION": 0, "TEXCOORD_0": 1, "COLOR_0": 2, "JOINTS_0": 3, "WEIGHTS_0": 4}
    accessors = [
        _accessor(None, 5126, 9, "VEC3"),
        _accessor(None, 5126, 9, "VEC2"),
        _accessor(None, 5121, 9, "VEC4", normalized=True),
        _accessor(None, 5123, 9, "VEC4"),
        _accessor(None, 5126, 9, "VEC4"),
        _accessor(None, 5123, 24, "SCALAR"),
        _accessor(times, 5126, 2, "SCALAR"),
        _accessor(rotations, 5126, 2, "VEC4"),
    ]
    primitives = [
        {"attributes": ids, "indices": 5, "extensions": {_DRACO: {"bufferView": view, "attributes": ids}}}
        for view in views
    ]
    return _file(
        {
            "extensionsUsed": [_DRACO],
            "extensionsRequired": [_DRACO],
            "nodes": [{"mesh": 0, "skin": 0}, {"children": [2], "name": "hip"}, {"name": "knee"}],
            "skins": [{"joints": [1, 2]}],
            "meshes": [{"primitives": primitives}],
            "animations": [_animation(6, 7, node=2)],
            "accessors": accessors,
            "bufferViews": blob.views,
            "buffers": [blob.buffer()],
        }
    )


def _file(parts: dict[str, Any]) -> bytes:
    return json.dumps({"asset": {"version": "2.0"}} | parts).encode()


MESHOPT = [_meshopt()]
DRACO = [_draco(_SEQUENTIAL), _draco(_NEIGHBOURS), _draco(_SEQUENTIAL, _NEIGHBOURS)]
