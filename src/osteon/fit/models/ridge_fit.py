"""Families that are linear in the contents of their slots, fitted vertex by vertex to given bones.

    for each vertex:   minimise over c   sum_f || Phi_f c - (x^f - start^f) ||^2 + lambda || c ||^2

c is the change of a slot from its start: the linear blend skin ("ssd"), or the smallest contents that reproduce the
rest pose ("zero"). The paper's own form, without that constraint and with all bones, is `as_printed.py`. A family
defines Phi (`SlotSystem`). All vertices share one lambda, that of the least deviation of held-out poses. The start must
not depend on these either, so the skin is refitted for every fold to the other poses; given that skin, the held-out
residuals are exact without another fit (ridge.py).

| symbol | name |
| --- | --- |
| Phi    | features (n,s,m,p): s separate systems of m equations per vertex |
| lambda | strength |
| x      | targets of the problem |

Based on: Reid and Jacka, Mesh Approximation for Animated Characters, sections 3.1 and 4, figure 3.
Differs from the paper: started from a skin, which generalises better; lambda by cross-validation, not manually.

Notes. 25 rigid bones, 10 training poses (4 of horseposes and cheburashka, 3 of the cow); RMS of the others over that of
the skin with 4 influences >= 0, and in brackets the same ratio for the angle of normals.
|             | Animation Space | Multi-Weight  |             | Animation Space | Multi-Weight  |
| horse       | 0.788 (0.620)   | 0.774 (0.626) | flag        | 0.966 (0.976)   | 0.983 (0.988) |
| clothhorse  | 0.584 (0.475)   | 0.519 (0.434) | horseposes  | 0.992 (0.971)   | 0.994 (0.979) |
| chicken     | 0.880 (0.783)   | 0.938 (0.913) | cow         | 1.000 (1.000)   | 1.000 (1.000) |
| elasticcow  | 0.963 (0.921)   | 0.984 (0.970) | cheburashka | 0.999 (0.993)   | 1.000 (1.000) |
| bone        | 0.683 (0.547)   | 0.835 (0.704) |             |                 |               |
Towards the smallest contents that reproduce the rest pose: Animation Space 0.78 on the horse, 0.91 on the chicken;
Multi-Weight 1.03 and 2.19. With lambda 1e-6 it is the closest of all on the training poses, 0.017 of the skin's RMS,
and 1.08 on the others.
Horse, 2.1 s of processor time for both families together, all lambdas and folds.

Experiments on 1,200 vertices of the horse. The start of the folds has the largest effect. With one skin of all ten
poses lambda is as large as allowed, because that skin was fitted to the held-out poses too: Animation Space 0.95. With
a separate skin for every fold 0.78; the minimum over all lambdas is 0.71. One lambda per vertex: 0.77, but 1.00 instead
of 0.97 on the elastic cow, and Multi-Weight 1.01 on horseposes. Of lambdas with equal deviations the largest is chosen:
three poses do not determine it, and the best by chance raised the cow to 1.002 and its normals to 1.05. Further slots
by the distance to the bones' vertices in the rest pose 0.78, by their error alone (as here) the same, but on the
chicken 0.87 instead of 0.93; 4 slots 0.79.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import numpy as np

from osteon.core.arrays import Float64, Int64, IntArray
from osteon.core.character import Deformer, Skeleton
from osteon.core.errors import OptionError
from osteon.core.parallel import available_threads, for_blocks, single_threaded_blas
from osteon.core.progress import FitReport
from osteon.fit.corrections.columns import blend_frames
from osteon.fit.models.registry import ModelFit, ModelFitOptions
from osteon.fit.models.ridge import RidgePath, solve_ridge
from osteon.fit.moments import squared_errors
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import MAX_INFLUENCES, Influences, select_influences

#: Features per block of vertices, which bounds the memory.
BLOCK_NUMBERS = 2_000_000
#: Largest number of folds; each holds out a run of neighbouring poses, because frames of one clip are similar.
FOLDS = 10
#: Deviations that differ by at most this fraction are equal.
ALIKE = 1e-3
#: A gain on held-out poses below this part is chance: cheburashka's, of 1.1 %, was a loss of 0.5 % on unseen poses.
WORTH = 0.012
#: Vertices in the choice of lambda.
SAMPLE = 1_000


@dataclass(frozen=True, slots=True)
class RidgeOptions:
    """Options of the fit of a family to given bones."""

    towards: Literal["ssd", "zero"] = "ssd"  # the limit of an infinite lambda
    slots: int = 8  # bones per vertex, 1 … 8
    all_bones: bool = False  # every vertex has a slot for every bone, in the order of the bones
    strength: float | None = None  # lambda > 0, in problem units; None: the best of `strengths` for held-out poses
    strengths: tuple[float, ...] = tuple(float(x) for x in np.logspace(-6, 2, 17))
    reference: Literal["bone", "world"] = "bone"  # axes of Multi-Weight; Animation Space has none
    skeleton: Skeleton | None = None  # joints in input units, for models as printed
    seed: int = 0  # of the sampled vertices
    threads: int = 0  # 0: all

    def __post_init__(self) -> None:
        if self.towards not in ("ssd", "zero"):
            raise OptionError(f"towards: expected 'ssd' or 'zero', got {self.towards!r}")
        if self.reference not in ("bone", "world"):
            raise OptionError(f"reference: expected 'bone' or 'world', got {self.reference!r}")
        if not 1 <= self.slots <= MAX_INFLUENCES:
            raise OptionError(f"slots: expected 1 … {MAX_INFLUENCES}, got {self.slots}")
        strengths = self.strengths if self.strength is None else (self.strength,)
        if not strengths or not all(value > 0 for value in strengths):
            raise OptionError("strength: expected numbers above 0")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Deviation by lambda, RMS in percent of the rest pose's diagonal: the data of the paper's figure 3."""

    strengths: Float64  # (l,)
    training: Float64  # (l,) of the poses that were fitted
    held_out: Float64  # (l,) of held-out poses
    start_training: float  # the same of the start of the fit
    start_held_out: float

    @property
    def best(self) -> float:
        """The largest lambda whose held-out deviation equals the least one.

        Infinite, which keeps the start, if no lambda improves on the start by WORTH.
        """
        if self.held_out.min() > (1 - WORTH) * self.start_held_out:
            return float(np.inf)
        return float(self.strengths[self.held_out <= (1 + ALIKE) * self.held_out.min()].max())


@dataclass(frozen=True, slots=True)
class RidgeFit:
    """A fitted family for the vertices of the problem, in input units."""

    deformer: Deformer
    errors: Float64  # (v,) squared, in the problem's units
    strength: float
    sweep: Sweep | None  # None if lambda was given
    report: FitReport


class SlotSystem(Protocol):
    """Equations of a family for some vertices (n,), linear in the contents of slots."""

    rows_a_pose: ClassVar[int]

    def features(self, vertices: Int64) -> Float64:
        """(n,s,m,p) Phi; the equations of a pose are adjacent."""
        ...

    def local(self, vertices: Int64, positions: Float64) -> Float64:
        """(n,s,m) right sides of the equations, from positions (n,f,3)."""
        ...

    def zero(self, vertices: Int64) -> Float64:
        """(n,s,m) the result of the smallest slots that reproduce the rest pose."""
        ...

    def deformer(self, weights: Float64 | None, coefficients: Float64) -> Deformer:
        """The deformer of solutions (v,s,p) added to weights (v,k) of the skin, or to `zero`, in input units."""
        ...


#: Makes the system of a family from a problem, bones (f,b,3,4) and the slots (v,k) and weights (v,k) of the skin.
MakeSystem = Callable[[FitProblem, Float64, Int64, Float64, RidgeOptions], SlotSystem]


def fit_slots(
    problem: FitProblem,
    transforms: Float64,
    ssd: Influences,
    make: MakeSystem,
    options: RidgeOptions,
    groups: IntArray | None = None,
) -> RidgeFit:
    """Fit a family to bones (f,b,3,4) in problem units, starting from a linear blend skin of the same bones.

    Poses of one group (f,) are held out together, because nearly equal poses do not test each other.
    """
    begin = time.perf_counter()
    options = replace(options, threads=available_threads(options.threads))
    with single_threaded_blas():
        bones, weights = choose_slots(problem, transforms, ssd, options)
        work = _Work(problem, transforms, make(problem, transforms, bones, weights, options), options)
        strength, sweep = options.strength, None
        if strength is None:
            sweep = _sweep(work, ssd, _folds(problem.n_frames, groups))
            strength = sweep.best
        coefficients, errors = _solve_all(work, ssd, strength)
    found = work.system.deformer(weights if options.towards == "ssd" else None, coefficients)
    report = FitReport("model", time.perf_counter() - begin, 1, history=(problem.error_percent(errors),))
    return RidgeFit(found, errors, strength, sweep, report)


class FitFamily(Protocol):
    """`fit_slots` for one family."""

    def __call__(
        self, problem: FitProblem, transforms: Float64, ssd: Influences, options: RidgeOptions, /
    ) -> RidgeFit: ...


def fit_given_bones(fit: FitFamily, problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> ModelFit:
    """The fit of `osteon skin`: fixed bones, and twice as many slots as the skin has bones per vertex."""
    ssd = select_influences(problem, transforms, options.influences, thorough=True, threads=options.threads)
    slots = min(MAX_INFLUENCES, 2 * options.influences)
    found = fit(problem, transforms, ssd, RidgeOptions(slots=slots, seed=options.seed, threads=options.threads))
    options.on_round(1.0, problem.error_percent(found.errors))
    return ModelFit(found.deformer, transforms, found.errors, found.report)


def choose_slots(
    problem: FitProblem, transforms: Float64, ssd: Influences, options: RidgeOptions
) -> tuple[Int64, Float64]:
    """(v,k) bones and weights: those of the skin, then the bones with the least single-bone error, with weight 0."""
    dense = ssd.dense(transforms.shape[1])
    if options.all_bones:
        return np.tile(np.arange(dense.shape[1]), (len(dense), 1)), dense
    used = int((dense != 0).sum(axis=1).max(initial=0))
    if used > options.slots:
        raise OptionError(f"slots: the skin has {used} bones per vertex, more than {options.slots} slots")
    alone = squared_errors(problem, transforms, options.threads)
    order = np.lexsort((alone, -np.abs(dense)), axis=1)[:, : options.slots]
    return np.ascontiguousarray(order, np.int64), np.take_along_axis(dense, order, axis=1)


def fold_labels(n_poses: int) -> Int64:
    """(f,) the fold of each pose: single poses, or runs of neighbours if there are many."""
    return np.arange(n_poses, dtype=np.int64) * min(n_poses, FOLDS) // n_poses


def _folds(n_poses: int, groups: IntArray | None) -> list[Int64]:
    """The poses of every group."""
    labels = fold_labels(n_poses) if groups is None else np.asarray(groups)
    if labels.shape != (n_poses,):
        raise OptionError(f"groups: expected one for each of {n_poses} poses, got {labels.shape}")
    folds = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    if len(folds) < 2:
        raise OptionError("groups: expected two or more, because each is held out once; or set strength")
    return folds


@dataclass(frozen=True, slots=True)
class _Work:
    """Data that all steps of a fit share."""

    problem: FitProblem
    transforms: Float64
    system: SlotSystem
    options: RidgeOptions

    @property
    def block(self) -> int:
        """Number of vertices per block."""
        slots = self.transforms.shape[1] if self.options.all_bones else self.options.slots
        return max(1, min(256, BLOCK_NUMBERS // (12 * self.problem.n_frames * slots)))

    def start_residual(self, vertices: Int64, bones: Int64, weights: Float64) -> Float64:
        """(n,s,m) residual of the start of the fit: a skin with bones and weights (n,k), or `zero`."""
        problem, system = self.problem, self.system
        targets = problem.targets[vertices].astype(np.float64).reshape(len(vertices), -1, 3)
        if self.options.towards == "zero":
            return system.local(vertices, targets) - system.zero(vertices)
        blends = np.empty((len(vertices), problem.n_frames, 3, 4))
        blend_frames(bones, weights, self.transforms, blends)
        start = np.einsum("vfij,vj->vfi", blends, problem.points[vertices])
        return system.local(vertices, targets) - system.local(vertices, start)


def _sweep(work: _Work, ssd: Influences, folds: list[Int64]) -> Sweep:
    """Deviations of some vertices for all strengths."""
    problem, options = work.problem, work.options
    chosen = problem.sampled_vertices(SAMPLE, options.seed)
    vertices = np.arange(problem.n_vertices) if chosen is None else chosen.astype(np.int64)
    whole = Influences(ssd.bones[vertices], ssd.weights[vertices], ssd.errors[vertices])
    skins = [whole] * len(folds)
    if options.towards == "ssd":
        few = problem.subset(vertices.astype(np.int32))
        skins = [_skin_without(few, work.transforms, fold, ssd, options.threads) for fold in folds]
    squares = _deviations(work, vertices, [*skins, whole], folds)
    diagonal = float(np.linalg.norm(np.ptp(problem.points[:, :3], axis=0)))
    rms = 100 * np.sqrt(squares / (len(vertices) * problem.n_frames)) / diagonal
    return Sweep(np.array(options.strengths), rms[0, 1:], rms[1, 1:], float(rms[0, 0]), float(rms[1, 0]))


def _skin_without(problem: FitProblem, transforms: Float64, fold: Int64, ssd: Influences, threads: int) -> Influences:
    """A skin like `ssd`, fitted without the poses of a fold."""
    kept = np.setdiff1d(np.arange(problem.n_frames), fold)
    targets = problem.targets.reshape(problem.n_vertices, -1, 3)[:, kept].reshape(problem.n_vertices, -1)
    energy = (targets.astype(np.float64) ** 2).sum(axis=1)
    others = replace(problem, targets=targets, energy=energy, frame_centers=problem.frame_centers[kept])
    return select_influences(others, transforms[kept], ssd.bones.shape[1], thorough=True, threads=threads)


def _deviations(work: _Work, vertices: Int64, skins: list[Influences], folds: list[Int64]) -> Float64:
    """(2,l+1) squared deviations of fitted and held-out poses: of the start, then for every lambda.

    `skins` of these vertices: one fitted without each fold, and that of all poses.
    """
    strengths, rows_a_pose, block = work.options.strengths, work.system.rows_a_pose, work.block
    parts = np.zeros((-(-len(vertices) // block), 2, len(strengths) + 1))

    def deviate(start: int, stop: int) -> None:
        some, out = vertices[start:stop], parts[start // block]
        path = RidgePath.of(_flat(work.system.features(some)))
        starts = [_flat(work.start_residual(some, skin.bones[start:stop], skin.weights[start:stop])) for skin in skins]
        out[0] = [np.square(starts[-1]).sum(), *(np.square(path.residuals(starts[-1], s)).sum() for s in strengths)]
        for fold, left in zip(folds, starts[:-1], strict=True):
            rows = (rows_a_pose * fold[:, None] + np.arange(rows_a_pose)).ravel()
            out[1, 0] += np.square(left[:, rows]).sum()
            out[1, 1:] += [np.square(unseen).sum() for unseen in path.held_out_residuals(left, rows, strengths)]

    for_blocks(deviate, len(vertices), block, work.options.threads)
    total: Float64 = parts.sum(axis=0)
    return total


def _solve_all(work: _Work, ssd: Influences, strength: float) -> tuple[Float64, Float64]:
    """(v,s,p) solutions and (v,) squared errors of all vertices for one lambda."""
    n_vertices = work.problem.n_vertices
    shape = work.system.features(np.arange(1)).shape
    coefficients, errors = np.empty((n_vertices, shape[1], shape[3])), np.empty(n_vertices)

    def solve(start: int, stop: int) -> None:
        some = np.arange(start, stop)
        features, residual = work.system.features(some), work.start_residual(some, ssd.bones[some], ssd.weights[some])
        solved = solve_ridge(_flat(features), _flat(residual), strength).reshape(len(some), shape[1], shape[3])
        coefficients[start:stop] = solved
        left = residual - np.matmul(features, solved[..., None])[..., 0]
        errors[start:stop] = np.square(left).sum(axis=(1, 2))

    for_blocks(solve, n_vertices, work.block, work.options.threads)
    return coefficients, errors


def _flat(systems: Float64) -> Float64:
    """All systems of all vertices in one axis."""
    return systems.reshape(-1, *systems.shape[2:])
