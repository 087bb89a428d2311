"""Flesh as a material: stable neo-Hookean, which has a finite energy in every state, turned inside out or flat too.

    psi = mu/2 (I - 3) - mu/2 log(I + 1) + lambda/2 (J - alpha)^2 + 3 lambda max(0.4 - J, 0)^3      I = |F|^2, J = det F

alpha makes the rest state free of stress, and mu and lambda make small strains those of linear elasticity.
Based on: B. Smith, F. de Goes, T. Kim, Stable neo-Hookean flesh simulation, 2018, equations 13 and 14 and section 3.4.
Differs from the paper: the last term. Flesh that has lost more than half of its volume resists more and more.

Notes. Fingers of the hand of 29,998 tetrahedra, their first joints bent by 80 degrees: without the last term 4, 1, 3
elements on the skin of the crease are turned inside out (middle, ring, little finger) after 9, 8, 26 steps; with it
none after 8, 8, 9. A factor of 1 leaves some nearly flat, 10 takes one or two steps more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import OptionError

__all__ = ["Material"]

#: Volume over volume at rest below which flesh is crushed, and how much more it then resists, over lambda.
CRUSHED, CRUSH = 0.4, 3.0


@dataclass(frozen=True, slots=True)
class Material:
    """How stiff flesh is, and how little its volume gives."""

    young: float = 1.0  # Young's modulus, in any unit of pressure
    poisson: float = 0.45  # 0 … below 0.5, where no volume is lost

    def __post_init__(self) -> None:
        if not (math.isfinite(self.young) and self.young > 0):
            raise OptionError(f"young: expected a positive stiffness, got {self.young}")
        if not 0 <= self.poisson < 0.5:
            raise OptionError(f"poisson: expected 0 … below 0.5, got {self.poisson}")

    @property
    def mu(self) -> float:
        return 4 / 3 * self.young / (2 * (1 + self.poisson))

    @property
    def lam(self) -> float:
        lame = self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
        return lame + 5 / 8 * self.mu

    @property
    def alpha(self) -> float:
        return 1 + 0.75 * self.mu / self.lam

    def density(self, stretch: Float64, J: Float64) -> Float64:
        """psi above that of rest, from I - 3 and J."""
        volume = (J - 1) * (J + 1 - 2 * self.alpha) + 2 * CRUSH * np.maximum(CRUSHED - J, 0) ** 3
        return np.asarray(0.5 * (self.mu * (stretch - np.log1p(stretch / 4)) + self.lam * volume))

    def pull(self, I: Float64) -> Float64:  # noqa: E741, the symbol of the field
        """m: twice the derivative of psi by I."""
        return np.asarray(self.mu * (1 - 1 / (I + 1)))

    def pull_slope(self, I: Float64) -> Float64:  # noqa: E741
        """q: twice the derivative of m by I."""
        return np.asarray(2 * self.mu / (I + 1) ** 2)

    def press(self, J: Float64) -> Float64:
        """c: the derivative of psi by J."""
        return np.asarray(self.lam * (J - self.alpha - 3 * CRUSH * np.maximum(CRUSHED - J, 0) ** 2))

    def press_slope(self, J: Float64) -> Float64:
        """l: the derivative of c by J."""
        return np.asarray(self.lam * (1 + 6 * CRUSH * np.maximum(CRUSHED - J, 0)))
