"""The levels of a character in its pack: orders and curves of every clip, slots in the order in which they go, and
coarser meshes on the same bones.

`engine/levels/` of the page plays them. What only other run times need, one order for all clips and the bind pose that
clips share, stays in the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32
from osteon.core.character import Character
from osteon.core.deformer import Arrays
from osteon.core.skin import Skin
from osteon.view.pack.arrays import card_slots, columns_by_kind, deformer_arrays, mesh_arrays, used_slots
from osteon.view.pack.schema import SLOTS

if TYPE_CHECKING:  # imports numba
    from osteon.lod.blend_order import BlendOrder
    from osteon.lod.model_levels import CoarseMesh, ModelLevels

__all__ = ["NO_LEVELS", "level_parts"]

#: The header of a model without levels.
NO_LEVELS: dict[str, Any] = {"levels": None, "coarse": [], "coverage": []}
#: Arrays of a ProgressiveSkin that the page reads.
PLAYED = re.compile(r"clip\d+\.(order|parents|offsets|errors)|curve\d+\.\w+")


def level_parts(levels: ModelLevels) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of all levels; the slots of the model are among them, in the order in which they go."""
    header, arrays = _skin_levels(levels)
    for number, mesh in enumerate(levels.coarse):
        own, found = _coarse_mesh(mesh)
        header["coarse"].append(own)
        arrays |= {f"coarse.{number}.{name}": array for name, array in found.items()}
    return header, arrays


def _skin_levels(levels: ModelLevels) -> tuple[dict[str, Any], Arrays]:
    skin = levels.skin
    bones, weights = _slots(skin.blends)
    arrays: Arrays = {"bones": bones, "weights": weights}
    for name, array in skin.arrays().items():
        if PLAYED.fullmatch(name):
            arrays[f"levels.{name}"] = array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
    header = {
        "levels": {
            "clips": [{"form": order.form, "base": order.base, "samples": order.samples} for order in skin.orders],
            "heirs": skin.blends.heirs[:SLOTS].tolist(),
            "numbered": [level.to_json() for level in levels.levels],
            "size": levels.model.diagonal,
        },
        "influences": used_slots(weights),
        "coverage": list(levels.coverage),
        "coarse": [],
    }
    return header, arrays


def _coarse_mesh(mesh: CoarseMesh) -> tuple[dict[str, Any], Arrays]:
    """A coarse mesh with what its vertices read of bones and corrections."""
    bones, weights = _slots(mesh.blends)
    header = {"heirs": mesh.blends.heirs[:SLOTS].tolist(), "influences": used_slots(weights)}
    return header, mesh_arrays(mesh.character.mesh) | {"bones": bones, "weights": weights} | _own(mesh.character)


def _own(character: Character) -> Arrays:
    """What a family holds besides bones and weights, and the columns of its displacements.

    Their coefficients, and tables that tell these, are those of the whole model.
    """
    found = {f"deformer.{name}": array for name, array in deformer_arrays(character.deformer).items()}
    for displacement in character.displacements:
        if displacement.basis.shape[0]:
            columns: Arrays = {"basis": displacement.basis}
            if displacement.normal_basis is not None:
                columns["normal_basis"] = displacement.normal_basis[:, character.mesh.normal_of_vertex]
            for kind, arrays in columns_by_kind(displacement.kind, columns).items():
                found |= {f"{kind}.{name}": np.ascontiguousarray(array) for name, array in arrays.items()}
    return found


def _slots(blends: BlendOrder) -> tuple[NDArray[np.uint16], Float32]:
    """(v,8) bones and weights from the slot that is kept to the one that goes first.

    Of more than eight the last have handed over what they hold.
    """
    slots = min(blends.n_blends, SLOTS)
    skin = Skin(blends.bones[:, :slots], blends.weights(slots)[:, :slots])
    return card_slots(skin, np.tile(np.arange(slots), (skin.n_vertices, 1)))
