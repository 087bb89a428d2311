"""Search for bones and rank by a bound: the fewest bytes within an error, or the least error within a size.

    error bound:  minimise bytes(B, R)   subject to   E(B, R) <= bound   (and the worst distance, shading, and size)
    size bound:   minimise E(B, R)       subject to   bytes(B, R) <= bound

One fit of B bones with R corrections determines the errors of all lower ranks too, because corrections are progressive;
a fit with other bones starts from the bones of the last one. Sizes are affine in B and R for every format, so three
files written once (a model, with twice the bones, with one correction) predict them all.

The search: (1) without corrections, increase the bones by a factor of GROWTH until the bound holds, then bisect; (2)
try fewer bones with as many corrections as the best size so far allows, and truncate the unneeded ones. A bound on the
shading is met by the fewest corrections of normals in every try. For a size: (1) a geometric series of bones, each with
as many corrections as the size allows; (2) the numbers between the best and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from osteon.core.animation import BoneTrack, distinct_names
from osteon.core.character import Corrections
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import rotation_from_axis_angle
from osteon.pipeline.options import Budget, Try
from osteon.pipeline.skin import SkinFit, shade_fit, skin_sequence, truncate_fit

__all__ = ["Budget", "BudgetFit", "Try", "fit_to_budget"]

GROWTH = 1.6
#: Relative precision of the number of bones.
PRECISION = 0.08
#: Fractions of the number of bones without corrections that are tried with corrections.
FEWER = (0.7, 0.45, 0.25, 0.1)
#: Steps of the ladder for a size.
LADDER = 6
MOST_BONES = 512


@dataclass(frozen=True, slots=True)
class BudgetFit:
    """The best model, whether it meets the bound, and the steps of the search."""

    fit: SkinFit
    met: bool
    tries: tuple[Try, ...]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """bytes(B, R) = base + bone B + rank R."""

    base: float
    bone: float
    rank: float

    def of(self, bones: int, rank: int) -> float:
        return self.base + self.bone * bones + self.rank * rank

    def ranks_within(self, bones: int, limit: float) -> int:
        return int((limit - self.of(bones, 0)) // self.rank) if limit > self.of(bones, 0) else -1


def _measured(fit: SkinFit, size: int) -> Try:
    """A fit as a point of the search."""
    model, report = fit.model, fit.report
    worst, shading = float(report.worst["distance"]), report.shading_deviation_degrees["mean"]
    return Try(model.n_bones, model.rank, report.error_percent, worst, size, shading, model.normal_rank)


def _measure_sizes(model: SkinnedModel, size_of: Callable[[SkinnedModel], int]) -> _Sizes:
    """Three files: the plain model, one with twice the bones, one with a correction."""
    plain = model.with_corrections(None)
    once, shaded = size_of(plain), size_of(model.truncate(0))
    twice = size_of(plain.with_character(skeleton=None).with_animation(track=_doubled(plain.track)))
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(1, model.n_vertices, 3)).astype(np.float32)
    column = Corrections(basis, rng.normal(size=(model.n_frames, 1)).astype(np.float32))
    corrected = size_of(plain.with_corrections(column))
    bone = max(1.0, (twice - once) / model.n_bones)
    return _Sizes(shaded - bone * model.n_bones, bone, max(1.0, float(corrected - once)))


def _doubled(track: BoneTrack) -> BoneTrack:
    """Twice the bones; the second half rotated, so that no compressor finds repeated bytes."""
    rotation = rotation_from_axis_angle(np.array([1.0, 2.0, 3.0]), 0.1)
    rotated = np.einsum("ij,fbjk->fbik", rotation, track.transforms).astype(np.float32)
    names = distinct_names((*track.names, *track.names))
    return BoneTrack(np.concatenate([track.transforms, rotated], axis=1), track.bone_type, names)


class _Search:
    """The tries so far, and the best of them."""

    def __init__(
        self,
        sequence: MeshSequence,
        budget: Budget,
        options: SkinOptions,
        size_of: Callable[[SkinnedModel], int],
        on_try: Callable[[Try], None],
        progress: Progress | None,
    ) -> None:
        self.sequence, self.budget, self.options = sequence, budget, options
        self.size_of, self.on_try, self.progress = size_of, on_try, progress
        self.tries: list[Try] = []
        self.corrected: set[int] = set()  # numbers of bones that were tried with corrections
        self.last: SkinFit | None = None
        self.best: tuple[SkinFit, Try] | None = None
        self.sizes: _Sizes | None = None
        self.begun = perf_counter()

    @property
    def most_bones(self) -> int:
        distinct = len(np.unique(self.sequence.rest, axis=0))
        return max(1, min(MOST_BONES, distinct // 2, self.sequence.n_triangles))

    def attempt(self, bones: int, rank: int) -> Try:
        """Fit, truncate to the lowest rank that meets the bound, and keep the fit if it is the best."""
        wanted = replace(self.options, bones=bones, rank=rank)
        if self.budget.max_shading is not None:
            wanted = replace(wanted, normal_rank=0)  # the bound adds columns below
        self.last = skin_sequence(self.sequence, options=wanted, start=self.last, progress=self.progress)
        if self.budget.max_shading is not None:
            self.last = shade_fit(self.last, self.sequence, self.budget.max_shading, wanted)
        if self.sizes is None:
            self.sizes = _measure_sizes(self.last.model, self.size_of)
        return self._remember(self._cut(self.last))

    def _remember(self, fit: SkinFit) -> Try:
        """Report a fit, and keep it if it is the best."""
        tried = _measured(fit, self.size_of(fit.model))
        self.tries.append(tried)
        self.on_try(tried)
        if self.best is None or self._better(tried, self.best[1]):
            self.best = (fit, tried)
        return tried

    def _cut(self, fit: SkinFit) -> SkinFit:
        """The fewest corrections that keep the error bound; all of them when no error is requested or none keeps it."""
        budget = self.budget
        if fit.model.rank == 0 or not budget.bounds_error:
            return fit
        low, high = 0, fit.model.rank
        if not self._close(fit):
            return fit
        while low < high:
            middle = (low + high) // 2
            if self._close(truncate_fit(fit, self.sequence, middle)):
                high = middle
            else:
                low = middle + 1
        return truncate_fit(fit, self.sequence, high)

    def _close(self, fit: SkinFit) -> bool:
        return self.budget.close_enough(_measured(fit, 0))

    @property
    def out_of_time(self) -> bool:
        """Whether the time is up; the first try is always made."""
        return self.best is not None and self.budget.time is not None and perf_counter() - self.begun > self.budget.time

    def _better(self, new: Try, old: Try) -> bool:
        budget = self.budget
        new_met, old_met = budget.excess(new) <= 1, budget.excess(old) <= 1
        if new_met != old_met:
            return new_met
        if not new_met:
            return budget.excess(new) < budget.excess(old)
        return new.bytes < old.bytes if budget.bounds_error else new.error_percent < old.error_percent

    # -- an error is bounded ---------------------------------------------------------------------------------------
    def within_error(self) -> None:
        plain = self._fewest_bones()
        limit = float(plain.bytes) if self.budget.close_enough(plain) else np.inf
        if self.budget.max_bytes is not None:
            limit = min(limit, self.budget.max_bytes)
        for part in FEWER:
            if self.out_of_time:
                return
            bones = max(1, round(part * plain.bones))
            self._with_corrections(bones, limit)
            if self.best is not None and self.budget.excess(self.best[1]) <= 1:
                limit = min(limit, self.best[1].bytes)
        done = self.best is None or self.budget.close_enough(self.best[1]) or self.out_of_time
        if not done and self.budget.max_bytes is None:
            self.attempt(plain.bones, self.sequence.n_frames)  # as many corrections as frames are exact

    def _fewest_bones(self) -> Try:
        """Without corrections: increase until the error bound holds, then bisect."""
        low, bones, most = 0, min(self.options.bones or 8, self.most_bones), self.most_bones
        tried = self.attempt(bones, 0)
        while not self.budget.close_enough(tried) and bones < most and not self.out_of_time:
            if self.budget.max_bytes is not None and tried.bytes > self.budget.max_bytes:
                break
            if len(self.tries) > 1 and self._flat():
                break
            low, bones = bones, min(most, max(bones + 1, round(GROWTH * bones)))
            tried = self.attempt(bones, 0)
        if not self.budget.close_enough(tried):
            return tried
        while bones - low > max(1, PRECISION * bones) and not self.out_of_time:
            middle = (low + bones) // 2
            between = self.attempt(middle, 0)
            if self.budget.close_enough(between):
                bones, tried = middle, between
            else:
                low = middle
        return tried

    def _flat(self) -> bool:
        """Whether the last step gained too little to reach the bound by bones alone."""
        before, after = self.tries[-2], self.tries[-1]
        gain = np.log(max(before.error_percent, 1e-12) / max(after.error_percent, 1e-12))
        steps = np.log(max(self.budget.excess(replace(after, bytes=0)), 1.0)) / max(gain, 1e-6)
        return bool(after.bones * GROWTH**steps > 2 * self.most_bones)

    def _with_corrections(self, bones: int, limit: float) -> None:
        if self.sizes is None or bones in self.corrected:
            return
        self.corrected.add(bones)
        rank = self.sizes.ranks_within(bones, limit) if np.isfinite(limit) else self._enough_ranks()
        if rank >= 1:
            self.attempt(bones, min(rank, self._enough_ranks()))

    def _enough_ranks(self) -> int:
        return max(1, min(self.sequence.n_frames // 2, 32))

    # -- the size is bounded -----------------------------------------------------------------------------------------
    def within_size(self) -> None:
        limit = float(self.budget.max_bytes or 0)
        self.attempt(min(8, self.most_bones), 0)
        sizes = self.sizes
        if sizes is None:
            return
        most = int(np.clip((limit - sizes.base) // sizes.bone, 1, self.most_bones))
        ladder = sorted({int(b) for b in np.unique(np.geomspace(1, most, LADDER).round())})
        for bones in ladder:
            if not self.out_of_time:
                self._fill(bones, limit)
        for _ in range(2):
            best = self.best[1].bones if self.best is not None else 1
            tried = sorted({t.bones for t in self.tries})
            at = tried.index(best)
            gaps = [(tried[at - 1] + best) // 2] if at > 0 else []
            gaps += [(best + tried[at + 1]) // 2] if at + 1 < len(tried) else []
            for bones in gaps:
                if bones not in tried and bones <= most and not self.out_of_time:
                    self._fill(bones, limit)

    def _fill(self, bones: int, limit: float) -> None:
        """This many bones with as many corrections as fit; fewer if the file turns out larger."""
        if self.sizes is None:
            return
        rank = max(0, min(self.sizes.ranks_within(bones, limit), self.sequence.n_frames))
        tried = self.attempt(bones, rank)
        while not self.budget.small_enough(tried) and tried.rank > 0 and self.last is not None:
            over = -(-(tried.bytes - limit) // self.sizes.rank)
            tried = self._remember(truncate_fit(self.last, self.sequence, max(0, tried.rank - max(1, int(over)))))


def fit_to_budget(
    sequence: MeshSequence,
    budget: Budget,
    *,
    size_of: Callable[[SkinnedModel], int],
    options: SkinOptions | None = None,
    on_try: Callable[[Try], None] = lambda _: None,
    progress: Progress | None = None,
) -> BudgetFit:
    """Find bones and rank; `size_of` writes a model in its final format and returns the bytes."""
    options = options or SkinOptions()
    if budget.max_shading is not None and options.normal_rank >= 0:
        raise OptionError("normal_rank: a bound on the shading finds it itself; omit --normal-rank")
    if budget.max_shading is not None and options.normals == "faceted":
        raise OptionError("max_shading: facets have no normals to bound; omit it, or choose other --normals")
    search = _Search(sequence, budget, options, size_of, on_try, progress)
    if budget.bounds_error:
        search.within_error()
    else:
        search.within_size()
    assert search.best is not None  # both searches start with a fit
    fit, best = search.best
    return BudgetFit(fit, budget.excess(best) <= 1, tuple(search.tries))
