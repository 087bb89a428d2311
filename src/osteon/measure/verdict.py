"""One word for a result, from what people see of it: how far it moves from its source, and how far its shading is off.

Each figure earns a grade of its own; the worst of them is the word. The limits of shading are degrees between the
normals that a stock player shades with and the source's (`shading.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from osteon.measure.report import Quality

__all__ = ["GRADES", "Verdict", "judge"]

#: The words, best first, and the largest figure that each allows.
GRADES = ("Nearly exact", "Close", "Fair", "Rough", "Poor")
ERROR_PERCENT = (0.1, 1.5, 5.0, 15.0, 50.0)
MEAN_DEGREES = (1.0, 4.0, 8.0, 15.0, 30.0)
P95_DEGREES = (4.0, 15.0, 25.0, 45.0, 90.0)
WORST = "Far off"
#: From this grade on there is something to try.
FAIR = 2
#: Bounds that give a close result.
GOOD_ERROR, GOOD_SHADING = 1, 3
#: What to try with a rig, where bounds are refused: bones, and columns of normals.
MORE_HELPERS, MORE_NORMALS = 4, 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word, what earned it, and what to try."""

    word: str  # one of GRADES, or WORST
    because: str  # "E" or "shading": the figure that decided
    advice: str = ""  # options to try, for a result that is fair or worse

    @property
    def is_good(self) -> bool:
        return self.word in GRADES[:FAIR]

    @property
    def is_bad(self) -> bool:
        return self.word in (GRADES[-1], WORST)

    def sentence(self) -> str:
        """For a table: `rough: try --max-error 1`."""
        return self.word.lower() + (f": try {self.advice}" if self.advice else "")


def judge(quality: Quality, *, has_rig: bool = False) -> Verdict:
    """The verdict on a result; a rig brings its own bones, so that bounds are no advice."""
    error = _grade(quality.error_percent, ERROR_PERCENT)
    if quality.karni_gotsman_percent >= 100:
        error = len(GRADES)
    degrees = quality.shading_deviation_degrees
    shading = max(_grade(degrees.get("mean", 0.0), MEAN_DEGREES), _grade(degrees.get("p95", 0.0), P95_DEGREES))
    worst = max(error, shading)
    word = GRADES[worst] if worst < len(GRADES) else WORST
    closer = f"--helpers {MORE_HELPERS}" if has_rig else f"--max-error {GOOD_ERROR}"
    smoother = f"--normal-rank {MORE_NORMALS}" if has_rig else f"--max-shading {GOOD_SHADING}"
    tries = [closer] * (error >= FAIR) + [smoother] * (shading >= FAIR)
    return Verdict(word, "E" if error >= shading else "shading", " ".join(tries))


def _grade(value: float, limits: tuple[float, ...]) -> int:
    """The first grade whose limit a figure keeps; one more than there are if it keeps none."""
    return next((i for i, limit in enumerate(limits) if value <= limit), len(limits))
