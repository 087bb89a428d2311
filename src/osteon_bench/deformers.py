"""The families of deformers: a twisted bar, agreement with the papers, error and cost.

- A square bar, twisted by 170 degrees in its middle by two bones: the least relative area of a cross-section.
- Dual quaternion blends against quaternion products written from the paper (`screws_by_products`).
- The horse with every model that `osteon skin` offers, rigid bones: E, time beside linear blending, cost of posing.
"""

from __future__ import annotations

import time
from typing import get_args

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.skin_options import SkinModel, SkinOptions
from osteon.deform.registry import DEFORMERS, deformer_class
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun, horse_or_fox

TWIST = 170.0
SECTIONS = 41
BONES = 30
#: Least relative cross-section with dual quaternions, and largest deviation from the paper's products.
KEPT, AGREEMENT = 0.9, 1e-12
POSES = 5


def bench_deformers(run: BenchRun) -> list[Row]:
    """All rows."""
    return [*_twisted(), *_agreement(), *_skinned(run)]


def twisted_bar() -> tuple[Float64, Skin, Float64]:
    """A square bar along x (v,3), weights of two bones that share its middle, and the bones (1,2,3,4), one twisted."""
    x = np.linspace(0, 1, SECTIONS)
    square = 0.1 * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    bar = np.concatenate([np.repeat(x, 4)[:, None], np.tile(square, (SECTIONS, 1))], axis=1)
    second = np.repeat(np.clip((x - 0.25) / 0.5, 0, 1), 4)
    weights = np.stack([1 - second, second], axis=1).astype(np.float32)
    cos, sin = np.cos(np.radians(TWIST)), np.sin(np.radians(TWIST))
    bones = np.zeros((1, 2, 3, 4))
    bones[0, 0, :, :3] = np.eye(3)
    bones[0, 1, :, :3] = [[1, 0, 0], [0, cos, -sin], [0, sin, cos]]
    return bar, Skin(np.tile(np.array([0, 1], np.int32), (len(bar), 1)), weights), bones


def narrowest_section(points: Float64) -> float:
    """The least area of a cross-section of the bar."""
    y, z = points.reshape(SECTIONS, 4, 3)[..., 1], points.reshape(SECTIONS, 4, 3)[..., 2]
    areas = 0.5 * np.abs((y * np.roll(z, -1, axis=1) - z * np.roll(y, -1, axis=1)).sum(axis=1))
    return float(areas.min())


def _twisted() -> list[Row]:
    from osteon.deform.pose import pose_points

    bar, skin, bones = twisted_bar()
    rows = []
    for kind in DEFORMERS:
        deformer = deformer_class(kind).from_skin(skin)
        posed = pose_points(deformer, bar[None], bones)[0].astype(np.float64)
        kept = narrowest_section(posed) / narrowest_section(bar)
        metric = f"narrowest cross-section, of the whole, {kind}"
        case = f"bar twisted by {TWIST:g} degrees"
        rows.append(at_least(case, metric, kept, KEPT) if kind == "dual_quaternion" else figure(case, metric, kept))
    return rows


def screws_by_products(point: Float64, bones: Float64, weights: Float64) -> Float64:
    """(3,) a point by DLB, from products of quaternions w x y z alone: bones (k,3,4), weights (k,)."""
    from scipy.spatial.transform import Rotation

    reals = np.roll(Rotation.from_matrix(bones[:, :, :3]).as_quat(), 1, axis=1)
    duals = np.stack(
        [0.5 * _product(np.array([0.0, *bone[:, 3]]), real) for bone, real in zip(bones, reals, strict=True)]
    )
    signs = np.where(reals @ reals[int(weights.argmax())] < 0, -1.0, 1.0)
    real, dual = (signs * weights) @ reals, (signs * weights) @ duals
    real, dual = real / np.linalg.norm(real), dual / np.linalg.norm(real)
    back = real * [1, -1, -1, -1]
    moved: Float64 = _product(_product(real, np.array([0.0, *point])), back)[1:] + 2 * _product(dual, back)[1:]
    return moved


def _product(a: Float64, b: Float64) -> Float64:
    """Hamilton's product of quaternions w x y z."""
    vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *vector])


def _agreement() -> list[Row]:
    from scipy.spatial.transform import Rotation

    from osteon.deform.pose import blends_of

    rng = np.random.default_rng(0)
    rotations = Rotation.from_rotvec(rng.normal(0, 2, (12, 3))).as_matrix()
    transforms = np.concatenate([rotations, rng.normal(size=(12, 3, 1))], axis=2)
    bones = np.stack([rng.permutation(12)[:4] for _ in range(400)]).astype(np.int32)
    skin = Skin(bones, rng.dirichlet(np.ones(4), 400).astype(np.float32))
    points = rng.normal(size=(400, 3))
    blends = blends_of(
        deformer_class("dual_quaternion").from_arrays({"bones": bones, "weights": skin.weights}), transforms
    )
    ours = np.einsum("vij,vj->vi", blends[..., :3], points) + blends[..., 3]
    weights = skin.weights.astype(np.float64)
    theirs = [screws_by_products(points[v], transforms[bones[v]], weights[v]) for v in range(len(points))]
    return [
        at_most("dual quaternions", "largest distance from products", float(np.abs(ours - theirs).max()), AGREEMENT)
    ]


def _skinned(run: BenchRun) -> list[Row]:
    from osteon.deform.pose import pose_frames
    from osteon.pipeline.skin import skin_sequence

    sequence = horse_or_fox(run)
    case = f"{sequence.name}, {BONES} rigid bones"
    rows: list[Row] = []
    linear = (1.0, 1.0)
    for model in get_args(SkinModel):
        run.report(f"{sequence.name}: {model}")
        options = SkinOptions(model=model, bones=BONES, bone_type="rigid", threads=run.threads)
        skin_sequence(sequence.take_frames(np.arange(4, dtype=np.int32)), options=options)  # compiles
        fit = skin_sequence(sequence, options=options)
        pose_frames(fit.model)
        started = time.perf_counter()
        for _ in range(POSES):
            pose_frames(fit.model, threads=run.threads)
        taken = (fit.report.seconds["fit"], time.perf_counter() - started)
        linear = taken if model == "lbs" else linear
        rows += [
            figure(case, f"E %, {model}", fit.report.error_percent),
            figure(case, f"time of the fit over lbs, {model}", taken[0] / linear[0]),
            figure(case, f"time of posing over lbs, {model}", taken[1] / linear[1]),
        ]
        if fit.report.quality.fallback_error_percent is not None:
            rows.append(figure(case, f"E % of the fallback, {model}", fit.report.quality.fallback_error_percent))
    return rows
