"""A tube and its skeleton as files, and what Osteon itself makes of a pose."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.sequence import MeshSequence
from osteon.io import load_sequence
from osteon.io.meshes.obj import ObjWriter
from osteon.io.skeletons import load_skeleton
from osteon.simplex.poser import Poser, PoserOptions
from osteon.view.jobs.pose_request import PoseRequest, pose_request

#: Joints of the tube, along its axis.
JOINTS = {"root": 0.0, "elbow": 1.0, "wrist": 2.0, "tip": 2.9}
SKELETON = "".join(f"{i} {x} 0 0\n" for i, x in enumerate(JOINTS.values(), 1)) + "#\n1 2\n2 3\n3 4\n"


@cache
def tube(rings: int = 33, around: int = 14) -> MeshSequence:
    """A closed tube along x, from 0 to 3, a little thicker in the middle."""
    x = np.linspace(0, 3, rings)
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    radius = 0.3 + 0.08 * np.sin(np.pi * x / 3)
    across = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    sides = np.concatenate(
        [np.repeat(x, around)[:, None], np.repeat(radius, around)[:, None] * np.tile(across, (rings, 1))], axis=1
    )
    vertices = np.concatenate([sides, [[0, 0, 0], [3, 0, 0]]]).astype(np.float32)
    faces = []
    for r in range(rings - 1):
        for a in range(around):
            i, j = r * around + a, r * around + (a + 1) % around
            faces += [[i, j, i + around], [j, j + around, i + around]]
    last, (low, high) = (rings - 1) * around, (len(vertices) - 2, len(vertices) - 1)
    for a in range(around):
        b = (a + 1) % around
        faces += [[low, b, a], [high, last + a, last + b]]
    return MeshSequence(vertices[None], np.array(faces, np.int32), vertices, name="tube")


def write_tube(folder: Path) -> tuple[Path, Path]:
    """tube.obj and tube.tgf."""
    mesh, skeleton = folder / "tube.obj", folder / "tube.tgf"
    mesh.write_bytes(ObjWriter(tube().faces, tube().asset).frame(tube().rest))
    skeleton.write_text(SKELETON)
    return mesh, skeleton


def compile_all(mesh: Path, skeleton: Path) -> None:
    """Compile what posing needs, here, where nobody waits for an answer; the server finds it on disk."""
    rest = {"joints": [[x, 0, 0] for x in JOINTS.values()], "turns": [[0, 0, 0, 1]] * 3}
    line = {"name": "line", "rest": [[1.2, 0, 0], [1.8, 0, 0]], "domain": {"tube": 0.5}}
    pin = {"vertex": 0, "target": tube().rest[0].tolist()}
    posed_by_osteon(mesh, skeleton, {**rest, "lines": [line], "pins": [pin]})
    posed_by_osteon(mesh, skeleton, rest, "ssd")


def posed_by_osteon(mesh: Path, skeleton: Path | None, message: dict[str, Any], method: str = "simplex") -> np.ndarray:
    """(v,3) the pose in a request of the page, by the library."""
    request: PoseRequest = pose_request(message)
    source = load_sequence(mesh)
    sticks = None if skeleton is None else load_skeleton(skeleton)
    lines = request.lines if method == "simplex" else ()
    options = PoserOptions(method=method)  # type: ignore[arg-type]
    poser = Poser.of(source.rest.astype(np.float64), source.faces, sticks, lines=lines, options=options)
    counts = (0, 0) if sticks is None else (sticks.n_joints, sticks.n_bones)
    return poser.pose(request.track(*counts))[0]
