"""Near-rigid sections: more than there are bones, then merged and pruned until each has a core of vertices.

    minimise over starts:   E sections

Each start is a set of rigid bones, more than the body has: a whole skin (`fit/skin/refine.py`), splitting, and the
clusters of mean shift. Its weights become local on the surface (`local_skin.py`), pieces away from a bone's core become
bones, and until nothing changes:
- **merge** two sections whose relative rotation is below MERGE_ROTATION on the vertices of the smaller one, or whose
  motion differs there by less than TOGETHER of the diagonal;
- **prune** helpers: sections that share almost all their vertices (fewer than CORE of all have a weight above ALONE) or
  with fewer than FEWEST vertices;
- refine the rest for a few rounds.
A requested number of sections stops the pruning there, or prunes further, smallest core first. To the best start
sections are added where the error is largest, as long as that lowers the objective. Once the sections are known, the
costs of distance are relaxed: they have done their work, and cost accuracy.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, section 2.2, rigid sections.
Differs from the paper: sections share vertices, so the motion at bends is fitted too.

Notes. Mean body handle and mixed joints (`measure/skeleton_score.py`) of six quadrupeds whose legs move alike, found
on 60 frames of ten clips: sections that are not local, one start: 0.67, 20; local: 0.66, 11 (three of them); starts of
50, 80 and 120 seeds as well: 0.85, 5; with the sides of the tree: 0.89, 0; with the whole skin as a start and joints
that translate: 0.92, 2. Pruned by the growth of the error without the section (1 % of the diagonal) instead of the
core: 0.70, 13. Seeds alone lose the Fox (E of the free sections 1.6 %; 0.96 % from a whole skin, 0.58 % after
additions). Costs in the last rounds by SETTLED instead of SETTLED_SMALL: RiggedFigure in the pose of frame 0 0.34 %
instead of 0.29 % (free), body handle 0.81 instead of 0.83; CesiumMan there, precision 0.79 instead of 0.84. By
SETTLED_SMALL on the horse: articulated over free 1.32 instead of 1.28. The root of the number of sections instead of
their number: the same sections on five skinned characters; 41 instead of 34 joints, E 2.57 % instead of 2.63 %, on the
built-in creature, which bends everywhere.

Joints within 5 % of the diagonal of a joint of the rig that rotates (precision, recall), without local weights. Pruned
by core: CesiumMan 0.94, 1.0; RiggedFigure 1, 1; Soldier 1, 1; Fox 0.89, 0.94; cow 0.88, 1.0. By the growth of the
error (0.3 %): 0.89, 1.0; 1, 1; 0.95, 1.0; 0.70, 0.94; 0.74, 1.0: a thigh costs less than a helper at a knee. All
small cores at once instead of a quarter in a round: as good, except for the Fox. Fewer than four vertices fit any
rotation: RiggedFigure's three at the top of the head were a separate bone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.parallel import available_threads
from osteon.fit.problem import FitProblem
from osteon.fit.skeleton.local_skin import LocalFit, LocalSkin
from osteon.fit.skeleton.pair_joints import PairJoints, measure_pairs
from osteon.fit.skeleton.surface_graph import SurfaceGraph
from osteon.fit.skin.bones import bones_of_labels, place_bones, removal_costs
from osteon.fit.skin.influences import Influences
from osteon.fit.skin.refine import RefineOptions, refine_skin

#: Sections whose relative rotation is less than this, in degrees, are merged.
MERGE_ROTATION = 5.0
#: Sections are merged if the vertices of the smaller move by less than this, of the diagonal, in the other's motion.
TOGETHER = 2e-3
#: Sections whose vertices would move by more than this are never merged.
FAR = 0.02
#: Weight above which a vertex is in the core of a section, and least core, of all vertices.
ALONE, CORE = 0.6, 3e-3
#: Fewer vertices than this, counted by weight, do not determine a rotation.
FEWEST = 4.0
#: Largest fraction of sections removed per round, and rounds of refinement after it.
LEAVING, ROUNDS = 0.25, 6
#: Meshes of at most SMALL vertices have few per part of the body: fewer sections are removed per round, and sections
#: whose removal would move their vertices by NEEDED of the diagonal stay, whatever their core.
SMALL, LEAVING_SMALL, NEEDED = 1_000, 0.1, 0.01
#: Rounds of the final refinement, on a sample and on all vertices.
LAST_ROUNDS, SETTLING_ROUNDS = 8, 24
#: Factor of the costs of distance once the sections are known, on meshes that are sampled and on smaller ones, whose
#: long edges leave little room within the reach.
SETTLED, SETTLED_SMALL = 0.2, 0.05
FEW_ROUNDS = 3
#: Vertices of the sample for all but the last rounds.
SAMPLE = 4_000
#: Sections that are added at once where the error is largest, and how often.
REGROWN, REGROWTHS = 4, 4
#: Rounds of pruning in which pieces may become sections.
SPLITTING = 3


@dataclass(frozen=True, slots=True)
class SectionOptions:
    """Options of the search for rigid sections."""

    count: int = 0  # exactly this many; 0: as many as have a core
    influences: int = 4
    seed: int = 0
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Sections:
    """Rigid sections of a problem."""

    transforms: Float64  # (f,b,3,4) in the problem's units
    influences: Influences


def first_count(found: int, wanted: int) -> int:
    """The initial number of sections, from the count of mean shift or the requested number."""
    return max(round(1.5 * wanted), wanted + 2) if wanted else 2 * found + 8


def find_sections(
    problem: FitProblem,
    graph: SurfaceGraph,
    starts: list[Float64],
    *,
    options: SectionOptions | None = None,
    on_round: Callable[[float, float], None] = lambda fraction, error_percent: None,
) -> Sections:
    """Sections from starts (f,b,3,4) with surplus sections; `on_round` receives the progress and E %."""
    options = options or SectionOptions()
    chosen = problem.sampled_vertices(SAMPLE, options.seed)
    coarse = problem if chosen is None else problem.subset(chosen)
    fit = LocalFit(coarse, graph.reduced(chosen), options.influences, options.threads)
    refine = RefineOptions(bone_type="rigid", influences=options.influences, seed=options.seed, threads=options.threads)
    alike = [start for start in starts if start.shape[1] == starts[0].shape[1]]
    skins = []
    for number, start in enumerate([refine_skin(coarse, alike, options=refine).transforms, *starts]):

        def on_prune(fraction: float, error_percent: float, number: int = number) -> None:
            on_round((number + fraction) / (len(starts) + 2), error_percent)

        skin = fit.run(fit.split_pieces(fit.run(fit.begin(start), ROUNDS)), ROUNDS)
        skins.append(_pruned(fit, skin, options, on_prune))
    best = min(skins, key=lambda skin: _quality(fit, skin))
    if not options.count:
        best = _regrown(
            fit, best, options, lambda fraction, error: on_round(1 - (1 - fraction) / (len(starts) + 2), error)
        )
    settled = SETTLED_SMALL if chosen is None else SETTLED
    fit = LocalFit(coarse, fit.graph, options.influences, options.threads, settled)
    best = fit.run(best, SETTLING_ROUNDS, thorough=chosen is None)
    if chosen is None:
        return Sections(best.transforms, best.influences)
    whole = LocalFit(problem, graph, options.influences, options.threads, settled)
    weights = np.zeros((problem.n_vertices, best.n_bones))
    weights[chosen] = best.dense()
    costs = whole.costs(whole.spread(weights, chosen))
    done = LocalSkin(best.transforms, whole.weights(best.transforms, costs, None))
    done = whole.run(done, LAST_ROUNDS, thorough=True)
    return Sections(done.transforms, done.influences)


def _pruned(
    fit: LocalFit, skin: LocalSkin, options: SectionOptions, on_round: Callable[[float, float], None]
) -> LocalSkin:
    """Merge and prune until nothing changes; pieces may become sections in the first rounds."""
    done = 0
    while True:
        on_round(done / (done + FEW_ROUNDS), fit.error_percent(skin))
        left = _fewer(fit.problem, skin.transforms, skin.influences, options)
        if left is None:
            return skin
        transforms, weights = left
        skin = LocalSkin(transforms, fit.weights(transforms, fit.costs(weights), None))
        skin = fit.run(skin, FEW_ROUNDS)
        if not options.count and done < SPLITTING:
            skin = fit.split_pieces(skin)
        done += 1


def _quality(fit: LocalFit, skin: LocalSkin) -> float:
    """The quality of a start, which is minimised: E times the number of sections."""
    return fit.error_percent(skin) * skin.n_bones


def _regrown(
    fit: LocalFit, skin: LocalSkin, options: SectionOptions, on_round: Callable[[float, float], None]
) -> LocalSkin:
    """The sections with new ones where the error is largest, as long as that is worth it."""
    for _ in range(REGROWTHS):
        everywhere = np.ones(fit.problem.n_vertices, np.bool_)
        added = place_bones(fit.problem, skin.influences, REGROWN, everywhere, fit.threads)
        transforms = np.concatenate([skin.transforms, added], axis=1)
        weights = np.concatenate([skin.dense(), np.zeros((len(everywhere), added.shape[1]))], axis=1)
        grown = LocalSkin(transforms, fit.weights(transforms, fit.costs(weights), None))
        grown = _pruned(fit, fit.run(grown, ROUNDS), options, on_round)
        if _quality(fit, grown) >= _quality(fit, skin):
            break
        skin = grown
    return skin


def _fewer(
    problem: FitProblem, transforms: Float64, influences: Influences, options: SectionOptions
) -> tuple[Float64, Float64] | None:
    """Sections and weights for their cores after one round of merging and pruning; None if nothing changes."""
    n_sections, points = transforms.shape[1], problem.points[:, :3]
    if n_sections <= max(1, options.count):
        return None
    most = n_sections - options.count if options.count else n_sections - 1
    weights = influences.dense(n_sections)
    pairs = measure_pairs(points, transforms, weights, distant=False)
    into = np.arange(n_sections)
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    gone = _merge(_differences(problem, transforms, weights, pairs) / diagonal, weights, pairs, into, most)
    careful = not options.count and len(points) <= SMALL
    room = min(most, max(1, int((LEAVING_SMALL if careful else LEAVING) * n_sections)))
    few = weights.sum(axis=0) < FEWEST
    core = (weights > ALONE).mean(axis=0)
    core[few | (core * len(points) < FEWEST)] = 0
    if careful:
        needed = _costs(problem, transforms, influences, weights) > NEEDED * diagonal
        core = np.where(needed & ~few, 1.0, core)
    _prune(core, _close(weights, pairs), gone, into, room, always=bool(options.count))
    if not gone.any():
        return None
    kept = np.flatnonzero(~gone)
    out: Float64 = transforms[:, kept].copy()
    joined = np.isin(kept, into[into != np.arange(n_sections)])
    summed = np.stack([weights[:, into == section].sum(axis=1) for section in kept], axis=1)
    if joined.any():
        labels = np.where(summed.max(axis=1) >= 0.5, summed.argmax(axis=1), -1)
        whole = bones_of_labels(problem, labels, len(kept), available_threads(options.threads))
        out[:, joined] = whole[:, joined]
    return out, summed


def _merge(apart: Float64, weights: Float64, pairs: PairJoints, into: Int64, most: int) -> np.ndarray:
    """Mask of sections merged into another (`into`, updated), at most `most`, in disjoint pairs."""
    gone = np.zeros(len(into), np.bool_)
    busy = gone.copy()
    rotated = np.maximum(pairs.swings / MERGE_ROTATION, apart / FAR)
    measure = np.minimum(rotated, apart / TOGETHER)
    for n in np.argsort(measure, kind="stable"):
        if measure[n] >= 1 or gone.sum() >= most:
            break
        large, small = sorted(pairs.pairs[n].tolist(), key=lambda section: -weights[:, section].sum())
        if not (busy[large] or busy[small]):
            into[small], gone[small] = large, True
            busy[[large, small]] = True
    return gone


def _differences(problem: FitProblem, transforms: Float64, weights: Float64, pairs: PairJoints) -> Float64:
    """(n,) RMS displacement of the smaller section's vertices under the other's motion."""
    moments = np.einsum("vb,vi,vj->bij", weights, problem.points, problem.points, optimize=True)
    a, b = pairs.pairs.T
    mass = moments[:, 3, 3]
    small = np.where(mass[a] <= mass[b], a, b)
    apart = transforms[:, a] - transforms[:, b]
    squared = np.einsum("fnij,njk,fnik->n", apart, moments[small], apart, optimize=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0) / np.maximum(mass[small], 1e-12) / len(transforms)))


def _costs(problem: FitProblem, transforms: Float64, influences: Influences, weights: Float64) -> Float64:
    """(b,) upper bound of the RMS growth of the error of each section's vertices without it."""
    growth = np.maximum(removal_costs(problem, transforms, influences, 1), 0)
    return np.asarray(np.sqrt(growth / np.maximum(weights.sum(axis=0), 1e-12) / problem.n_frames))


def _close(weights: Float64, pairs: PairJoints) -> np.ndarray:
    """(b,b) whether the first section shares many of its vertices with the second."""
    shared = np.zeros((weights.shape[1], weights.shape[1]))
    shared[tuple(pairs.pairs.T)] = pairs.shared
    out: np.ndarray = shared + shared.T > 0.3 * (weights**2).sum(axis=0)[:, None]
    return out


def _prune(core: Float64, close: np.ndarray, gone: np.ndarray, into: Int64, room: int, *, always: bool) -> None:
    """Mark sections with too small a core as gone, smallest first; with `always` also larger ones.

    Of two sections that share most of their vertices only one goes, because its vertices may become the other's core.
    """
    for section in np.argsort(core, kind="stable"):
        if gone.sum() >= room or (core[section] >= CORE and not always):
            break
        merged = gone[section] or np.count_nonzero(into == section) > 1
        if not (merged or gone[close[section]].any()):
            gone[section] = True
    if always and not gone.any():
        gone[core.argmin()] = True
