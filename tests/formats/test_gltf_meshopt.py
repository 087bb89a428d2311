"""Buffer views that meshoptimizer compressed, decoded here and by its own decoder."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from osteon.bench.players.tools import PACKAGES
from osteon.core.errors import FileFormatError
from osteon.io import load_model, load_sequence
from osteon.io.gltf.read.meshopt.views import _decode, _Stream

HERE = Path(__file__).resolve().parent


def need_packages(*names: str) -> None:
    """Skip without node and these packages of npm; where CI=true they must be there."""
    missing = [] if shutil.which("node") else ["node"]
    missing += [name for name in names if not (PACKAGES / name).is_dir()]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(missing)} not installed; run scripts/install-players")
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; run scripts/install-players")


def encode_all(tasks: list[dict]) -> list[tuple[bytes, bytes]]:
    """Each task encoded, and decoded again, by npm's meshoptimizer."""
    need_packages("meshoptimizer")
    text = json.dumps([{**task, "source": base64.b64encode(task["source"]).decode()} for task in tasks])
    script = [shutil.which("node"), str(HERE / "meshopt_streams.mjs"), str(PACKAGES.parent)]
    done = subprocess.run(script, input=text, capture_output=True, text=True, check=True, timeout=300)
    return [(base64.b64decode(a["encoded"]), base64.b64decode(a["decoded"])) for a in json.loads(done.stdout)]


def decoded(task: dict, data: bytes) -> bytes | None:
    stream = _Stream(
        np.frombuffer(data, np.uint8), task["mode"], task.get("filter", "NONE"), task["count"], task["stride"]
    )
    assert stream.least_bytes() <= len(data)
    found = _decode(stream)
    return None if found is None else found.tobytes()


def smooth(rng: np.random.Generator, count: int, stride: int) -> bytes:
    """Numbers of two bytes that wander."""
    return np.cumsum(rng.integers(-9, 10, (count, stride // 2)), axis=0).astype("<i2").tobytes()


def attribute_tasks(rng: np.random.Generator) -> list[dict]:
    """All strides, many counts, data from constant to random, both versions."""
    tasks = []
    for stride in range(4, 257, 4):
        for count in (1, 15, 16, 17, 100, 257, 1000)[stride // 4 % 3 :: 3]:
            few = rng.integers(0, 256, (count, stride), np.uint8) & rng.choice([0, 1, 3, 15, 255], stride)
            floats = np.cumsum(rng.normal(size=(count, stride // 4)), axis=0).astype("<f4")
            for source in (few.astype(np.uint8).tobytes(), smooth(rng, count, stride), floats.tobytes()):
                for version, level in ((0, 2), (1, 1), (1, 2), (1, 3)):
                    tasks.append(
                        dict(mode="ATTRIBUTES", count=count, stride=stride, source=source, version=version, level=level)
                    )
    return tasks


def test_attributes_agree():
    tasks = attribute_tasks(np.random.default_rng(0))
    for task, (data, expected) in zip(tasks, encode_all(tasks), strict=True):
        assert expected == task["source"]
        assert decoded(task, data) == expected, (task["stride"], task["count"], task["version"])


def grid_triangles(n: int) -> np.ndarray:
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1, 1)
    return np.concatenate([corner + [0, 1, n + 1], corner + [n + 1, 1, n + 2]], axis=1).reshape(-1, 3)


def index_tasks(rng: np.random.Generator) -> list[dict]:
    lists = [rng.integers(0, top, (n, 3)) for n, top in ((1, 3), (7, 9), (500, 40), (1000, 65535), (1000, 2**31 - 1))]
    lists += [grid_triangles(n) for n in (1, 8, 40)]
    lists.append(rng.permutation(grid_triangles(30)))
    lists.append(rng.permutation(961)[grid_triangles(30)])
    lists.append(np.concatenate([grid_triangles(9), grid_triangles(9) + 100, grid_triangles(9)]))
    tasks = []
    for triangles in lists:
        for stride in (2, 4) if triangles.max() < 65536 else (4,):
            for mode in ("TRIANGLES", "INDICES"):
                source = triangles.astype(f"<u{stride}").tobytes()
                tasks.append(dict(mode=mode, count=triangles.size, stride=stride, source=source))
    return [
        task
        for task in tasks
        if task["mode"] == "TRIANGLES" or np.frombuffer(task["source"], f"<u{task['stride']}").max() < 2**29
    ]


def test_indices_agree():
    tasks = index_tasks(np.random.default_rng(1))
    for task, (data, expected) in zip(tasks, encode_all(tasks), strict=True):
        assert decoded(task, data) == expected, task["mode"]


def filter_tasks(rng: np.random.Generator) -> list[dict]:
    """Every filter, stride and number of bits; with `bits` 0 the stored numbers are random themselves."""
    vectors = rng.normal(size=(300, 4))
    vectors[:, :3] /= np.linalg.norm(vectors[:, :3], axis=1, keepdims=True)
    vectors[:, 3] = rng.choice([-1, 0, 1], 300)
    vectors[:6, :3] = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    turns = rng.normal(size=(300, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    colors = rng.random((300, 4))
    colors[:3] = [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 0]]
    tasks = []

    def add(name, values, stride, bits, **more):
        source = np.ascontiguousarray(values, "<f4").tobytes()
        tasks.append(
            dict(
                mode="ATTRIBUTES",
                filter=name,
                count=len(values),
                stride=stride,
                source=source,
                bits=bits,
                version=1,
                level=2,
                **more,
            )
        )

    for bits in range(2, 17):
        for stride in (4, 8):
            if bits <= 2 * stride:
                add("OCTAHEDRAL", vectors, stride, bits)
                add("COLOR", colors, stride, bits)
        if bits >= 4:
            add("QUATERNION", turns, 8, bits)
    for bits in range(1, 25):
        for width in (1, 3, 4, 16):
            values = rng.normal(size=(100, width)) * 10.0 ** rng.integers(-20, 20, (100, width))
            add(
                "EXPONENTIAL",
                values,
                4 * width,
                bits,
                expMode=["Separate", "SharedVector", "SharedComponent", "Clamped"][bits % 4],
            )
    return tasks


def test_filters_agree():
    tasks = filter_tasks(np.random.default_rng(2))
    bad = {}
    for task, (data, expected) in zip(tasks, encode_all(tasks), strict=True):
        if decoded(task, data) != expected:
            kind = {4: "<i1", 8: "<i2"}.get(task["stride"]) if task["filter"] != "EXPONENTIAL" else "<f4"
            a, b = (np.frombuffer(x, kind).astype(float) for x in (decoded(task, data), expected))
            bad.setdefault(task["filter"], []).append((task["bits"], task["stride"], (a != b).sum(), abs(a - b).max()))
    assert not bad, bad
