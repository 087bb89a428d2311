"""Numbers as people read them, and round values for axes."""

from __future__ import annotations

import numpy as np

__all__ = ["brief", "log_ticks", "nice_ticks", "number", "percent", "share"]


def number(value: float) -> str:
    """Three digits, without an exponent where people do not expect one."""
    size = abs(value)
    if size == 0 or 1e-4 <= size < 1000:
        return f"{value:.3g}"
    if size < 1e7:
        return f"{value:,.0f}" if size >= 1000 else f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.2e}".replace("e+0", "e")


def percent(value: float) -> str:
    """A number of percent, never parted from its sign."""
    return f"{number(value)}\u00a0%"


def brief(value: float) -> str:
    """Percent with two digits, or whole ones from a hundred on: enough for a sentence."""
    return percent(float(f"{value:.2g}") if abs(value) < 100 else float(round(value)))


def share(fraction: float) -> str:
    """A fraction as whole percent, or with one digit where that is small."""
    return f"{100 * fraction:.{0 if fraction >= 0.1 or fraction == 0 else 1}f}\u00a0%"


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Up to about `count` round values in low … high: steps of one, two or five times a power of ten."""
    rough = max(high - low, 1e-300) / max(1, count)
    power = 10.0 ** float(np.floor(np.log10(rough)))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first = int(np.ceil(low / step - 1e-9))
    return [float(f"{i * step:.12g}") for i in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def log_ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Round values in low … high for a logarithmic axis: all of 1, 2 and 5, or only powers of ten if that is enough."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    inside: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        values = (float(f"{d}e{p}") for p in powers for d in digits)
        inside = [v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
        if len(inside) <= count:
            return inside
    return inside[:: -(-len(inside) // count)]
