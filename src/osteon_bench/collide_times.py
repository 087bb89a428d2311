"""Time of collision queries over that of the strongest opponent, and over Embree and coal, interleaved.

The opponent skins all vertices, refits the boxes of the same tree in world axes and runs the same query, all in
compiled kernels with arrays that are allocated once: what a good engine does without bounds that follow the bones.
Every query is in another frame or pose than the one before, so nothing is cached, and the pose itself is part of the
time.

Times are the least of several passes over the same queries, ours and the opponent's in turn, in processor time of the
thread: other processes of the machine do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from osteon.apply.collide.collider import Collider, ColliderPose
from osteon.apply.collide.leaf_vertices import refit
from osteon.apply.collide.tree_table import SERIAL
from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon_bench.collide_poses import CollideCase, authored, new_poses, random_queries, subdivided
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Passes over the queries, queries of a kind, and queries of expensive kinds.
PASSES, COUNT, FEW = 7, 60, 4
#: Largest time over the opponent's, by query.
FRAMES = {"plane": 1 / 12, "sphere": 1 / 12, "ray": 1 / 20, "closest point": 1 / 20}
MANY_RAYS, FIRST_CONTACT = 0.35, 1 / 15
NEW_AUTHORED, NEW_FITTED = 1 / 8, 1 / 3
SWITCHED = 1.15
PEERS = 1 / 300
LARGE = {"plane": 1 / 60, "sphere": 1 / 60, "ray": 1 / 200, "closest point": 1 / 200}
GROWTH = 2.0
#: Nodes visited over those of a tight tree: stored boxes, and new poses of authored rigs.
NODES_STORED, NODES_NEW = 1.1, 3.5
CALL_US, PRECOMPUTED = 1.0, 1.0
#: Largest part of the bytes of stored boxes that a Bounded Deformation Tree needs.
COMPACT = 1 / 3


class Refitting:
    """The opponent: all vertices skinned and all boxes refitted for every pose, in place."""

    def __init__(self, collider: Collider) -> None:
        model = collider.model
        self.collider = collider
        self._arrays: dict[str, Any] = {
            "transforms": np.ascontiguousarray(model.animation.transforms[0].reshape(1, -1, 12), np.float64),
            "coefficients": np.zeros((1, collider.tree.rank)),
        }
        self._table = collider._refit_table(self._arrays)
        self._pose = ColliderPose(collider, self._table, 0, self._arrays)

    def at(self, transforms: Float64, coefficients: Float64 | None = None) -> ColliderPose:
        """Move to another pose."""
        self._arrays["transforms"][0] = transforms.reshape(-1, 12)
        if coefficients is not None:
            self._arrays["coefficients"][0] = coefficients[: self.collider.tree.rank]
        self._table[SERIAL] = self.collider._new_serial()
        refit(self._table, self.collider._pad)
        return self._pose


@dataclass(frozen=True, slots=True)
class Subject:
    """A collider, its opponent, and poses with queries in them."""

    name: str
    collider: Collider
    opponent: Refitting
    poses: Sequence[tuple[Any, Float64, Float64 | None]]  # ours: a frame or bones; bones and coefficients
    queries: dict[str, Float64]

    def ours(self, n: int) -> ColliderPose:
        pose, _, q = self.poses[n]
        return self.collider.at(pose, q) if isinstance(pose, np.ndarray) else self.collider.at(pose)

    def theirs(self, n: int) -> ColliderPose:
        return self.opponent.at(self.poses[n][1], self.poses[n][2])


def subject(name: str, collider: Collider, poses: Sequence[tuple[Any, Float64, Float64 | None]]) -> Subject:
    """Queries in poses of a collider; frames are repeated so that no two successive ones are equal."""
    opponent, rng, rows = Refitting(collider), np.random.default_rng(3), []
    for _, transforms, q in poses:
        rows.append(random_queries(opponent.at(transforms, q).vertices(), 1, rng))
    queries = {key: np.concatenate([row[key] for row in rows]) for key in rows[0]}
    return Subject(name, collider, opponent, poses, queries)


def frame_poses(model: SkinnedModel, count: int) -> list[tuple[Any, Float64, Float64 | None]]:
    """Frames in a random order."""
    rng = np.random.default_rng(4)
    q = None if model.corrections is None else model.corrections.coefficients.astype(np.float64)
    track = model.animation.transforms.astype(np.float64)
    frames: list[int] = []
    while len(frames) < count:
        frames += rng.permutation(model.n_frames).tolist()
    return [(f, track[f], None if q is None else q[f]) for f in frames[:count]]


def posed_poses(model: SkinnedModel, count: int) -> list[tuple[Any, Float64, Float64 | None]]:
    """New poses."""
    return [(pose, pose, q) for pose, q in new_poses(model, count, 5, torn=False)]


#: A query of one kind in pose number n.
Query = Callable[[ColliderPose, int], object]


def queries_of(subject: Subject) -> dict[str, Query]:
    """The single queries, as plain Python calls with plain numbers."""
    q = {key: values.tolist() for key, values in subject.queries.items()}
    return {
        "plane": lambda pose, n: pose.plane(q["normals"][n], q["heights"][n]),
        "sphere": lambda pose, n: pose.sphere(q["near"][n], q["radii"][n]),
        "ray": lambda pose, n: pose.ray(q["origins"][n], q["directions"][n]),
        "closest point": lambda pose, n: pose.closest_point(q["near"][n]),
    }


def timed(subject: Subject, query: Query, count: int) -> tuple[float, float]:
    """Seconds per query, ours and the opponent's, with the pose."""
    ours, theirs = [], []
    query(subject.ours(0), 0)
    query(subject.theirs(0), 0)
    for _ in range(PASSES):
        began = time.thread_time()
        for n in range(count):
            query(subject.ours(n), n)
        middle = time.thread_time()
        for n in range(count):
            query(subject.theirs(n), n)
        ours.append((middle - began) / count)
        theirs.append((time.thread_time() - middle) / count)
    return min(ours), min(theirs)


def ratio_rows(case: str, what: str, seconds: tuple[float, float], bound: float) -> list[Row]:
    """A ratio with its bound, and the microseconds."""
    ours, theirs = seconds
    return [
        at_most(case, f"{what}: time over skinning all, refit and query", ours / theirs, bound),
        figure(case, f"{what}: microseconds", 1e6 * ours),
        figure(case, f"{what}: microseconds of the opponent", 1e6 * theirs),
    ]


def time_rows(run: BenchRun, cases: list[CollideCase]) -> list[Row]:
    """Rows of times."""
    rows: list[Row] = []
    for case in cases:
        if case.name not in ("horse, scaled", "chicken", "Soldier", "CesiumMan"):
            continue
        run.report(f"{case.name}: times")
        began = time.process_time()
        collider = Collider.of(case.model)
        collider.at(case.model.animation.transforms[0])
        seconds = time.process_time() - began
        stored = subject(case.name, collider, frame_poses(case.model, COUNT))
        fresh = subject(case.name, collider, posed_poses(case.model, COUNT))
        if case.name == "horse, scaled":
            rows.append(
                at_most(case.name, "precomputation for frames and new poses, processor seconds", seconds, PRECOMPUTED)
            )
            rows += _stored_rows(stored) + _many_rows(stored, "a frame") + _call_rows(stored)
            rows += _contact_rows(stored, "a frame")
        if case.name in ("horse, scaled", "chicken"):
            rows += _compact_rows(stored)
        bound = NEW_AUTHORED if case.authored else NEW_FITTED
        for what, query in queries_of(fresh).items():
            rows += ratio_rows(case.name, f"{what}, new pose", timed(fresh, query, COUNT), bound)
        rows += _node_rows(stored, fresh, case.authored)
        if case.name in ("horse, scaled", "Soldier"):
            rows += _many_rows(fresh, "a new pose")
    return rows


def _stored_rows(stored: Subject) -> list[Row]:
    rows: list[Row] = []
    for what, query in queries_of(stored).items():
        rows += ratio_rows(stored.name, f"{what}, frame", timed(stored, query, COUNT), FRAMES[what])
    return rows


def _compact_rows(stored: Subject) -> list[Row]:
    """The Bounded Deformation Tree instead of stored boxes: bytes, and single queries."""
    small = Collider.of(stored.collider.model, compact=True)
    name, model = f"{stored.name}, compact", stored.collider.model
    part = small.n_bytes / stored.collider.n_bytes
    rows = [at_most(name, f"bytes over those of stored boxes, {model.n_frames} frames", part, COMPACT)]
    found = Subject(name, small, stored.opponent, stored.poses, stored.queries)
    for what, query in queries_of(found).items():
        ours, theirs = timed(found, query, COUNT)
        rows.append(figure(name, f"{what}, frame: time over skinning all, refit and query", ours / theirs))
    return rows


def _many_rows(subject: Subject, where: str) -> list[Row]:
    """Batches in one pose."""
    rng, rows = np.random.default_rng(6), []
    around = random_queries(subject.theirs(0).vertices(), 10_000, rng)
    hundred = MANY_RAYS if where == "a frame" else SWITCHED
    for what, count, bound in (("100 rays", 100, hundred), ("10,000 rays", 10_000, SWITCHED)):
        o, d = around["origins"][:count], around["directions"][:count]
        seconds = timed(subject, lambda pose, n, o=o, d=d: pose.rays(o, d), FEW)  # type: ignore[misc]
        rows += ratio_rows(subject.name, f"{what} in {where}", seconds, bound)
    points = around["near"][:1000]
    seconds = timed(subject, lambda pose, n: pose.closest_points(points), FEW)
    rows += ratio_rows(subject.name, f"1,000 closest points in {where}", seconds, SWITCHED)
    seconds = timed(subject, lambda pose, n: pose.self_contacts(), FEW)
    return rows + ratio_rows(subject.name, f"contacts with itself in {where}", seconds, SWITCHED)


def _contact_rows(stored: Subject, where: str) -> list[Row]:
    """Two characters that touch: the second one is the first, beside it."""
    model = stored.collider.model
    shift = np.zeros((3, 4))
    shift[0, 3] = 0.6 * float(np.ptp(model.rest[:, 0]))
    track = model.animation.transforms + shift.astype(np.float32)
    other = Collider.of(model.with_animation(track=type(model.track)(track, "flexible", model.track.names), clips=()))
    opponent = Refitting(other)
    moved = track.astype(np.float64)

    def first(pose: ColliderPose, n: int) -> object:
        frame = stored.poses[n][0]
        return pose.contacts(_other(pose, frame), only_first=True)

    def every(pose: ColliderPose, n: int) -> object:
        return pose.contacts(_other(pose, stored.poses[n][0]))

    def _other(pose: ColliderPose, frame: int) -> ColliderPose:
        return other.at(frame) if pose is not stored.opponent._pose else opponent.at(moved[frame])

    rows = ratio_rows(stored.name, f"first contact of two, {where}", timed(stored, first, 20), FIRST_CONTACT)
    return rows + ratio_rows(stored.name, f"all contacts of two, {where}", timed(stored, every, FEW), SWITCHED)


def _call_rows(stored: Subject) -> list[Row]:
    """A single call over a query of a batch, both in the same frames."""
    frames = np.array([pose for pose, _, _ in stored.poses])
    q, rows = stored.queries, []
    batches: dict[str, Callable[[], object]] = {
        "ray": lambda: stored.collider.rays(frames, q["origins"], q["directions"]),
        "closest point": lambda: stored.collider.closest_points(frames, q["near"]),
    }
    repeat = [np.tile(values, (50, *[1] * (values.ndim - 1))) for values in (frames, *q.values())]
    frames, q = repeat[0], dict(zip(q, repeat[1:], strict=True))
    single = queries_of(stored)
    poses = [stored.ours(n) for n in range(COUNT)]
    for what, batch in batches.items():
        calls, whole = [], []
        for _ in range(PASSES):
            began = time.thread_time()
            for _ in range(50):
                for n in range(COUNT):
                    single[what](poses[n], n)
            middle = time.thread_time()
            batch()
            calls.append((middle - began) / (50 * COUNT))
            whole.append((time.thread_time() - middle) / (50 * COUNT))
        metric = f"{what}: microseconds of a call beyond one in a batch"
        rows.append(at_most(stored.name, metric, 1e6 * (min(calls) - min(whole)), CALL_US))
    return rows


def _node_rows(stored: Subject, fresh: Subject, authored: bool) -> list[Row]:
    """Nodes visited over those of the refitted tree."""
    rows = []
    for where, subject, bound in (("frame", stored, NODES_STORED), ("new pose", fresh, NODES_NEW)):
        for what, query in queries_of(subject).items():
            nodes = []
            for at in (subject.ours, subject.theirs):
                _ = subject.ours(0).visits
                for n in range(COUNT):
                    query(at(n), n)
                nodes.append(subject.ours(0).visits["nodes"])
            metric = f"{what}, {where}: nodes visited over those of a tight tree"
            bounded = authored or where == "frame"
            value = nodes[0] / nodes[1]
            rows.append(at_most(subject.name, metric, value, bound) if bounded else figure(subject.name, metric, value))
    return rows


def large_rows(run: BenchRun) -> list[Row]:
    """An authored character with 16 times the triangles."""
    model = authored(run, "Soldier")
    if model is None:
        return []
    run.report("Soldier with 16 times the triangles")
    large = subdivided(model, 2)
    small, big = (subject("Soldier", Collider.of(m), frame_poses(m, COUNT)) for m in (model, large))
    name = f"Soldier, {len(large.faces):,} triangles"
    rows: list[Row] = []
    for what, query in queries_of(big).items():
        seconds = timed(big, query, 20)
        rows += ratio_rows(name, f"{what}, frame", seconds, LARGE[what])
        if what == "ray":
            before = timed(small, queries_of(small)["ray"], 20)
            rows.append(
                at_most(name, "ray: time over that with a 16th of the triangles", seconds[0] / before[0], GROWTH)
            )
            rows.append(figure(name, "the same of the opponent", seconds[1] / before[1]))
    return rows


def engine_rows(run: BenchRun, cases: list[CollideCase]) -> list[Row]:
    """One ray over skinning and rebuilding Embree; one closest point over skinning and refitting coal."""
    case = next((case for case in cases if case.name == "horse, scaled"), None)
    if case is None:
        return []
    run.report("Embree and coal")
    model, rows = case.model, []
    stored = subject(case.name, Collider.of(model), frame_poses(model, COUNT))
    single = queries_of(stored)
    for name, what, theirs in (("Embree", "ray", _embree), ("coal", "closest point", _coal)):
        try:
            query = theirs(stored)
        except ImportError:
            run.report_missing(f"{name} is not installed; install osteon[bench]")
            continue
        query(0)
        ours, others = [], []
        for _ in range(PASSES):
            began = time.thread_time()
            for n in range(COUNT):
                single[what](stored.ours(n), n)
            middle = time.thread_time()
            for n in range(FEW):
                query(n)
            ours.append((middle - began) / COUNT)
            others.append((time.thread_time() - middle) / FEW)
        verb = "rebuilding Embree" if name == "Embree" else "refitting coal"
        metric = f"{what}: time over skinning and {verb}"
        rows.append(at_most(case.name, metric, min(ours) / min(others), PEERS))
        rows.append(figure(case.name, f"{what}: milliseconds with {name}", 1e3 * min(others)))
    return rows


def _embree(stored: Subject) -> Callable[[int], object]:
    """A ray in a scene that is rebuilt for its frame."""
    from embreex import rtcore_scene
    from embreex.mesh_construction import TriangleMesh

    model, q = stored.collider.model, stored.queries

    def query(n: int) -> object:
        frame = stored.poses[n][0]
        vertices = pose_frames(model, frame, frame + 1, threads=1)[0]
        scene = rtcore_scene.EmbreeScene()
        TriangleMesh(scene, vertices, model.faces)
        o, d = q["origins"][n : n + 1].astype(np.float32), q["directions"][n : n + 1].astype(np.float32)
        return scene.run(o, d)

    return query


def _coal(stored: Subject) -> Callable[[int], object]:
    """The distance of a point from a model that is refitted to its frame."""
    import coal

    model, q = stored.collider.model, stored.queries
    corners = coal.StdVec_Triangle()
    for a, b, c in model.faces.tolist():
        corners.append(coal.Triangle(a, b, c))

    def points(vertices: Float64) -> Any:
        found = coal.StdVec_Vec3s()
        for vertex in vertices:
            found.append(vertex)
        return found

    body = coal.BVHModelOBBRSS()
    body.beginModel(len(model.faces), model.n_vertices)
    body.addSubModel(points(pose_frames(model, 0, 1)[0].astype(np.float64)), corners)
    body.endModel()
    ready = {
        n: points(pose_frames(model, stored.poses[n][0], stored.poses[n][0] + 1)[0].astype(np.float64))
        for n in range(FEW)
    }

    def query(n: int) -> object:
        frame = stored.poses[n][0]
        pose_frames(model, frame, frame + 1, threads=1)
        body.beginReplaceModel()
        body.replaceSubModel(ready[n])
        body.endReplaceModel(True, True)
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        place = coal.Transform3s(np.eye(3), q["near"][n])
        return coal.distance(body, coal.Transform3s(), coal.Sphere(1e-9), place, request, result)

    return query
