"""The models that can be compared on the same bones, by what `osteon compare --models` calls them.

A contestant is fitted on training poses, with bones and linear blend weights that are given:

    fit(problem, transforms, influences, options) -> an object with `deformer`, `sweep` where it tried strengths, and
                                                     `displacement` where something is added to the rest pose

| argument | what |
| --- | --- |
| problem    | the training poses, welded vertices |
| transforms | (f,b,3,4) rigid bones of these poses, in the problem's units; they stay as they are |
| influences | the linear blend skin of these bones |
| options    | what the contestant's line says, with seed and threads |

`deformer` is of the problem's vertices and takes bones in the units of the input, as those of a `SkinnedModel` do.
`sweep` tells what regularisation of several strengths gave: `pulls` (l,), RMS of the poses fitted, `training` (l,), and
of poses that a fit of that strength did not see, `left_out` (l,), both in percent of the diagonal.

A new contestant is a line in `CONTESTANTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from osteon.core.arrays import Float64
from osteon.core.deformer import Deformer, Displacement
from osteon.core.errors import OptionError
from osteon.core.skeleton import Skeleton
from osteon.fit.models.model_fit import ModelFitOptions
from osteon.fit.problem import FitProblem

if TYPE_CHECKING:  # compiled: the command line asks for the words alone
    from osteon.fit.skin.influences import Influences

__all__ = [
    "BASELINE",
    "CONTESTANTS",
    "Contestant",
    "ContestantFit",
    "ContestantSweep",
    "contest_dual_quaternion",
    "contest_linear_blend",
    "find_contestants",
]

#: What the others are measured against.
BASELINE = "ssd"


@dataclass(frozen=True, slots=True)
class ContestantSweep:
    """What regularisation of several strengths gave, weakest first; RMS in percent of the diagonal."""

    strengths: tuple[float, ...]  # lambda
    training: tuple[float, ...]  # of the poses that were fitted
    left_out: tuple[float, ...]  # of poses that a fit of that strength did not see


@dataclass(frozen=True, slots=True)
class ContestantFit:
    """A fitted contestant."""

    deformer: Deformer
    sweep: ContestantSweep | None = None
    displacement: Displacement | None = None  # what is added to the rest pose, if anything, in units of the input


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model that takes part, and what posing a vertex costs."""

    title: str
    place: str  # module:function
    multiply_adds_a_slot: int  # for every bone of a vertex
    multiply_adds_a_vertex: int = 0  # besides
    options: str = "osteon.fit.models.model_fit:ModelFitOptions"  # module:class of its options
    settings: tuple[tuple[str, Any], ...] = ()  # of its options, besides seed and threads
    only_if_named: bool = False  # not among all
    follows_joints: bool = False  # its options want the skeleton

    def fit(
        self,
        problem: FitProblem,
        transforms: Float64,
        influences: Influences,
        *,
        skeleton: Skeleton,
        seed: int,
        threads: int,
    ) -> ContestantFit:
        """The deformer for bones that are given, its sweep and its displacement, if there are any."""
        wanted = {"skeleton": skeleton} if self.follows_joints else {}
        options = _find(self.options)(seed=seed, threads=threads, **wanted, **dict(self.settings))
        found: Any = _find(self.place)(problem, transforms, influences, options)
        return ContestantFit(found.deformer, _sweep_of(found), getattr(found, "displacement", None))

    def multiply_adds(self, n_slots: int, columns: float = 0.0) -> int:
        """Multiplications and additions that take a vertex to its place; three for each of its columns."""
        return self.multiply_adds_a_slot * n_slots + self.multiply_adds_a_vertex + round(3 * columns)


def _find(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _sweep_of(found: Any) -> ContestantSweep | None:
    sweep = getattr(found, "sweep", None)
    if sweep is None:
        return None
    columns = (sweep.pulls, sweep.training, sweep.left_out)
    rows = sorted(zip(*(map(float, column) for column in columns), strict=True))
    strengths, training, left_out = zip(*rows, strict=True)
    return ContestantSweep(strengths, training, left_out)


# Linear blending sums matrices (12 a slot) and applies the sum (9). Dual quaternions sum 8 numbers and compare signs
# (4), then divide by the length, make a matrix of them and apply it. Multi-Weight also turns into its bone's frame.
# EigenSkin adds columns to the rest position of linear blending, three multiply-adds each.
# As the paper prints them, weights are drawn towards zero, and those of Multi-Weight are of matrices in world axes.
_RIDGE = "osteon.fit.models.ridge_fit:RidgeOptions"
_AS, _MWE = "osteon.fit.models.animation_space:fit_animation_space", "osteon.fit.models.multi_weight:fit_multi_weight"
_EIGENSKIN, _JOINTS = (
    "osteon.fit.models.eigenskin:contest_eigenskin",
    "osteon.fit.models.eigenskin:SkeletonOptions",
)
CONTESTANTS: dict[str, Contestant] = {
    "ssd": Contestant("linear blending (SSD)", "osteon.fit.models.contestants:contest_linear_blend", 12, 9),
    "dqs": Contestant("dual quaternions", "osteon.fit.models.contestants:contest_dual_quaternion", 12, 53),
    "mwe": Contestant("Multi-Weight Enveloping", _MWE, 12, 27, _RIDGE),
    "as": Contestant("Animation Space", _AS, 12, 0, _RIDGE),
    "mwe-zero": Contestant(
        "Multi-Weight as printed", _MWE, 12, 9, _RIDGE, (("towards", "zero"), ("reference", "world"))
    ),
    "eigenskin": Contestant("EigenSkin", _EIGENSKIN, 12, 9, _JOINTS, follows_joints=True),
    "as-zero": Contestant("Animation Space as printed", _AS, 12, 0, _RIDGE, (("towards", "zero"),), only_if_named=True),
}


def find_contestants(words: Sequence[str] = ()) -> dict[str, Contestant]:
    """The contestants of these words in their order, or all; refuses words that nobody answers to."""
    known = ", ".join(CONTESTANTS)
    for i, word in enumerate(words):
        if word not in CONTESTANTS:
            raise OptionError(f"models: no model is called {word!r}; known are {known}")
        if word in words[:i]:
            raise OptionError(f"models: {word} is named twice")
    all_of_them = [word for word, contestant in CONTESTANTS.items() if not contestant.only_if_named]
    return {word: CONTESTANTS[word] for word in words or all_of_them}


def contest_linear_blend(
    problem: FitProblem, transforms: Float64, influences: Influences, options: ModelFitOptions
) -> ContestantFit:
    """The skin that came with the bones."""
    from osteon.deform.linear_blend import LinearBlend

    return ContestantFit(LinearBlend(influences.to_skin()))


def contest_dual_quaternion(
    problem: FitProblem, transforms: Float64, influences: Influences, options: ModelFitOptions
) -> ContestantFit:
    """Dual quaternions, weights of their own: as many a vertex as the linear blend skin has."""
    from osteon.fit.models.dual_quaternion import fit_dual_quaternion

    kept = replace(options, influences=influences.bones.shape[1], keep_bones=True)
    return ContestantFit(fit_dual_quaternion(problem, transforms, kept).deformer)
