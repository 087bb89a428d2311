"""Exactness of collision: no miss and no wrong distance, all vertices within all boxes, contacts as coal and FCL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from osteon.apply.collide.collider import Collider, ColliderPose
from osteon.apply.collide.contact_types import SurfaceContacts
from osteon.apply.collide.leaf_vertices import skin_leaf
from osteon.apply.collide.node_boxes import begin, enter_region, reach_children
from osteon.apply.collide.tree_table import CHILD, COUNT, ENTRY, HELD, REGION, VERTEX, WIDTH, Tree, open_tree
from osteon.core.arrays import Float64, FloatArray, Int32, Int64
from osteon.core.kernels import compiled_by
from osteon.deform.pose import pose_character, pose_points, pose_vertices
from osteon_bench.collide_poses import CollideCase, brute_points, brute_rays, new_poses, random_queries
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

#: Queries in all, and new poses in all.
QUERIES, POSES = 100_000, 1_000
#: Largest difference of a distance, in diagonals.
AGREEMENT = 1e-6
#: A ray that passes a silhouette closer than this, in diagonals, may count as a hit or not: vertices are rounded.
GRAZING = 1e-6
#: Largest part of the pairs of triangles that only one of two libraries reports: touching or coplanar ones.
PAIRS_APART = 2e-3


@dataclass(slots=True)
class Tally:
    """Queries so far."""

    queries: int = 0
    misses: int = 0
    apart: float = 0.0  # largest difference of a distance, in diagonals
    nodes: int = 0
    escapes: int = 0
    poses: int = 0
    seen: list[str] = field(default_factory=list)


def exact_rows(run: BenchRun, cases: list[CollideCase]) -> list[Row]:
    """Rows over all characters."""
    tally = Tally()
    for case in cases:
        run.report(f"{case.name}: against all triangles")
        collider, model = Collider.of(case.model), case.model
        rng = np.random.default_rng(len(tally.seen))
        poses = new_poses(model, POSES // len(cases) + 1, 7)
        n_queries = QUERIES // len(cases) // (model.n_frames + len(poses)) // 4 + 1
        for frame in range(model.n_frames):
            _compare(tally, collider.at(frame), pose_vertices(model, frame), n_queries, rng)
        for transforms, q in poses:
            if q is None:
                vertices = pose_character(model.character, transforms[None])[0]
            else:
                assert model.corrections is not None
                rest = model.rest + np.einsum("r,rvi->vi", q, model.corrections.basis)
                vertices = pose_points(model.deformer, rest.astype(np.float64)[None], transforms[None])[0]
            _compare(tally, collider.at(transforms, q), vertices, n_queries, rng)
        tally.seen.append(case.name)
    if not tally.seen:
        return []
    names = f"{len(tally.seen)} characters, {tally.poses:,} frames and new poses"
    return [
        at_least(names, "rays, closest points, planes and spheres compared with all triangles", tally.queries, QUERIES),
        at_most(names, "misses", tally.misses, 0),
        at_most(names, "largest difference of a distance, in diagonals", tally.apart, AGREEMENT),
        figure(names, "boxes compared with all vertices within", tally.nodes),
        at_most(names, "vertices outside of a box", tally.escapes, 0),
    ]


def _compare(tally: Tally, pose: ColliderPose, posed: FloatArray, n: int, rng: np.random.Generator) -> None:
    """n queries of each kind in one pose, one by one, and all boxes."""
    model = pose.collider.model
    vertices, faces = posed.astype(np.float64), model.faces
    diagonal = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    queries, distances = random_queries(vertices, n, rng), np.empty(n)
    brute_rays(vertices, faces, queries["origins"], queries["directions"], distances)
    tally.poses, tally.queries = tally.poses + 1, tally.queries + 4 * n
    for o, d, expected in zip(queries["origins"], queries["directions"], distances, strict=True):
        hit = pose.ray(o, d)
        found = np.inf if hit is None else hit.distance
        if not _same(found, expected, diagonal):
            tally.misses += not _grazes(pose, o, d, min(found, expected), diagonal)
        elif np.isfinite(expected):
            tally.apart = max(tally.apart, abs(found - expected) / diagonal)
    brute_points(vertices, faces, queries["points"], distances)
    for p, expected, radius in zip(queries["points"], distances, queries["radii"], strict=True):
        near, sphere = pose.closest_point(p), pose.sphere(p, radius)
        assert near is not None
        tally.apart = max(tally.apart, abs(abs(near.distance) - expected) / diagonal)
        touches = expected <= radius
        tally.misses += (sphere is None) == touches and abs(expected - radius) > GRAZING * diagonal
    used = np.unique(faces)
    for normal, height in zip(queries["normals"], queries["heights"], strict=True):
        contact, low = pose.plane(normal, height), float((vertices[used] @ normal).min())
        found = height - contact.depth if contact is not None else np.inf
        if (contact is None) == (low < height - GRAZING * diagonal):
            tally.misses += 1
        elif contact is not None:
            tally.apart = max(tally.apart, abs(found - low) / diagonal)
    counts = np.zeros(2, np.int64)
    count_escapes(pose._table, pose._frame, counts)
    tally.nodes, tally.escapes = tally.nodes + int(counts[0]), tally.escapes + int(counts[1])


def _same(found: float, expected: float, diagonal: float) -> bool:
    return bool(found == expected or abs(found - expected) <= AGREEMENT * diagonal)


def _grazes(pose: ColliderPose, o: Float64, d: Float64, distance: float, diagonal: float) -> bool:
    """Whether the first hit of one of both searches is at an edge, up to the rounding of vertices."""
    for k in range(8):
        rng = np.random.default_rng(k)
        hit = pose.ray(o + GRAZING * diagonal * rng.normal(size=3), d)
        if hit is not None and abs(hit.distance - distance) < 100 * GRAZING * diagonal:
            return True
    return False


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 i8.1")
def count_escapes(table: Int64, frame: int, counts: Int64) -> None:
    """Compare the box of every node with all vertices of its subtree: boxes, and vertices outside of one."""
    tree = open_tree(table, frame)
    begin(tree)
    for node in range(tree.n_nodes):
        if tree.nodes[WIDTH * node + ENTRY]:
            enter_region(tree, node)
    for node in range(tree.n_nodes):
        row = WIDTH * node
        if tree.nodes[row + COUNT] == 0 and tree.nodes[row + ENTRY] == 0:
            reach_children(tree, node)
    for node in range(tree.n_nodes):
        row = WIDTH * node
        counts[0] += 1
        if tree.nodes[row + REGION]:
            counts[1] += _outside(tree, node, node, 12 * tree.nodes[row + REGION] * tree.local)
            continue
        start = node if tree.nodes[row + ENTRY] else tree.nodes[row + CHILD]
        stop = node + 1 if tree.nodes[row + ENTRY] else tree.nodes[row + VERTEX]
        for entry in range(start, stop):
            if tree.nodes[WIDTH * entry + ENTRY]:
                counts[1] += _outside(tree, node, tree.nodes[WIDTH * entry + CHILD], 0)


@compiled_by({"_nrt": False})
def _outside(tree: Tree, node: int, root: int, m: int) -> int:
    """Vertices of the leaves of a subtree that are outside of the box of a node, in the axes of frame m."""
    found = 0
    is_leaf = tree.nodes[WIDTH * root + COUNT] > 0
    start = root if is_leaf else tree.nodes[WIDTH * root + CHILD]
    stop = root + 1 if is_leaf else tree.nodes[WIDTH * root + VERTEX]
    for leaf in range(start, stop):
        if tree.nodes[WIDTH * leaf + COUNT] == 0:
            continue
        skin_leaf(tree, leaf)
        first = tree.nodes[WIDTH * leaf + VERTEX]
        for n in range(first, first + tree.nodes[WIDTH * leaf + HELD]):
            v = 3 * tree.leaf_vertices[n]
            x, y, z = tree.posed[v] - tree.frames[m + 3], tree.posed[v + 1] - tree.frames[m + 7], tree.posed[v + 2]
            z -= tree.frames[m + 11]
            for i in range(3):
                local = tree.frames[m + i] * x + tree.frames[m + 4 + i] * y + tree.frames[m + 8 + i] * z
                if local < tree.boxes[6 * node + i] or local > tree.boxes[6 * node + 3 + i]:
                    found += 1
    return found


def peer_rows(run: BenchRun, cases: list[CollideCase]) -> list[Row]:
    """Pairs of triangles of two poses of a character: coal's and FCL's compared with ours."""
    rows: list[Row] = []
    case = next((case for case in cases if case.name.startswith("horse")), None)
    if case is None:
        return rows
    collider, model = Collider.of(case.model), case.model
    faces = model.faces
    shift = 0.4 * float(np.ptp(model.rest[:, 0])) * np.array([0.5, 0.1, 1.0])
    pairs = [(0, model.n_frames // 2), (3, 9), (10, model.n_frames - 1)]
    moved = model.animation.transforms.astype(np.float64)
    moved[..., 3] += shift
    posed = [(pose_vertices(model, f), pose_character(model.character, moved[g : g + 1])[0]) for f, g in pairs]
    ours = [_pairs(collider.at(f).contacts(collider.at(moved[g]))) for f, g in pairs]
    for name, find in (("coal", _coal_pairs), ("FCL", _fcl_pairs)):
        try:
            theirs = [find(first.astype(np.float64), second.astype(np.float64), faces) for first, second in posed]
        except ImportError:
            run.report_missing(f"{name} is not installed; install osteon[bench]")
            continue
        apart = sum(len(a ^ b) for a, b in zip(ours, theirs, strict=True))
        total = sum(len(a | b) for a, b in zip(ours, theirs, strict=True))
        rows.append(figure(f"{case.name}, 3 pairs of frames", f"pairs of triangles that {name} finds", total))
        metric = f"pairs that only one of {name} and ours finds, of all"
        rows.append(at_most(f"{case.name}, 3 pairs of frames", metric, apart / max(1, total), PAIRS_APART))
    return rows


def _pairs(found: SurfaceContacts) -> set[tuple[int, int]]:
    return set(zip(found.triangles.tolist(), found.others.tolist(), strict=True))


def _coal_pairs(first: Float64, second: Float64, faces: Int32) -> set[tuple[int, int]]:
    """All pairs of triangles in contact that coal finds."""
    import coal

    models = []
    for vertices in (first, second):
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(faces), len(vertices))
        corners = coal.StdVec_Triangle()
        for a, b, c in faces.tolist():
            corners.append(coal.Triangle(a, b, c))
        model.addSubModel(_coal_points(coal, vertices), corners)
        model.endModel()
        models.append(model)
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.num_max_contacts = 1_000_000
    coal.collide(models[0], coal.Transform3s(), models[1], coal.Transform3s(), request, result)
    contacts = (result.getContact(i) for i in range(result.numContacts()))
    return {(contact.b1, contact.b2) for contact in contacts}


def _coal_points(coal: Any, vertices: Float64) -> Any:
    points = coal.StdVec_Vec3s()
    for vertex in vertices:
        points.append(vertex)
    return points


def _fcl_pairs(first: Float64, second: Float64, faces: Int32) -> set[tuple[int, int]]:
    """All pairs of triangles in contact that python-fcl finds."""
    import fcl

    bodies = []
    for vertices in (first, second):
        model = fcl.BVHModel()
        model.beginModel(len(vertices), len(faces))
        model.addSubModel(vertices, faces)
        model.endModel()
        bodies.append(fcl.CollisionObject(model, fcl.Transform()))
    request = fcl.CollisionRequest(num_max_contacts=1_000_000, enable_contact=True)
    result = fcl.CollisionResult()
    fcl.collide(bodies[0], bodies[1], request, result)
    return {(contact.b1, contact.b2) for contact in result.contacts}
