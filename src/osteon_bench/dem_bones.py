"""Dem Bones 1.2, from PyPI's `py-dem-bones` (extra `[bench]`), and a search for its best options.

Its options, by our names:

| Dem Bones | here | default |
| --- | --- | --- |
| transAffine, transAffineNorm | `affine`, `affine_norm`: regularisation of bones towards a translation | 10, 4 |
| weightsSmooth | `smooth`: strength of the smoothing of weights over the mesh | 1e-4 |
| nIters | `iterations` | 30 |
| nnz | influences, as in the comparison | 8 |

All bones of Dem Bones are rigid. The search is a coordinate descent over the options on some of the frames, and then
raises the iterations while that lowers the error; the result is evaluated on all frames.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace

import numpy as np

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import linear_blend_model


@dataclass(frozen=True, slots=True)
class DemBonesOptions:
    """See the table above."""

    affine: float = 10.0
    affine_norm: float = 4.0
    smooth: float = 1e-4
    iterations: int = 30

    def values(self) -> dict[str, float]:
        """By their names in Dem Bones."""
        return dict(zip(_NAMES, astuple(self), strict=True))

    def text(self) -> str:
        """The differences from the defaults."""
        usual = DEFAULTS.values()
        return ", ".join(f"{n} {v:g}" for n, v in self.values().items() if v != usual[n]) or "defaults"


_NAMES = ("transAffine", "transAffineNorm", "weightsSmooth", "nIters")
DEFAULTS = DemBonesOptions()
#: Results of a search by sequence. On the horse it ended at 100 iterations; 300 are taken from the other sequences.
MOST_ACCURATE: Mapping[str, DemBonesOptions] = {
    "horse": DemBonesOptions(affine=0.0, iterations=300),
    "elasticcow": DemBonesOptions(affine=0.0, iterations=300),
    "clothhorse": DemBonesOptions(affine=0.0, iterations=300),
}
#: Values tried of each option that costs no time, and then of the one that does.
TRIED: Mapping[str, tuple[float, ...]] = {
    "affine": (10.0, 3.0, 1.0, 0.0),
    "smooth": (1e-3, 1e-4, 1e-6, 0.0),
    "affine_norm": (4.0, 2.0),
}
ITERATIONS = (100, 300)
#: Vertices times frames used by the search.
SAMPLE = 120_000
#: Least reduction of E by which a value is accepted.
GAIN = 0.005


@dataclass(frozen=True, slots=True)
class PeerFit:
    """Time and error of a fit."""

    seconds: float
    error_percent: float
    bones: int


def run_dem_bones(
    sequence: MeshSequence, bones: int, options: DemBonesOptions = DEFAULTS, influences: int = 4
) -> PeerFit:
    """One fit, with its error measured in the same way as ours."""
    rest, frames = sequence.rest.astype(np.float64), sequence.frames.astype(np.float64)
    start = time.perf_counter()
    weights, transforms = _solve(sequence, bones, options, influences)
    seconds = time.perf_counter() - start
    posed = _play(rest, weights, transforms)
    error = 100 * np.linalg.norm(frames - posed) / np.linalg.norm(frames - frames.mean(axis=0))
    return PeerFit(seconds, float(error), len(weights))


def dem_bones_model(
    sequence: MeshSequence, bones: int, options: DemBonesOptions = DEFAULTS, influences: int = 4
) -> SkinnedModel:
    """The result of one fit, to be written by our writers."""
    weights, transforms = _solve(sequence, bones, options, influences)
    slots = np.argsort(-weights, axis=0, kind="stable")[:influences].T
    kept = np.take_along_axis(weights.T, slots, axis=1)
    skin = Skin(slots.astype(np.int32), (kept / kept.sum(axis=1, keepdims=True)).astype(np.float32))
    return linear_blend_model(
        sequence.rest,
        sequence.faces,
        skin,
        BoneTrack(transforms[:, :, :3].astype(np.float32), "rigid"),
        sequence.clips,
        asset=sequence.asset,
        name=sequence.name,
    )


def _solve(sequence: MeshSequence, bones: int, options: DemBonesOptions, influences: int) -> tuple[Float64, Float64]:
    """Weights (b,v) and transforms (f,b,4,4)."""
    import py_dem_bones as dem

    rest, frames = sequence.rest.astype(np.float64), sequence.frames.astype(np.float64)
    solver = dem._py_dem_bones.DemBones()
    for name, value in options.values().items():
        setattr(solver, name, value)
    found = dem.solve_skinning(
        rest,
        frames,
        bones,
        faces=sequence.faces.tolist(),
        max_influences=influences,
        iterations=options.iterations,
        solver=solver,
    )
    return found.weights, found.transforms


def _play(rest: Float64, weights: Float64, transforms: Float64) -> Float64:
    """Linear blend skinning of weights (b,v) and transforms (f,b,4,4), in plain NumPy."""
    points = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    posed: Float64 = np.einsum("bv,fbij,vj->fvi", weights, transforms[:, :, :3], points, optimize=True)
    return posed


def search_options(error_of: Callable[[DemBonesOptions], float]) -> DemBonesOptions:
    """The options of least error found by changing one at a time from the defaults."""
    found: dict[DemBonesOptions, float] = {}

    def error(options: DemBonesOptions) -> float:
        if options not in found:
            found[options] = error_of(options)
        return found[options]

    best = _descend(DEFAULTS, error)
    for iterations in ITERATIONS:
        longer = replace(best, iterations=iterations)
        if error(longer) > (1 - GAIN) * error(best):
            break
        best = longer
    return best


def _descend(best: DemBonesOptions, error: Callable[[DemBonesOptions], float]) -> DemBonesOptions:
    """Change one option after the other until none lowers the error."""
    before = None
    while best != before:
        before = best
        for name, values in TRIED.items():
            if name == "affine_norm" and best.affine == 0.0:
                continue  # it has no effect
            for value in values:
                tried = replace(best, **{name: value})  # type: ignore[arg-type]
                if error(tried) < (1 - GAIN) * error(best):
                    best = tried
    return best


def thinned(sequence: MeshSequence) -> MeshSequence:
    """Every n-th frame, for the size of the search; at least eight frames."""
    wanted = max(8, SAMPLE // len(sequence.rest))
    step = max(1, sequence.n_frames // wanted)
    return MeshSequence(sequence.frames[::step], sequence.faces, sequence.rest, name=sequence.name)
