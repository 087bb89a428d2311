"""Characters and new poses for the benchmark of collision, and answers of a compiled search over all triangles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.character import Skin
from osteon.core.kernels import Point, compiled_by, cross, dot, inlined, minus
from osteon.core.model import SkinnedModel
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import compose
from osteon.deform.linear_blend import linear_blend_model
from osteon_bench.run import BenchRun, find_sequence

#: Fitted skins: name, sequence, bones, type of bones, rank.
FITTED = (
    ("horse, scaled", "horse", 30, "scaled", 0),
    ("horse, flexible", "horse", 30, "flexible", 0),
    ("horse, rank 10", "horse", 30, "scaled", 10),
    ("chicken", "chicken", 22, "scaled", 0),
    ("clothhorse", "clothhorse", 20, "scaled", 0),
)
AUTHORED = ("Soldier", "CesiumMan")
#: Rotation of every bone in a third of the new poses, in radians.
TURN = 0.1


@dataclass(frozen=True, slots=True)
class CollideCase:
    """A character; authored rigs have weights painted by an artist."""

    name: str
    model: SkinnedModel
    authored: bool


def collide_cases(run: BenchRun) -> Iterator[CollideCase]:
    """All characters that are there."""
    for name, sequence, bones, kind, rank in FITTED:
        model = fitted(run, sequence, bones, kind, rank)
        if model is not None:
            yield CollideCase(name, model, False)
    for name in AUTHORED:
        model = authored(run, name)
        if model is not None:
            yield CollideCase(name, model, True)


@cache
def _fit(path: Path, bones: int, kind: str, rank: int, threads: int) -> SkinnedModel:
    from osteon.io import load_sequence
    from osteon.pipeline.skin import skin_sequence

    options = SkinOptions(bones=bones, bone_type=kind, rank=rank, threads=threads)  # type: ignore[arg-type]
    return skin_sequence(load_sequence(path), options=options).model


def fitted(run: BenchRun, sequence: str, bones: int, kind: str = "scaled", rank: int = 0) -> SkinnedModel | None:
    """A skin of a measured sequence, fitted once per run."""
    if find_sequence(run, sequence) is None:
        return None
    run.report(f"fit of {sequence}, {bones} {kind} bones, rank {rank}")
    return _fit(run.data / f"{sequence}.npz", bones, kind, rank, run.threads)


def authored(run: BenchRun, name: str) -> SkinnedModel | None:
    """An authored character beside the folder of data."""
    from osteon.io import load_model

    path = run.data.parent / "characters" / f"{name}.glb"
    if path.is_file():
        return load_model(path)
    run.report_missing(f"'{path}' is missing; name the folder beside it with --data")
    return None


def new_poses(model: SkinnedModel, count: int, seed: int, *, torn: bool = True) -> list[tuple[Float64, Float64 | None]]:
    """Bones (b,3,4) and coefficients of poses that no frame has, of three kinds in turn.

    Two frames blended; a frame with all joints rotated; if `torn`, every bone from one of two frames.
    """
    rng = np.random.default_rng(seed)
    track, found = model.animation.transforms.astype(np.float64), []
    for number in range(count):
        f, g = rng.integers(model.n_frames, size=2)
        if number % 3 == 0:
            s = rng.uniform()
            pose = (1 - s) * track[f] + s * track[g]
        elif number % 3 == 1 or not torn:
            pose = _turned(model, track[f], rng)
        else:
            pose = np.where(rng.uniform(size=(model.n_bones, 1, 1)) < 0.5, track[f], track[g])
        q = None
        if model.corrections is not None and model.rank:
            stored = model.corrections.coefficients
            q = rng.normal(size=stored.shape[1]) * stored.std(axis=0)
        found.append((pose, q))
    return found


def _turned(model: SkinnedModel, pose: Float64, rng: np.random.Generator) -> Float64:
    """The pose (b,3,4) with every joint rotated, its children following; without joints, bones about their middles."""
    turns = Rotation.from_rotvec(TURN * rng.normal(size=(len(pose), 3))).as_matrix()
    skeleton = model.skeleton
    if skeleton is None:
        shares = model.skin.dense(len(pose))
        rest = shares.T @ model.rest / np.maximum(shares.sum(axis=0), 1e-12)[:, None]
        parents = np.full(len(pose), -1)
    else:
        rest, parents = skeleton.world_from_joint[:, :, 3].astype(np.float64), skeleton.parents
    places = np.einsum("bij,bj->bi", pose[:, :, :3], rest) + pose[:, :, 3]
    moved = np.zeros_like(pose)  # world from world
    for b in ordered(parents):
        own = np.concatenate([turns[b], (places[b] - turns[b] @ places[b])[:, None]], axis=1)
        moved[b] = own if parents[b] < 0 else compose(moved[parents[b]], own)
    return compose(moved, pose)


def ordered(parents: Int32) -> list[int]:
    """Joints, parents before their children."""
    depth = np.zeros(len(parents), np.int64)
    for j in range(len(parents)):
        k = j
        while parents[k] >= 0:
            k, depth[j] = parents[k], depth[j] + 1
    return [int(j) for j in np.argsort(depth, kind="stable")]


def subdivided(model: SkinnedModel, times: int) -> SkinnedModel:
    """Every triangle split into four, `times` times; weights of new vertices are means of two."""
    rest, faces = model.rest.astype(np.float64), model.faces
    weights = model.skin.dense(model.n_bones)
    for _ in range(times):
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        unique, number = np.unique(edges, axis=0, return_inverse=True)
        middle = (len(rest) + number.reshape(3, -1)).astype(np.int32)
        rest = np.concatenate([rest, rest[unique].mean(axis=1)])
        weights = np.concatenate([weights, weights[unique].mean(axis=1)])
        a, b, c = faces.T
        ab, bc, ca = middle
        faces = np.concatenate(
            [np.stack(rows, axis=1) for rows in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    slots = min(8, int((weights > 0).sum(axis=1).max()))
    bones = np.argsort(-weights, axis=1, kind="stable")[:, :slots]
    kept = np.take_along_axis(weights, bones, axis=1)
    skin = Skin(bones.astype(np.int32), (kept / kept.sum(axis=1, keepdims=True)).astype(np.float32))
    return linear_blend_model(rest.astype(np.float32), faces, skin, model.track, model.clips, name=model.name)


@inlined
def _corner(vertices: Float64, faces: Int32, t: int, i: int) -> Point:
    v = faces[t, i]
    return vertices[v, 0], vertices[v, 1], vertices[v, 2]


@compiled_by({"_nrt": False}, "f8.2r i4.2r f8.2r f8.2r f8.1")
def brute_rays(vertices: Float64, faces: Int32, origins: Float64, directions: Float64, out: Float64) -> None:
    """out (n,): distance of the first hit along unit directions (Moeller and Trumbore)."""
    for n in range(len(out)):
        o, d = (origins[n, 0], origins[n, 1], origins[n, 2]), (directions[n, 0], directions[n, 1], directions[n, 2])
        best = np.inf
        for t in range(len(faces)):
            a = _corner(vertices, faces, t, 0)
            e, f = minus(_corner(vertices, faces, t, 1), a), minus(_corner(vertices, faces, t, 2), a)
            p, s = cross(d, f), minus(o, a)
            det = dot(e, p)
            if det == 0:
                continue
            q, u = cross(s, e), dot(s, p) / det
            v, k = dot(q, d) / det, dot(f, q) / det
            if u >= 0 and v >= 0 and u + v <= 1 and 0 <= k < best:
                best = k
        out[n] = best


@compiled_by({"_nrt": False}, "f8.2r i4.2r f8.2r f8.1")
def brute_points(vertices: Float64, faces: Int32, points: Float64, out: Float64) -> None:
    """out (n,): distance of the closest point (Ericson, by the regions of the plane around a triangle)."""
    for n in range(len(out)):
        q, best = (points[n, 0], points[n, 1], points[n, 2]), np.inf
        for t in range(len(faces)):
            a, b, c = (_corner(vertices, faces, t, 0), _corner(vertices, faces, t, 1), _corner(vertices, faces, t, 2))
            ab, ac, aq = minus(b, a), minus(c, a), minus(q, a)
            d1, d2 = dot(ab, aq), dot(ac, aq)
            bq, cq = minus(q, b), minus(q, c)
            d3, d4, d5, d6 = dot(ab, bq), dot(ac, bq), dot(ab, cq), dot(ac, cq)
            vc, vb, va = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
            v = w = 0.0
            if d1 <= 0 and d2 <= 0:
                v, w = 0.0, 0.0
            elif d3 >= 0 and d4 <= d3:
                v, w = 1.0, 0.0
            elif vc <= 0 and d1 >= 0 and d3 <= 0:
                v, w = d1 / (d1 - d3) if d1 != d3 else 0.0, 0.0
            elif d6 >= 0 and d5 <= d6:
                v, w = 0.0, 1.0
            elif vb <= 0 and d2 >= 0 and d6 <= 0:
                v, w = 0.0, d2 / (d2 - d6) if d2 != d6 else 0.0
            elif va <= 0 and d4 - d3 >= 0 and d5 - d6 >= 0:
                w = (d4 - d3) / ((d4 - d3) + (d5 - d6)) if (d4 - d3) + (d5 - d6) > 0 else 0.0
                v = 1 - w
            else:
                total = va + vb + vc
                v, w = vb / total, vc / total
            off = (
                aq[0] - v * ab[0] - w * ac[0],
                aq[1] - v * ab[1] - w * ac[1],
                aq[2] - v * ab[2] - w * ac[2],
            )
            best = min(best, dot(off, off))
        out[n] = np.sqrt(best)


#: Standard deviation of the distance of points from a vertex, in diagonals.
NEAR = 0.05


def random_queries(vertices: Float32 | Float64, n: int, rng: np.random.Generator) -> dict[str, Float64]:
    """Queries around a posed surface: rays towards it, points near and far from it, planes that touch it, and radii."""
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    diagonal = float(np.linalg.norm(high - low))
    targets = rng.uniform(low, high, (n, 3))
    away = rng.normal(size=(n, 3))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    normals = rng.normal(size=(n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return {
        "origins": targets + diagonal * away,
        "directions": -away,
        "near": vertices[rng.integers(len(vertices), size=n)] + NEAR * diagonal * rng.normal(size=(n, 3)),
        "points": rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), (n, 3)),
        "normals": normals,
        "radii": 0.05 * diagonal * rng.uniform(0.1, 1, n),
        "heights": (vertices.astype(np.float64) @ normals.T).min(axis=0) + 0.02 * diagonal,
    }
