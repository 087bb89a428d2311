"""Precomputed light: exactness, comparison with Mitsuba 3, compression, time, and the page's shader.

- Unblocked transfer against integrals of the sky, on a convex body.
- `light_reference`: a sphere over a plane and the horse in three poses against Mitsuba 3.
- Compression of the horse's 24 distinct frames in the bones' frames, compared with the same in the world's.
- Non-negative factors of lit colours, compared with the best of any sign and with scikit-learn's.
- Time of the precomputation, and of rays by our tree compared with Embree's in the same run.
- `light_page`: the page's shader against Python.

Without the data, the built-in fox takes the place of the horse, and bounds that are the horse's are omitted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from osteon.apply.light.compress import compress_transfer
from osteon.apply.light.environment import SKIES, project_sky, seen_environment
from osteon.apply.light.harmonics import n_coefficients, rotate_sh, sh_basis, spiral_directions
from osteon.apply.light.model_light import ModelLight
from osteon.apply.light.nmf import best_errors, factor_nonnegative, first_factors, progressive_factors, update_factors
from osteon.apply.light.options import LightOptions
from osteon.apply.light.precompute import FrameFolder, KeyTransfers, LightPlan, transfer_of_keys
from osteon.apply.light.rays import EmbreeTracer, Tracer, TreeTracer, has_embree
from osteon.apply.light.scene import OFFSET, LitScene, ShadedPoints, rays_of_points
from osteon.apply.light.shade import LUMINANCE
from osteon.apply.light.transfer import frame_transfer
from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.parallel import single_threaded_blas
from osteon.core.progress import ProgressEvent
from osteon.core.skin_options import SkinOptions
from osteon.core.topology import bounding_diagonal
from osteon.synth.shapes import make_sphere
from osteon_bench.light_reference import reference_rows
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, horse_or_fox

#: The horse's frames repeat after these.
DISTINCT = 24
BONES = 30
#: Relative RMS of transfer in % by rank, at most, and its ratio to the same in the frame of the world.
TRANSFER, OF_WORLD = {5: 7.0, 10: 4.5, 20: 1.7}, 0.75
#: Error of non-negative factors over that of the singular value decomposition, by rank, at most.
NONNEGATIVE = {5: 1.2, 10: 1.45}
#: Seconds for 24 frames of the horse, order 4, 512 directions, on two cores.
SECONDS = 60.0
#: Rounds in which factors are compared with scikit-learn's.
EQUAL_ROUNDS = 50


def bench_light(run: BenchRun) -> list[Row]:
    """All rows."""
    sequence = horse_or_fox(run)
    is_horse = sequence.name == "horse"
    run.report(f"{sequence.name}: skin")
    from osteon.pipeline.skin import skin_sequence

    fitted = skin_sequence(sequence, options=SkinOptions(bones=BONES, threads=run.threads)).model
    model = fitted.take_frames(np.arange(min(DISTINCT, fitted.n_frames), dtype=np.int32))
    rows = exact_rows()
    plan, keys, timed = time_rows(run, model, is_horse)
    rows += timed + ray_rows(run, plan)
    rows += transfer_rows(plan, keys, is_horse) + factor_rows(run, plan, keys, is_horse)
    return rows + resume_rows(run, plan) + reference_rows(run, model) + _page_rows(run, model)


def exact_rows() -> list[Row]:
    """Unblocked points of a convex body against sums over a dense sphere of directions."""
    egg = make_sphere(3, 1.0).scaled((1.0, 1.6, 0.7))
    normals = vertex_normals(egg.vertices, egg.faces)
    rotations = _random_rotations(len(normals))
    shaded = ShadedPoints(egg.vertices, normals, rotations)
    scene = LitScene(egg.vertices, egg.faces, shaded, egg.faces, bounding_diagonal(egg.vertices))
    rows, directions = [], spiral_directions(1 << 15)
    for order in (3, 4, 5):
        found = frame_transfer(scene, LightOptions(order=order, ground=False))
        transfer = rotate_sh(found.transfer, rotations)
        worst = 0.0
        for sky in SKIES.values():
            light = project_sky(sky).coefficients[: n_coefficients(order)].astype(np.float64)
            radiance = sh_basis(directions, order) @ light
            irradiance = np.maximum(0, normals @ directions.T) @ radiance * (4 / len(directions))
            worst = max(worst, float(np.abs(transfer @ light - irradiance).max() / irradiance.max()))
        rows.append(at_most(f"convex body, order {order}", "unblocked, off analytic irradiance", worst, 1e-3))
    return rows


def _random_rotations(count: int) -> Float64:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.random(count, random_state=np.random.default_rng(0)).as_matrix())


def time_rows(run: BenchRun, model: SkinnedModel, is_horse: bool) -> tuple[LightPlan, KeyTransfers, list[Row]]:
    """The precomputation by both kinds of rays; progress is reported after every few frames."""
    run.report(f"{model.name}: precompute")
    events: list[ProgressEvent] = []
    rows, about = [], f"{model.name}, {model.n_frames} frames, order 4, 512 directions"
    plan = LightPlan.of(model, LightOptions(ground=False, threads=run.threads))
    keys = None
    for name in ("embree", "tree"):
        if name == "embree" and not has_embree():
            run.report_missing("embreex is not installed; run: pip install 'osteon[light]'")
            continue
        begin, used = time.perf_counter(), time.process_time()
        keys = transfer_of_keys(plan, rays=name, progress=events.append)  # type: ignore[arg-type]
        seconds, cores = time.perf_counter() - begin, time.process_time() - used
        row = at_most if is_horse and name == "embree" else None
        what = f"precomputation with {name} (s)"
        rows.append(figure(about, what, seconds) if row is None else row(about, what, seconds, SECONDS))
        rows.append(figure(about, f"the same, processor time over time ({name})", cores / seconds))
    rows.append(figure(about, "reports of progress", len(events)))
    assert keys is not None
    return plan, keys, rows


def ray_rows(run: BenchRun, plan: LightPlan) -> list[Row]:
    """Occlusion of all points of a pose, by turns, on one thread."""
    if not has_embree():
        return []
    run.report("rays by our tree and by Embree")
    scene = plan.scene(min(5, plan.model.n_frames - 1)).centered()
    local = spiral_directions(512)
    blocks = list(rays_of_points(scene.shaded, local, OFFSET * scene.diagonal))
    tree, embree = TreeTracer(scene.vertices, scene.faces), EmbreeTracer(scene.vertices, scene.faces)

    def trace(tracer: Tracer) -> list[Any]:
        return [tracer.any_hits(rays.origins, rays.directions) for rays in blocks]

    times = np.array([[_seconds(partial(trace, tracer)) for tracer in (tree, embree)] for _ in range(5)])
    ours, theirs = times.min(axis=0)
    apart = sum(int((a != b).sum()) for a, b in zip(trace(tree), trace(embree), strict=True))
    count = sum(len(rays.origins) for rays in blocks)
    return [
        at_most("rays", "time of our tree over Embree's, one thread", ours / theirs, 2.0),
        figure("rays", "our tree (µs per ray)", 1e6 * ours / count),
        at_most("rays", "rays that differ, of a million", 1e6 * apart / count, 10),
    ]


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def transfer_rows(plan: LightPlan, keys: KeyTransfers, is_horse: bool) -> list[Row]:
    """Error by rank in the bones' frames, and over that in the frame of the world."""
    own = compress_transfer(keys.transfer, len(plan.keys))
    there = [
        rotate_sh(transfer, plan.scene(int(frame)).shaded.rotations)
        for frame, transfer in zip(plan.keys, keys.transfer, strict=True)
    ]
    world = compress_transfer(np.stack(there), len(plan.keys))
    rows = []
    for rank, bound in TRANSFER.items():
        if rank >= len(own.errors):
            continue
        about, error = f"{plan.model.name}, transfer at rank {rank}", 100 * own.errors[rank]
        what, ratio = "relative RMS, %", own.errors[rank] / world.errors[rank]
        rows.append(at_most(about, what, error, bound) if is_horse else figure(about, what, error))
        over = "over that in the frame of the world"
        rows.append(at_most(about, over, ratio, OF_WORLD) if is_horse else figure(about, over, ratio))
    return rows


def factor_rows(run: BenchRun, plan: LightPlan, keys: KeyTransfers, is_horse: bool) -> list[Row]:
    """Non-negative factors of lit colours over the singular value decomposition, and beside scikit-learn's."""
    rows: list[Row] = []
    for sky in SKIES:
        run.report(f"{plan.model.name}: factors under {sky}")
        colors = _lit_colors(plan, keys, sky)
        for channels, matrix in (("RGB", colors.reshape(len(colors), -1)), ("luminance", colors @ LUMINANCE)):
            with single_threaded_blas():
                best_of = best_errors(matrix, max(NONNEGATIVE))
                ladder = progressive_factors(matrix, max(NONNEGATIVE))
                for rank, bound in NONNEGATIVE.items():
                    best = float(best_of[rank - 1])
                    error = factor_nonnegative(matrix, rank).error(matrix)
                    about = f"{plan.model.name}, {sky}, {channels}, rank {rank}"
                    rows.append(figure(about, "relative RMS of non-negative factors, %", 100 * error))
                    what = "over that of any sign"
                    ratio = error / best
                    rows.append(at_most(about, what, ratio, bound) if is_horse else figure(about, what, ratio))
                    what, ratio = f"the same, the first {rank} of progressive rows", ladder.errors[rank - 1] / best
                    rows.append(at_most(about, what, ratio, bound) if is_horse else figure(about, what, ratio))
                worst = max(error / best for error, best in zip(ladder.errors, best_of, strict=False))
                about = f"{plan.model.name}, {sky}, {channels}, rank 1 to {max(NONNEGATIVE)}"
                rows.append(figure(about, "largest ratio of progressive rows", worst))
    return rows + _agreement_rows(run, colors @ LUMINANCE)


def _lit_colors(plan: LightPlan, keys: KeyTransfers, sky: str) -> Float64:
    """(k,n,3) colours of all key frames."""
    from osteon.pipeline.light import lit_key_colors

    transfer = compress_transfer(keys.transfer, 0)
    seen = seen_environment(plan.options.order, None)
    light = ModelLight(plan.options.order, "y", transfer, seen, environments=(project_sky(SKIES[sky], name=sky),))
    return lit_key_colors(plan, keys, light)[0]


def _agreement_rows(run: BenchRun, matrix: Float64) -> list[Row]:
    if find_spec("sklearn") is None:
        run.report_missing("scikit-learn is not installed; run: pip install 'osteon[bench]'")
        return []
    import warnings

    from sklearn.decomposition import NMF

    weights, rows = first_factors(matrix, 10)
    peer = NMF(10, init="custom", solver="cd", max_iter=EQUAL_ROUNDS, tol=0)
    with warnings.catch_warnings(), single_threaded_blas():
        warnings.simplefilter("ignore")  # it has not converged
        theirs = peer.fit_transform(matrix, W=weights.copy(), H=rows.copy()) @ peer.components_
        for _ in range(EQUAL_ROUNDS):
            update_factors(matrix, weights, rows)
    apart = float(np.abs(weights @ rows - theirs).max() / matrix.max())
    return [at_most(f"factors after {EQUAL_ROUNDS} rounds", "apart from scikit-learn's, of the brightest", apart, 1e-9)]


def resume_rows(run: BenchRun, plan: LightPlan) -> list[Row]:
    """A run that finds finished frames computes only the others, and returns the same."""
    from dataclasses import replace

    run.report("resume")
    short = replace(plan, keys=plan.keys[:4])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "frames"
        first = transfer_of_keys(replace(plan, keys=plan.keys[:2]), folder=FrameFolder(folder))
        again = FrameFolder(folder)
        resumed = transfer_of_keys(short, folder=again)
        same = np.array_equal(first.transfer, resumed.transfer[:2])
        again.remove()
        left = folder.exists()
    return [
        at_most("resume", "finished frames that were computed again", 2 - len(again.found), 0),
        at_most("resume", "results that differ, or files that are left", int(not same) + int(left), 0),
    ]


def _page_rows(run: BenchRun, model: SkinnedModel) -> list[Row]:
    """Rows of the page's shader, for a few frames of the model."""
    if find_spec("osteon_bench.light_page") is None:
        return []
    from osteon.pipeline.light import fit_light

    run.report(f"{model.name}: the page's shader")
    few = model.take_frames(np.arange(min(6, model.n_frames), dtype=np.int32))
    environments = [project_sky(function, name=name) for name, function in SKIES.items()]
    light = fit_light(few, environments, options=LightOptions(baked=True, rank=5, threads=run.threads))
    found: list[Row] = import_module("osteon_bench.light_page").shader_rows(run, model.name, few, light)
    return found
