"""Names of the morph targets of a file: columns that follow joints are named after them.

correction_0, correction_1, …      stored corrections
elbow_L.1, elbow_L.2, …            eigendisplacements of a joint, the strongest first
shoulder_L+elbow_L.1, …            those of a pair of joints
elbow_L.normal.1, …                eigennormals
"""

from __future__ import annotations

import numpy as np

from osteon.core.animation import distinct_names
from osteon.core.model import SkinnedModel
from osteon.io.metadata.baked import tables_of


def target_names(rank: int) -> list[str]:
    """The names of corrections that follow nothing."""
    return [f"correction_{r}" for r in range(rank)]


def column_names(model: SkinnedModel, total: int) -> list[str]:
    """(r,) the names of all `total` columns of a model as it is baked."""
    names, bones = target_names(total), model.track.names
    moving = {one.kind: one.basis for one in model.character.displacements}
    for table in tables_of(model):
        if not {"driver", "joints"} <= set(table.arrays) or len(table.columns) != len(table.arrays["driver"]):
            continue
        joints, counts = table.arrays["joints"], dict[str, int]()
        shifts = np.any(moving[table.kind], axis=(1, 2))
        for column, driver, is_moving in zip(table.columns, table.arrays["driver"], shifts, strict=True):
            called = "+".join(bones[j] for j in joints[driver].tolist() if j >= 0)
            called += "" if is_moving else ".normal"
            counts[called] = counts.get(called, 0) + 1
            names[int(column)] = f"{called}.{counts[called]}"
    return list(distinct_names(names))
