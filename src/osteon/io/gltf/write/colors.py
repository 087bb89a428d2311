"""Colours that change with time: COLOR_0 and morph targets of colour, in place of the model's own colours.

Every target has a position and a colour, those without displacement or colour zeros: three.js uses the mesh's own
values for an attribute that a target lacks. Materials are unlit (KHR_materials_unlit) where the colours are all of the
light. Players without morph targets of colour show the static part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.mesh import Mesh
from osteon.core.model import VertexColors
from osteon.io.gltf import JsonObject
from osteon.io.gltf.quantize import quantize_unsigned
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.gltf.write.mesh import MeshLayout

UNLIT = "KHR_materials_unlit"


def paint_mesh(
    entry: JsonObject, mesh: Mesh, layout: MeshLayout, colors: VertexColors, buffer: BufferWriter, *, short: bool
) -> JsonObject:
    """The JSON of a mesh with these colours, multiplied by its own; `short`: 16 bits for colours in 0 … 1."""
    own = None if mesh.asset.colors is None else mesh.asset.colors[layout.vertices].astype(np.float64)

    def stored(part: NDArray[Any], alpha: float) -> int:
        values = np.concatenate([part[layout.normals], np.full((len(layout.normals), 1), alpha)], axis=1)
        if own is not None:
            values = np.concatenate([values[:, :3] * own[:, :3], alpha * own[:, 3:]], axis=1)
        if short and values.min(initial=0) >= 0 and values.max(initial=0) <= 1:
            return buffer.add(quantize_unsigned(values, np.uint16), "vertices", normalized=True)
        return buffer.add(values.astype(np.float32), "vertices")

    base, targets = stored(colors.base, 1.0), []
    if len(colors.columns):
        first: dict[str, Any] = entry["primitives"][0]
        before = first.get("targets", [])
        nothing = buffer.add(np.zeros((len(layout.vertices), 4), np.float32), "vertices")
        still = buffer.add(np.zeros((len(layout.vertices), 3), np.float32), "vertices", bounds=True)
        targets = [target | {"COLOR_0": nothing} for target in before]
        targets += [_color_target(before, still) | {"COLOR_0": stored(column, 0.0)} for column in colors.columns]
    primitives = [
        one | {"attributes": one["attributes"] | {"COLOR_0": base}} | ({"targets": targets} if targets else {})
        for one in entry["primitives"]
    ]
    extras = dict(entry.get("extras", {}))
    if targets:
        names = extras.get("targetNames", [])
        extras["targetNames"] = [*names, *(f"light {k + 1}" for k in range(len(colors.columns)))]
    return entry | {"primitives": primitives} | ({"extras": extras} if extras else {})


def _color_target(before: list[JsonObject], still: int) -> JsonObject:
    """The other attributes of a target of colour: zeros for all that the targets before it have."""
    return dict.fromkeys({"POSITION", *(before[0] if before else ())}, still)


def color_weights(colors: VertexColors, moments: Float64) -> Float64:
    """(f,k) the weights of the columns at moments (f,), in frames."""
    frames = np.arange(len(colors.weights))
    return np.stack([np.interp(moments, frames, weights) for weights in colors.weights.T], axis=1)


def show_unlit(materials: list[JsonObject]) -> None:
    """Make materials unlit: a player then shows their colour times that of the vertices."""
    for material in materials:
        material.setdefault("extensions", {})[UNLIT] = {}
