"""Numbers that Skinning Mesh Animations prints: table 1, its figures and its text."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.animation import BoneType
from osteon.core.skin_options import WeightMethod

Combination = tuple[BoneType, WeightMethod]
#: The columns of the table: kinds of bones and weights.
COMBINATIONS: tuple[Combination, ...] = (
    ("rigid", "tsvd"),
    ("rigid", "nnls"),
    ("flexible", "tsvd"),
    ("flexible", "nnls"),
)
#: Rank of the errors in brackets.
RANK = 10


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A row of table 1, with at most four influences."""

    model: str
    frames: int
    vertices: int
    triangles: int
    mean_shift_minutes: float  # Pentium 4, 2 GHz
    skin_minutes: float
    bones: int
    near_rigid: float  # eta
    errors: dict[Combination, tuple[float, float | None]]  # E % at rank 0 and 10; None: not printed
    compression: dict[BoneType, float]  # floats of the source over those of the model without corrections
    tolerance: float = 0.05  # eps


def _row(  # the order of the printed columns
    *columns: float | str,
    errors: tuple[tuple[float, float | None], ...],
    compression: tuple[float, float],
    tolerance: float = 0.05,
) -> PrintedRow:
    model, frames, vertices, triangles, mean_shift, skin, bones, eta = columns
    return PrintedRow(
        str(model),
        int(frames),
        int(vertices),
        int(triangles),
        float(mean_shift),
        float(skin),
        int(bones),
        float(eta),
        dict(zip(COMBINATIONS, errors, strict=True)),
        {"rigid": compression[0], "flexible": compression[1]},
        tolerance,
    )


# fmt: off
TABLE_1: tuple[PrintedRow, ...] = (
    _row("ball", 100, 5552, 11100, 3.0, 0.6, 1, 1.00,
         errors=((0.78, 0.00), (0.78, 0.00), (0.0002, 0.0), (0.0002, 0.0)), compression=(72.7, 71.2)),
    _row("snake", 121, 9179, 18354, 8.0, 1.3, 27, 0.98,
         errors=((0.20, 0.10), (0.24, 0.10), (0.12, 0.06), (0.17, 0.06)), compression=(38.2, 32.2)),
    _row("dance", 181, 7061, 14118, 9.1, 1.4, 21, 0.93,
         errors=((1.21, 0.29), (1.34, 0.29), (0.65, 0.17), (0.77, 0.18)), compression=(50.4, 40.3)),
    _row("bridge", 30, 135304, 240316, 7.2, 4.6, 14, 0.92,
         errors=((20.3, 0.16), (27.1, 0.15), (12.1, 0.10), (17.6, 0.05)), compression=(12.8, 12.8)),
    _row("camel", 48, 21887, 43814, 18.1, 1.2, 23, 0.88,
         errors=((7.76, 0.98), (8.17, 0.93), (3.11, 0.54), (4.43, 0.54)), compression=(19.6, 18.9)),
    _row("elephant", 48, 42321, 84638, 46.2, 2.4, 25, 0.85,
         errors=((10.6, 2.81), (12.5, 1.78), (4.80, 1.01), (6.22, 0.85)), compression=(20.0, 19.6)),
    _row("horse", 48, 8431, 16843, 2.8, 0.6, 30, 0.84,
         errors=((8.10, 1.46), (8.90, 1.38), (3.62, 0.59), (4.53, 0.53)), compression=(17.6, 15.9)),
    _row("chicken", 400, 3030, 5664, 5.9, 1.3, 22, 0.83,
         errors=((0.69, 0.20), (0.84, 0.17), (0.39, 0.57), (0.45, 0.14)), compression=(43.9, 28.7)),
    _row("hands", 26, 1753, 3470, 0.1, 0.1, 17, 0.79,
         errors=((2.63, 0.64), (2.78, 0.62), (2.50, 0.59), (2.63, 0.56)), compression=(8.9, 7.9)),
    _row("elasticCow", 204, 2904, 5804, 2.4, 0.7, 18, 0.41,
         errors=((2.82, 1.54), (3.27, 1.55), (3.09, 1.94), (3.18, 2.02)), compression=(38.6, 27.6)),
    _row("clothHorse", 53, 8431, 16843, 7.1, 0.6, 6, 0.13,
         errors=((41.7, 15.3), (44.1, 0.88), (28.1, None), (30.3, 0.74)), compression=(21.9, 21.3)),
    _row("flag", 200, 6906, 13436, 8.2, 1.6, 32, 0.42,
         errors=((21.2, 7.12), (21.5, 5.93), (26.0, 147.0), (26.6, 38.9)), compression=(44.5, 33.1)),
    _row("flag", 200, 6906, 13436, 14.0, 2.4, 100, 0.92,
         errors=((2.26, 1.26), (2.39, 1.25), (1.49, 1.67), (1.58, 1.78)), compression=(22.0, 14.4), tolerance=0.10),
)
# fmt: on


def printed_row(model: str, tolerance: float = 0.05) -> PrintedRow:
    """The row of a model, by its name in small letters."""
    return next(row for row in TABLE_1 if row.model.lower() == model and row.tolerance == tolerance)
