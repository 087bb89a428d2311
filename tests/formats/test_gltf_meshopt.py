"""Streams of meshoptimizer, decoded here and by its own decoder: the same bytes."""

from __future__ import annotations

import base64

import numpy as np

from osteon.io.gltf.read.accessors import MeshoptStream, decode_stream
from tests.formats.node_packages import ask_script

EXPONENTS = ("Separate", "SharedVector", "SharedComponent", "Clamped")


def encode_all(tasks: list[dict]) -> list[tuple[bytes, bytes]]:
    """Each task encoded, and decoded again, by npm's meshoptimizer."""
    answers = ask_script("meshopt_streams.mjs", tasks, "meshoptimizer")
    return [(base64.b64decode(a["encoded"]), base64.b64decode(a["decoded"])) for a in answers]


def task_of(mode: str, elements: np.ndarray, stride: int, **more: object) -> dict:
    return {"mode": mode, "count": len(elements), "stride": stride, "source": elements.tobytes(), **more}


def decoded(task: dict, data: bytes) -> bytes | None:
    stream = MeshoptStream(
        np.frombuffer(data, np.uint8), task["mode"], task.get("filter", "NONE"), task["count"], task["stride"]
    )
    assert stream.least_bytes() <= len(data)
    found = decode_stream(stream)
    return None if found is None else found.tobytes()


def attribute_tasks(rng: np.random.Generator) -> list[dict]:
    """All strides, many counts, data from constant to random, both versions."""
    tasks = []
    for stride in range(4, 257, 4):
        for count in (1, 15, 16, 17, 100, 257, 1000)[stride // 4 % 3 :: 3]:
            few = rng.integers(0, 256, (count, stride)) & rng.choice([0, 1, 3, 15, 255], stride)
            smooth = np.cumsum(rng.integers(-9, 10, (count, stride // 2)), axis=0).astype("<i2")
            floats = np.cumsum(rng.normal(size=(count, stride // 4)), axis=0).astype("<f4")
            for elements in (few.astype(np.uint8), smooth, floats):
                for version, level in ((0, 2), (1, 1), (1, 2), (1, 3)):
                    tasks.append(task_of("ATTRIBUTES", elements, stride, version=version, level=level))
    return tasks


def test_attributes_agree():
    tasks = attribute_tasks(np.random.default_rng(0))
    for task, (data, expected) in zip(tasks, encode_all(tasks), strict=True):
        assert expected == task["source"]
        assert decoded(task, data) == expected, (task["stride"], task["count"], task["version"])


def grid_triangles(n: int) -> np.ndarray:
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1, 1)
    halves = np.array([[0, 1, n + 1, n + 1, 1, n + 2]])
    return (corner + halves).reshape(-1, 3)


def index_tasks(rng: np.random.Generator) -> list[dict]:
    """Grids in and out of order, several in a row, and indices without any order, in 16 and 32 bits."""
    lists = [rng.integers(0, top, (n, 3)) for n, top in ((1, 3), (7, 9), (500, 40), (1000, 65535), (1000, 2**29))]
    lists += [grid_triangles(n) for n in (1, 8, 40)]
    lists += [rng.permutation(grid_triangles(30)), rng.permutation(961)[grid_triangles(30)]]
    lists.append(np.concatenate([grid_triangles(9), grid_triangles(9) + 100, grid_triangles(9)]))
    return [
        task_of(mode, triangles.reshape(-1).astype(f"<u{stride}"), stride)
        for triangles in lists
        for stride in ((2, 4) if triangles.max() < 65536 else (4,))
        for mode in ("TRIANGLES", "INDICES")
    ]


def test_indices_agree():
    tasks = index_tasks(np.random.default_rng(1))
    for task, (data, expected) in zip(tasks, encode_all(tasks), strict=True):
        assert decoded(task, data) == expected, task["mode"]
        if task["mode"] == "INDICES":
            assert expected == task["source"]


def filter_tasks(rng: np.random.Generator) -> list[dict]:
    """Every filter, stride and number of bits."""
    vectors = rng.normal(size=(300, 4))
    vectors[:, :3] /= np.linalg.norm(vectors[:, :3], axis=1, keepdims=True)
    vectors[:, 3] = rng.choice([-1, 0, 1], 300)
    vectors[:6, :3] = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    turns = rng.normal(size=(300, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    colors = rng.random((300, 4))
    colors[:3] = [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 0]]
    tasks = []

    def add(name: str, values: np.ndarray, stride: int, **more: object) -> None:
        task = task_of("ATTRIBUTES", values.astype("<f4"), stride, filter=name, version=1, level=2, **more)
        tasks.append(task)

    for bits in range(2, 17):
        for stride in (4, 8):
            if bits <= 2 * stride:
                add("OCTAHEDRAL", vectors, stride, bits=bits)
                add("COLOR", colors, stride, bits=bits)
        if bits >= 4:
            add("QUATERNION", turns, 8, bits=bits)
    for bits in range(1, 25):
        for width in (1, 3, 4, 16):
            values = rng.normal(size=(100, width)) * 10.0 ** rng.integers(-20, 20, (100, width))
            add("EXPONENTIAL", values, 4 * width, bits=bits, expMode=EXPONENTS[bits % 4])
    return tasks


def test_filters_agree():
    tasks = filter_tasks(np.random.default_rng(2))
    assert {task["filter"] for task in tasks} == {"OCTAHEDRAL", "QUATERNION", "EXPONENTIAL", "COLOR"}
    for task, (data, expected) in zip(tasks, encode_all(tasks), strict=True):
        assert decoded(task, data) == expected, (task["filter"], task["stride"], task["bits"])


def test_damaged_streams_end():
    """Whatever the bytes are, the decoder comes back with elements or without."""
    rng = np.random.default_rng(3)
    tasks = attribute_tasks(rng)[::97] + index_tasks(rng)
    ended = 0
    for task, (data, _) in zip(tasks, encode_all(tasks), strict=True):
        for _ in range(20):
            spoiled = np.frombuffer(data, np.uint8).copy()
            at = rng.integers(1, len(spoiled), rng.integers(1, 6))
            spoiled[at] = rng.integers(0, 256, len(at))
            ended += decoded(task, spoiled.tobytes()) is None
    assert ended > 50
