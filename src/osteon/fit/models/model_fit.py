"""What every fit of a family takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from osteon.core.arrays import Float64
from osteon.core.deformer import Deformer
from osteon.core.fit_report import FitReport
from osteon.fit.problem import FitProblem

__all__ = ["FamilyFit", "ModelFit", "ModelFitOptions"]


def _silent(fraction: float, error_percent: float) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class ModelFitOptions:
    """How a family is fitted from a linear blend skin."""

    influences: int = 4  # bones a vertex, 1 … 8
    rounds: int = 8
    tolerance: float = 5e-3  # stop when a round lowers the error by less than this fraction
    keep_bones: bool = False  # the motion of the bones is given
    seed: int = 0
    threads: int = 1
    on_round: Callable[[float, float], None] = _silent  # receives the progress and E %


@dataclass(frozen=True, slots=True)
class ModelFit:
    """A fitted family: its deformer for the vertices of the problem, its bones, and how close it is."""

    deformer: Deformer
    transforms: Float64  # (f,b,3,4) in the problem's units
    errors: Float64  # (v,) squared
    report: FitReport


class FamilyFit(Protocol):
    """How a family is fitted from rigid or flexible bones that a linear blend skin has found."""

    def fit(self, problem: FitProblem, transforms: Float64, options: ModelFitOptions) -> ModelFit:
        """The family's own data for bones (f,b,3,4) in the problem's units, the bones refined with it."""
        ...

    def settle(self, problem: FitProblem, deformer: Deformer, transforms: Float64, threads: int) -> Float64:
        """(f,b,3,4) bones for a deformer that stays as it is, from a first guess."""
        ...
