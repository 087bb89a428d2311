"""The levels of a character in its pack: orders and curves of every clip, and slots in the order in which they go.

`engine/levels/` of the page plays them. What only other run times need, one order for all clips and the bind pose that
clips share, stays in the file.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.skin import Skin
from osteon.lod.blend_order import BlendOrder
from osteon.lod.progressive_skin import ProgressiveSkin
from osteon.view.pack_arrays import card_slots
from osteon.view.pack_schema import SLOTS

__all__ = ["check_levels", "level_arrays", "level_header", "level_slots"]


def check_levels(levels: ProgressiveSkin, model: SkinnedModel) -> None:
    """Refuse levels of another model."""
    expected = (model.n_bones, len(model.clips), model.n_vertices)
    found = (levels.n_bones, len(levels.orders), levels.blends.skin.n_vertices)
    if found != expected:
        words = "{} bones, {} clips and {} vertices".format
        raise GeometryError(f"levels: expected those of '{model.name}', {words(*expected)}, got {words(*found)}")


def level_header(levels: ProgressiveSkin) -> dict[str, Any]:
    """What the page must know besides the arrays."""
    clips = [{"form": order.form, "base": order.base, "samples": order.samples} for order in levels.orders]
    return {"clips": clips, "heirs": levels.blends.heirs[:SLOTS].tolist()}


def level_arrays(levels: ProgressiveSkin) -> Arrays:
    """`levels.clip0.order`, `levels.curve0.bones`, …: named as in `ProgressiveSkin.arrays`."""
    return {
        f"levels.{name}": array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
        for name, array in levels.arrays().items()
        if re.fullmatch(r"clip\d+\.(order|parents|offsets|errors)|curve\d+\.\w+", name)
    }


def level_slots(blends: BlendOrder) -> tuple[NDArray[np.uint16], Float32]:
    """(v,8) bones and weights from the slot that is kept to the one that goes first.

    Of more than eight the last have handed over what they hold.
    """
    slots = min(blends.n_blends, SLOTS)
    skin = Skin(blends.bones[:, :slots], blends.weights(slots)[:, :slots])
    return card_slots(skin, np.tile(np.arange(slots), (skin.n_vertices, 1)))
