"""The stages of `osteon light`: transfer of key frames, compression, colours, coarser meshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.apply.light.coarse import coarse_light
from osteon.apply.light.compress import CompressedTransfer, Float16, compress_transfer
from osteon.apply.light.environment import seen_environment
from osteon.apply.light.harmonics import rotate_sh
from osteon.apply.light.model_light import Y00, BakedColors, Environment, GroundLight, ModelLight
from osteon.apply.light.nmf import progressive_factors
from osteon.apply.light.options import LightColorOptions, LightOptions
from osteon.apply.light.precompute import (
    GROUND_REACH,
    FrameFolder,
    KeyTransfers,
    LightPlan,
    axes_with,
    between_keys,
    transfer_of_keys,
)
from osteon.apply.light.rays import TracerName
from osteon.apply.light.shade import LUMINANCE, light_colors, seen_coefficients
from osteon.apply.light.vertex_frames import bone_rotations, vertex_rotations
from osteon.core.arrays import Float32, Float64
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel, StoredLevels, VertexColors
from osteon.core.options import takes_options
from osteon.core.parallel import single_threaded_blas
from osteon.core.progress import Progress, report_progress

DEFAULT_LIGHT_OPTIONS = LightOptions()


@dataclass(frozen=True, slots=True)
class LightRun:
    """How a run is carried out; the result does not depend on it."""

    folder: Path | None = None  # of finished frames, from which a run that was stopped continues
    rays: TracerName = "auto"


DEFAULT_RUN = LightRun()


@takes_options(LightOptions)
def fit_light(
    model: SkinnedModel,
    environments: Sequence[Environment] = (),
    *,
    options: LightOptions = DEFAULT_LIGHT_OPTIONS,
    levels: StoredLevels | None = None,
    run: LightRun = DEFAULT_RUN,
    progress: Progress | None = None,
) -> ModelLight:
    """Precomputed light of a model, and of the coarser meshes of its levels.

    `environments` are stored beside it; the first is that of the baked colours.
    """
    if options.baked and not environments:
        raise OptionError("baked: colours need an environment; name one")
    plan = LightPlan.of(model, options)
    folder = None if run.folder is None else FrameFolder(run.folder)
    keys = transfer_of_keys(plan, folder=folder, rays=run.rays, progress=progress)
    with single_threaded_blas():
        report_progress(progress, "compress", 0.0)
        transfer = _compressed(plan, keys.transfer)
        light = ModelLight(options.bands, options.up, transfer, _seen(options), _ground(plan, keys))
        light = replace(light, environments=() if options.occlusion else tuple(environments))
        if options.baked:
            report_progress(progress, "compress", 0.5)
            light = replace(light, baked=bake_colors(plan, keys, light))
        report_progress(progress, "compress", 1.0)
    return light if levels is None else light_with_levels(model, light, levels)


def light_with_levels(model: SkinnedModel, light: ModelLight, levels: StoredLevels) -> ModelLight:
    """The light of a model with that of the coarser meshes of its levels."""
    meshes = [character.mesh for character in levels.coarse]
    return replace(light, coarse=tuple(coarse_light(model.mesh, mesh, light.transfer, light.baked) for mesh in meshes))


def _seen(options: LightOptions) -> Float32:
    up = axes_with(options.up)[2] if options.ground else None
    return seen_environment(options.bands, up, options.albedo if options.bounces else 0.0)


def _compressed(plan: LightPlan, transfer: Float32) -> CompressedTransfer:
    """Transfer of the key frames (k,n,c), compressed, with coefficients for all frames."""
    found = compress_transfer(transfer, plan.options.rank)
    return replace(found, coefficients=between_keys(found.coefficients, plan.keys, plan.model.clips))


def _ground(plan: LightPlan, keys: KeyTransfers) -> GroundLight | None:
    if keys.ground is None or plan.centers is None:
        return None
    half = GROUND_REACH * plan.diagonal
    centers = plan.centers.astype(np.float32)
    return GroundLight(_compressed(plan, keys.ground), centers, half, plan.options.ground_points)


def lit_key_colors(plan: LightPlan, keys: KeyTransfers, light: ModelLight) -> tuple[Float64, Float64 | None]:
    """(k,n,3) the colours of the points in the key frames under the first environment, and (k,g,3) of the ground."""
    seen = seen_coefficients(light, light.environments[0])
    skin, own = plan.model.deformer.bone_weights(), plan.model.mesh.vertex_of_normal
    colors = np.empty((*keys.transfer.shape[:2], 3))
    for number, frame in enumerate(plan.keys):
        turned = vertex_rotations(skin, plan.rotations[frame])[own]
        colors[number] = np.maximum(0, rotate_sh(keys.transfer[number], turned) @ seen)
    whole = light.environments[0].coefficients[: len(seen)].astype(np.float64)
    ground = None if keys.ground is None else np.maximum(0, keys.ground @ whole)
    return colors, ground


def bake_colors(plan: LightPlan, keys: KeyTransfers, light: ModelLight) -> BakedColors:
    """Non-negative factors of the colours of all points, at ranks 1 … the rank of the light."""
    colors, ground = lit_key_colors(plan, keys, light)
    if plan.options.monochrome:
        colors = (colors @ LUMINANCE)[..., None]
        ground = None if ground is None else (ground @ LUMINANCE)[..., None]
    rows = colors.reshape(len(colors), -1)
    if ground is not None:
        rows = np.concatenate([rows, ground.reshape(len(ground), -1)], axis=1)
    found = progressive_factors(rows, max(1, plan.options.rank))
    size = colors[0].size
    weights = np.stack([between_keys(own, plan.keys, plan.model.clips) for own in found.weights])

    def part(values: Float64, shape: tuple[int, ...]) -> Float16:
        kept: Float16 = values.reshape(len(values), *shape).astype(np.float16)
        return kept

    under = None if ground is None else part(found.rows[:, size:], ground.shape[1:])
    return BakedColors(weights, part(found.rows[:, :size], colors.shape[1:]), under, found.errors)


def shown_colors(
    model: SkinnedModel, light: ModelLight, options: LightColorOptions, *, morphed: bool
) -> tuple[VertexColors, ...]:
    """The colours of the model for stock players, and the static ones of its coarser meshes."""
    if options.colors == "none":
        return ()
    found = _occlusion_colors(light) if light.is_occlusion else _lit_colors(model, light, options.exposure)
    return tuple(found if morphed else [one.static() for one in found])


def _occlusion_colors(light: ModelLight) -> list[VertexColors]:
    def three(values: NDArray[Any]) -> Float32:
        return np.repeat(values[..., :1].astype(np.float32) / np.float32(Y00), 3, axis=-1)

    transfer = light.transfer
    base = np.clip(three(transfer.mean), 0, 1)
    found = [VertexColors(base, three(transfer.basis), transfer.coefficients, lit=True)]
    return found + [_static(np.clip(three(one.mean), 0, 1), lit=True) for one in light.coarse]


def _static(base: NDArray[Any], *, lit: bool) -> VertexColors:
    """Colours (n,3) that do not change."""
    return VertexColors(base, np.zeros((0, *base.shape), np.float32), np.zeros((1, 0), np.float32), lit)


#: Frames whose colours are averaged where none are baked.
_SAMPLED = 24


def _lit_colors(model: SkinnedModel, light: ModelLight, exposure: float | Literal["auto"]) -> list[VertexColors]:
    """The baked colours around their mean; without them, the mean under the first environment."""
    if light.baked is None:
        if not light.environments:
            raise OptionError("colors: vertices have no colours without an environment; name one, or use --colors none")
        rotations = bone_rotations(model)
        frames = np.unique(np.linspace(0, model.n_frames - 1, _SAMPLED).astype(np.int64))
        each = [light_colors(model, light, light.environments[0], float(f), rotations=rotations) for f in frames]
        base = np.mean(each, axis=0)
        scale = exposure if exposure != "auto" else 1 / max(float(base.max(initial=0.0)), 1e-12)
        # The transfer of a coarse mesh has no frames of its own here: its mean, in the rest pose.
        seen = seen_coefficients(light, light.environments[0])
        coarse = [np.maximum(0, one.mean.astype(np.float64) @ seen) for one in light.coarse]
        return [_static(scale * part, lit=False) for part in (base, *coarse)]
    baked, weights = light.baked, light.baked.weights[-1].astype(np.float64)
    mean = weights.mean(axis=0)
    brightest = max(float(baked.at(f).max(initial=0.0)) for f in range(model.n_frames))
    scale = exposure if exposure != "auto" else 1 / max(brightest, 1e-12)

    def three(values: NDArray[Any]) -> Float32:
        return np.broadcast_to(scale * values.astype(np.float32), (*values.shape[:-1], 3))

    columns = three(baked.colors)
    found = [VertexColors(np.tensordot(mean, columns, axes=1), columns, (weights - mean).astype(np.float32))]
    coarse_colors = [one.colors for one in light.coarse if one.colors is not None]
    return found + [_static(np.tensordot(mean, three(own), axes=1), lit=False) for own in coarse_colors]


@dataclass(frozen=True, slots=True)
class RankRow:
    """Error and size of the transfer with so many columns."""

    rank: int
    error_percent: float  # relative root mean square of the transfer
    ground_percent: float | None  # of the ground's
    baked_percent: float | None  # of the colours under the first environment
    bytes: int  # of the model's transfer in a file


def rank_rows(light: ModelLight) -> list[RankRow]:
    """The table of ranks."""
    per_column = 2 * light.transfer.mean.size + 4 * light.n_frames
    ground = () if light.ground is None else light.ground.transfer.errors
    baked = () if light.baked is None else (None, *light.baked.errors)

    def percent(errors: Sequence[float | None], rank: int) -> float | None:
        found = errors[min(rank, len(errors) - 1)] if errors else None
        return None if found is None else 100 * found

    return [
        RankRow(
            rank,
            100 * error,
            percent(ground, rank),
            percent(baked, rank),
            2 * light.transfer.mean.size + rank * per_column,
        )
        for rank, error in enumerate(light.transfer.errors)
    ]
