"""The meshes of a file: the model's own, and coarser ones on the same joints (MSFT_lod).

A coarse mesh has a node that no scene shows, after all others. The model's node lists them in its extension, and in
`extras.MSFT_screencoverage` from which part of the screen's height on each is for. Players that do not know the
extension show the model.

Corrections of coarse meshes are there, at rest, and have no channels: Cesium fails on a channel of a node that it does
not show. Osteon moves them as it moves the model's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import Animation
from osteon.core.model import SkinnedModel
from osteon.core.stored_levels import StoredLevels, coarse_model
from osteon.io.formats.options import SaveOptions
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.morph_range import REAL_NUMBERS, Grid
from osteon.io.gltf.turns import first_turns
from osteon.io.gltf.write.animations import NodeTrack, weights_track
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.gltf.write.compact_form import CompactForm
from osteon.io.gltf.write.deformer import write_deformer
from osteon.io.gltf.write.influences import store_influences
from osteon.io.gltf.write.mesh import MeshLayout, WrittenMesh, lay_out_mesh, write_mesh
from osteon.io.gltf.write.named_arrays import write_arrays
from osteon.io.gltf.write.names import NodeNames
from osteon.io.gltf.write.nodes import shortest
from osteon.io.metadata.baked import column_entry, tables_of

__all__ = ["LOD_EXTENSION", "Body", "coarse_models", "levels_extras", "list_coarse", "write_bodies"]

LOD_EXTENSION = "MSFT_lod"


@dataclass(frozen=True, slots=True)
class Body:
    """A mesh as it is written, and what it was made from."""

    model: SkinnedModel  # as stock players show it
    whole: SkinnedModel
    layout: MeshLayout
    mesh: WrittenMesh

    @property
    def entry(self) -> JsonObject:
        """The JSON of the mesh, which shows the rest pose without animation."""
        rest = self.mesh.packed.morph_range.rest
        return self.mesh.entry | ({"weights": shortest(rest)} if len(rest) else {})

    def tracks(self, node: int, animation: Animation, small: CompactForm) -> list[NodeTrack]:
        """The motion of its corrections at a node, if it has any; `animation` has a frame for each key."""
        if animation.coefficients is None or not self.model.n_columns:
            return []
        morph_range = self.mesh.packed.morph_range
        return [weights_track(node, morph_range.weights(animation.coefficients), morph_range.rest, small.precision)]

    def extras(self, buffer: BufferWriter) -> JsonObject:
        """What stock glTF cannot say of a mesh; the head of `model.py` lists it."""
        layout, packed, asset = self.layout, self.mesh.packed, self.model.asset
        found: JsonObject = {"influences": self.model.skin.n_influences}
        if not np.array_equal(layout.vertices, np.arange(self.model.n_vertices)):
            found["vertices"] = buffer.add(layout.vertices.astype(np.uint32))
        if not np.array_equal(layout.triangles, np.arange(len(self.model.faces))):
            found["triangles"] = buffer.add(layout.triangles.astype(np.uint32))
        if layout.turned:
            found["turns"] = buffer.add(first_turns(self.model.faces).astype(np.uint32))
        if asset.polygon_of_triangle is not None:
            found["polygons"] = buffer.add(asset.polygon_of_triangle.astype(np.uint32))
        if asset.primitive_of_triangle is not None:
            found["primitives"] = [group.primitive for group in layout.groups]
        if asset.faceted:
            found["faceted"] = True
        elif asset.normals is not None:
            found["normals"] = True
        if not layout.has_materials:
            found["plain"] = len(asset.materials)
        if packed.dequantize is not None:
            found["dequantize"] = packed.dequantize.as_list()
        if not packed.morph_range.changes_nothing:
            found |= {"low": packed.morph_range.low.tolist(), "span": packed.morph_range.span.tolist()}
        if self.whole.deformer is not self.model.deformer:
            found["deformer"] = write_deformer(self.whole.deformer, buffer)
        if tables := tables_of(self.whole):
            columns = column_entry(tables, self.model.n_columns)
            found["displacements"] = [
                {"kind": one.kind, **entry, "arrays": write_arrays(one.arrays, buffer)}
                for one, entry in zip(tables, columns, strict=True)
            ]
        return found


def coarse_models(model: SkinnedModel, levels: StoredLevels | None) -> list[SkinnedModel]:
    """Every coarse mesh with the motion of the model."""
    if levels is None:
        return []
    levels.check_fit(model)
    return [coarse_model(model, character) for character in levels.coarse]


def write_bodies(
    models: Sequence[tuple[SkinnedModel, SkinnedModel]],
    joint_of_bone: Sequence[int],
    small: CompactForm,
    buffer: BufferWriter,
    options: SaveOptions,
) -> list[Body]:
    """All meshes of a file, of models and what stock players show of them.

    They share the joints, and the grid on which whole numbers lie.
    """
    grid = Grid.of([shown for _, shown in models], small.step) if options.whole_numbers else REAL_NUMBERS
    bodies = []
    for whole, model in models:
        layout = small.order(lay_out_mesh(model))
        influences = store_influences(model.skin, joint_of_bone, options.quantize, small.weight_bits)
        bodies.append(Body(model, whole, layout, write_mesh(model, layout, influences, buffer, options, grid)))
    return bodies


def list_coarse(nodes: list[JsonObject], names: NodeNames, levels: StoredLevels) -> None:
    """Add a node for each coarse mesh, and list them at the model's own, which is the first."""
    first = len(nodes)
    nodes += [{"name": name, "mesh": number, "skin": 0} for number, name in enumerate(names.coarse, 1)]
    nodes[0]["extensions"] = {LOD_EXTENSION: {"ids": list(range(first, len(nodes)))}}
    nodes[0]["extras"] = {"MSFT_screencoverage": list(levels.coverage)}


def levels_extras(
    levels: StoredLevels, bodies: Sequence[Body], nodes: Sequence[int], buffer: BufferWriter
) -> JsonObject:
    """The entry of `asset.extras.osteon.levels`, with the coarse meshes at their nodes."""
    found: JsonObject = {"header": dict(levels.header), "arrays": write_arrays(levels.arrays, buffer)}
    if bodies:
        coarse = [{"node": node} | body.extras(buffer) for node, body in zip(nodes, bodies, strict=True)]
        found |= {"coverage": list(levels.coverage), "coarse": coarse}
    return found
