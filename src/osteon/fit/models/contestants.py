"""The models that can be compared on the same bones, by what `osteon compare --models` calls them.

A contestant is fitted on training poses, with bones and linear blend weights that are given:

    fit(problem, transforms, influences, options) -> an object with `deformer`, and `sweep` where it tried strengths

| argument | what |
| --- | --- |
| problem    | the training poses, welded vertices |
| transforms | (f,b,3,4) rigid bones of these poses, in the problem's units; they stay as they are |
| influences | the linear blend skin of these bones |
| options    | seed, threads, influences |

`deformer` is of the problem's vertices and takes bones in the units of the input, as those of a `SkinnedModel` do.
`sweep` lists what regularisation of several strengths gave: objects with `strength` and `error`, the error on poses
that a fit of that strength did not see.

A new contestant is a line in `CONTESTANTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from osteon.core.arrays import Float64
from osteon.core.deformer import Deformer
from osteon.core.errors import OptionError
from osteon.fit.models.model_fit import ModelFitOptions
from osteon.fit.problem import FitProblem

if TYPE_CHECKING:  # compiled: the command line asks for the words alone
    from osteon.fit.skin.influences import Influences

__all__ = [
    "BASELINE",
    "CONTESTANTS",
    "Contestant",
    "ContestantFit",
    "SweepPoint",
    "contest_dual_quaternion",
    "contest_linear_blend",
    "find_contestants",
]

#: What the others are measured against.
BASELINE = "ssd"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What one strength of regularisation gave."""

    strength: float  # lambda
    error: float  # on poses that this fit did not see


@dataclass(frozen=True, slots=True)
class ContestantFit:
    """A fitted contestant."""

    deformer: Deformer
    sweep: tuple[SweepPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model that takes part, and what posing a vertex costs."""

    title: str
    place: str  # module:function
    multiply_adds_a_slot: int  # for every bone of a vertex
    multiply_adds_a_vertex: int = 0  # besides

    def fit(
        self, problem: FitProblem, transforms: Float64, influences: Influences, options: ModelFitOptions
    ) -> ContestantFit:
        """The deformer for bones that are given, and its sweep, if there is one."""
        module, _, name = self.place.partition(":")
        found: Any = getattr(import_module(module), name)(problem, transforms, influences, options)
        sweep = getattr(found, "sweep", None) or ()
        return ContestantFit(found.deformer, tuple(SweepPoint(float(p.strength), float(p.error)) for p in sweep))

    def multiply_adds(self, n_slots: int) -> int:
        """Multiplications and additions that take one vertex to its place."""
        return self.multiply_adds_a_slot * n_slots + self.multiply_adds_a_vertex


# Linear blending sums matrices (12 a slot) and applies the sum (9). Dual quaternions sum 8 numbers and compare signs
# (4), then divide by the length, make a matrix of them and apply it.
CONTESTANTS: dict[str, Contestant] = {
    "ssd": Contestant("linear blending (SSD)", "osteon.fit.models.contestants:contest_linear_blend", 12, 9),
    "dqs": Contestant("dual quaternions", "osteon.fit.models.contestants:contest_dual_quaternion", 12, 53),
}


def find_contestants(words: Sequence[str] = ()) -> dict[str, Contestant]:
    """The contestants of these words in their order, or all; refuses words that nobody answers to."""
    known = ", ".join(CONTESTANTS)
    for i, word in enumerate(words):
        if word not in CONTESTANTS:
            raise OptionError(f"models: no model is called {word!r}; known are {known}")
        if word in words[:i]:
            raise OptionError(f"models: {word} is named twice")
    return {word: CONTESTANTS[word] for word in words or CONTESTANTS}


def contest_linear_blend(
    problem: FitProblem, transforms: Float64, influences: Influences, options: ModelFitOptions
) -> ContestantFit:
    """The skin that came with the bones."""
    from osteon.deform.linear_blend import LinearBlend

    return ContestantFit(LinearBlend(influences.to_skin()))


def contest_dual_quaternion(
    problem: FitProblem, transforms: Float64, influences: Influences, options: ModelFitOptions
) -> ContestantFit:
    """Dual quaternions, weights of their own."""
    from osteon.fit.models.dual_quaternion import fit_dual_quaternion

    return ContestantFit(fit_dual_quaternion(problem, transforms, options).deformer)
