"""Writing a skinned model as .glb, or as .gltf with an embedded buffer, so that one file holds everything.

Node 0 holds the skinned mesh, node 1 ("armature") the joints; both are roots of the scene. A bone that rotates,
translates and scales along fixed axes is one node, the joint. Any other affine bone is a node (translation, rotation,
scale) whose child is the joint (a rotation), see `two_nodes`; both are listed as joints. Joints are at the weighted
centre of their vertices, or where the skeleton defines them (`joints.py`). Without animation the file shows the rest
pose. Corrections are morph targets. All primitives share one set of vertices; a vertex of the model occurs once for
each of its texture coordinates. Differences between engines are in `io/engines.py`.

Coarse meshes of levels of detail share the joints (MSFT_lod). Each has a node that no scene shows, after all others.
The model's node lists them in its extension, and in `extras.MSFT_screencoverage` from which part of the screen's height
on each is used. Players without the extension show the model. Morph targets of coarse meshes have channels like those
of the model: a player that shows the node of a level plays its corrections. Cesium fails on a channel of a node that it
does not show, so a file for it has none, and Osteon moves these targets as it moves the model's own.

What stock glTF cannot represent is in `asset.extras.osteon`; accessors are referred to by index:

    version             1, or 2 where there are `bone_joints`: a reader of version 1 then treats the file like any other
    name                of the model
    bone_type           "rigid", "scaled" or "flexible"
    bone_joints         for each bone the index of its joint in the list of the skin. Absent: the joints are the bones
    joint_names         of the skeleton's joints, or of the bones, where nodes have others. Absent: those of the nodes
    influences          columns of the model's bones and weights (v,k); the file has 4 or 8, unused ones are zero
    clips               [{"name", "frames", "fps"}, …] in the order of the animations; frame i is at i / fps seconds.
                        With reduced keys a channel must be sampled there
    vertices            accessor (scalar integers): the model's vertex for each one in the file. Absent: the same. Every
                        vertex of the model occurs
    triangles           accessor (scalar integers): the model's triangle for each one in the file, all primitives one
                        after the other. Absent: the same
    turns               accessor (scalar integers): for each triangle of the model how many cyclic shifts, first corner
                        last, bring its vertices into their lowest order (`corner_shift`). Absent: triangles of the file
                        begin at the same corners as the model's. Compression shifts them
    polygons            accessor (scalar integers): polygon_of_triangle in the model's order. Absent: None
    primitives          for each primitive of the mesh the number in primitive_of_triangle. Absent: None
    primitive_names     the names. Absent: none
    plain               index of a material, the last one, that represents none: the model's triangle_material is None.
                        glTF's own default would be metal. Absent: every triangle has a material of the model
    bones               names of the bones, if the joints have other names from a skeleton. Absent: those of the joints
    parents             of the skeleton's joints, -1 at a root. Absent: there is no skeleton
    joints              accessor (12 scalars per joint, row by row): world_from_joint of the skeleton
    dequantize          [scale, x, y, z]: rest = scale POSITION + (x, y, z), basis = scale (morph target). Absent: 1, 0.
                        The inverse bind matrices include it: transform = world_from_joint inverse_bind
                        (scale p + xyz)^-1
    low, span           a number for each morph target: coefficient = low + span weight, basis = target / span,
                        rest = POSITION - sum low basis, see `morph_range`. Absent: 0 and 1
    normals             true: NORMAL and the targets' NORMAL are the model's own. Absent: they are the smooth ones of
                        its rest pose
    faceted             true: the model has no normals, its triangles are flat. Absent: false
    deformer            {"kind", "arrays": {name: {"accessor", "shape"}}}: a deformer that stock players do not support,
                        for the model's vertices; the skin of the file is then the closest linear blend. Absent: the
                        skin is the deformer
    displacements       [{"kind", "columns", "numbers", "arrays"}, …]: displacements whose coefficients follow the
                        bones, such as EigenSkin. Their columns are the morph targets after those of the corrections,
                        `columns` of them each, in this order, or those that `numbers` lists; weights are baked for the
                        clips; arrays define those of other poses
    edits               {name: {"accessor", "shape"}}: edits of the rest pose. POSITION and NORMAL are edited; arrays
                        hold the edits, and what restores the unedited mesh (`io/metadata/edits.py`). Absent: no edits
    levels              levels of detail. Absent: there are none. {"header": as `osteon.lod` defines, "arrays": as those
                        of a deformer, with "bits": 64 where two integers form one of 64 bits, "coverage", "coarse":
                        [{"node", …}]}: coarse meshes by their nodes, each with its own influences, vertices, triangles,
                        turns, polygons, primitives, plain, dequantize, low, span, deformer, edits and painted
    light               precomputed light. Absent: there is none. {"header": as `osteon.apply.light` defines, "arrays":
                        as those of a deformer, with "bits": 16 for the bits of numbers in half precision}
    painted             {"targets", "colors"}: COLOR_0 and the last `targets` morph targets hold light; `colors` is the
                        accessor (4 scalars per vertex of the model) of its own colours. Absent: COLOR_0 is the model's
                        own; `colors` absent: it has none

Morph targets are in the order of the corrections; those that move normals only come last. Weights of the others are in
0 … 1, and those without animation (`mesh.weights`) show the rest pose. A program that omits the last targets must first
add them to POSITION and NORMAL by those weights; then it has the model of the lower rank. Osteon's own truncation of a
model does, because it truncates the model that was written. Some joints have keys between frames, see `keys_between`.

Notes. pygltflib takes 0.2 s to import and 16 ms to write the JSON of the horse with 30 bones (27 kB); the standard
library's json takes 6 ms and 1 ms. The dictionaries are as easy to fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from osteon import __version__
from osteon.core.arrays import Float64
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel, StoredLevels, StoredLight, VertexColors, coarse_model
from osteon.core.transforms import compose
from osteon.deform.edits import edited_model
from osteon.io.engines import engine_of
from osteon.io.formats.engine_facts import target_attributes, writes_between
from osteon.io.formats.options import SaveOptions
from osteon.io.gltf import JsonObject
from osteon.io.gltf.corner_shift import corner_shift
from osteon.io.gltf.quantize import REAL_NUMBERS, Grid, PackedMesh
from osteon.io.gltf.write.animations import NodeTrack, joint_tracks, write_animations
from osteon.io.gltf.write.buffer import MESHOPT, BufferWriter, embed_bytes, glb_bytes, write_arrays
from osteon.io.gltf.write.colors import UNLIT, color_weights, paint_mesh, show_unlit
from osteon.io.gltf.write.joints import (
    ARMATURE,
    Joints,
    NodeNames,
    SkinJoints,
    list_joints,
    name_nodes,
    node_entries,
    set_node_rest,
    shortest,
)
from osteon.io.gltf.write.keys_between import KeyedModel, add_between, key_frames
from osteon.io.gltf.write.materials import UsableTextures, plain_material, texture_extensions, write_materials
from osteon.io.gltf.write.mesh import MeshLayout, lay_out_mesh, store_influences, write_mesh
from osteon.io.gltf.write.precision import CompactForm, compact_form
from osteon.io.gltf.write.reduce_keys import reduce_keys
from osteon.io.metadata.baked import column_entry, position_ranks, stock_model, tables_of, without_normals
from osteon.io.metadata.edits import edit_arrays
from osteon.io.metadata.target_names import column_names

EXTRAS_VERSION = 2
LOD_EXTENSION = "MSFT_lod"
MESH_NODE = 0


def write_gltf(
    path: Path,
    model: SkinnedModel,
    options: SaveOptions,
    levels: StoredLevels | None = None,
    light: StoredLight | None = None,
) -> None:
    """Write `model` to one file; `read_gltf_model` returns the same model, up to quantisation and key reduction.

    With `levels`, which `read_gltf_levels` returns, a stock player still shows the model. With `light`, which
    `read_gltf_light` returns, it shows the colours that this holds for it.
    """
    root, buffer = _build(model, options, levels, light)
    path.write_bytes(embed_bytes(root, buffer) if path.suffix.lower() == ".gltf" else glb_bytes(root, buffer))


def _build(
    source: SkinnedModel, options: SaveOptions, levels: StoredLevels | None, light: StoredLight | None
) -> tuple[JsonObject, bytes]:
    """The JSON without its buffer entry, and the buffer."""
    if not len(source.faces) or not source.n_bones:
        raise GeometryError(f"'{source.name}' has no {'triangles' if source.n_bones else 'bones'}; glTF cannot hold it")
    sources = [source]
    if levels is not None:
        levels.check_fit(source)
        sources += [coarse_model(source, character) for character in levels.coarse]
    edits = [edit_arrays(each.character) for each in sources]
    sources = [edited_model(each) for each in sources]
    shown = [stock_model(each, options, "glTF") for each in sources]
    if target_attributes(shown[0], options) == 1:
        ranks = position_ranks(sources[0])
        sources = [without_normals(each, ranks) for each in sources]
        shown = [stock_model(each, options, "glTF") for each in sources]
    model, engine = shown[0], engine_of(options.engine)
    keyed = key_frames(model, scale_inherited=engine.joint_scale_inherited)
    if writes_between(engine):
        keyed = add_between(keyed)
    targets = column_names(sources[0], model.n_columns)
    names = name_nodes(model, keyed.joints.names, targets, len(sources) - 1)
    skin = list_joints(keyed.joints, keyed.nodes)
    buffer = BufferWriter(options.compress)
    small = compact_form(keyed, options)
    meshes = _write_meshes(sources, shown, edits, skin.of_bone, small, buffer, options, targets)
    if light is not None:
        meshes = [
            mesh if colors is None else mesh.painted(colors, buffer, options)
            for mesh, colors in zip_longest(meshes, light.shown[: len(meshes)])
        ]
    reduced = reduce_keys(keyed, options.key_error) if options.key_error > 0 else {}
    nodes: list[JsonObject] = [{"name": names.mesh, "mesh": 0, "skin": 0}]
    nodes += node_entries(keyed.joints, keyed.nodes, names)
    mesh_nodes = [MESH_NODE, *range(len(nodes), len(nodes) + len(names.coarse))]
    if levels is not None and levels.coarse:
        nodes += [{"name": name, "mesh": number, "skin": 0} for number, name in enumerate(names.coarse, 1)]
        nodes[MESH_NODE]["extensions"] = {LOD_EXTENSION: {"ids": mesh_nodes[1:]}}
        nodes[MESH_NODE]["extras"] = {"MSFT_screencoverage": list(levels.coverage)}
    tracks = joint_tracks(keyed.nodes, small.short, model.diagonal, small.precision)
    played = zip(mesh_nodes, meshes, strict=True) if engine.hidden_channels else [(MESH_NODE, meshes[0])]
    for node, mesh in played:
        tracks += mesh.tracks(node, keyed, small)
    for track in tracks:
        if track.path != "weights":
            set_node_rest(nodes[track.node], track.path, track.rest)
    root: JsonObject = {"asset": {"version": "2.0", "generator": f"Osteon {__version__}"}}
    root |= {"scene": 0, "scenes": [{"nodes": [MESH_NODE, ARMATURE]}], "nodes": nodes}
    root["meshes"] = [{"name": nodes[n]["name"]} | mesh.json for n, mesh in zip(mesh_nodes, meshes, strict=True)]
    root["skins"] = [_skin(skin, meshes[0].packed, buffer)]
    root["animations"] = write_animations(keyed, tracks, reduced, buffer)
    layout = meshes[0].layout
    plain = () if layout.has_materials else (plain_material(model.asset.colors is not None),)
    usable = UsableTextures(len(layout.uvs), options.normals)
    root |= write_materials(model.asset.materials + plain, usable, buffer)
    unlit = meshes[0].colors is not None and not meshes[0].colors.lit
    if unlit:
        show_unlit(root["materials"])
    root |= _extensions(root.get("textures", []), options, len(meshes) > 1, unlit)
    extras = _extras(model, buffer) | meshes[0].extras(buffer) | _joint_extras(keyed.joints, skin, names)
    if levels is not None:
        extras["levels"] = {"header": dict(levels.header), "arrays": write_arrays(levels.arrays, buffer)}
        coarse = [{"node": n} | mesh.extras(buffer) for n, mesh in zip(mesh_nodes[1:], meshes[1:], strict=True)]
        extras["levels"] |= {"coverage": list(levels.coverage), "coarse": coarse} if coarse else {}
    if light is not None:
        extras["light"] = {"header": dict(light.header), "arrays": write_arrays(light.arrays, buffer)}
    root["asset"]["extras"] = {"osteon": extras}
    root["accessors"] = buffer.accessors
    views, data = buffer.finish()
    return root | views, data


@dataclass(frozen=True, slots=True)
class _FileMesh:
    """A mesh as it is written, and the model it was made from."""

    model: SkinnedModel  # as stock players show it
    source: SkinnedModel
    edits: Arrays  # what undoes the edits of its rest pose; empty without any
    layout: MeshLayout
    packed: PackedMesh
    entry: JsonObject
    colors: VertexColors | None = None  # shown instead of its own

    def painted(self, colors: VertexColors, buffer: BufferWriter, options: SaveOptions) -> _FileMesh:
        """The same mesh with these colours."""
        entry = paint_mesh(self.entry, self.model.mesh, self.layout, colors, buffer, short=options.whole_numbers)
        return replace(self, entry=entry, colors=colors)

    @property
    def json(self) -> JsonObject:
        """The JSON of the mesh, with the weights that show the rest pose without animation."""
        rest = self._rest_weights
        return self.entry | ({"weights": shortest(rest)} if len(rest) else {})

    @property
    def _rest_weights(self) -> Float64:
        targets = 0 if self.colors is None else len(self.colors.columns)
        return np.concatenate([self.packed.morph_range.rest, np.zeros(targets)])

    def tracks(self, node: int, keyed: KeyedModel, small: CompactForm) -> list[NodeTrack]:
        """The track of the morph weights at a node, if there are any; `keyed` has a frame for each key."""
        weights, stored = [], keyed.model.animation.coefficients
        if stored is not None and self.model.n_columns:
            weights.append(self.packed.morph_range.weights(stored))
        if self.colors is not None and len(self.colors.columns):
            weights.append(color_weights(self.colors, keyed.moments))
        if not weights:
            return []
        packing = None if small.precision is None or len(weights) > 1 or stored is None else small.precision.morphs
        values = np.concatenate(weights, axis=1)
        return [NodeTrack(node, "weights", values, self._rest_weights, None, "weights", 0.0, packing=packing)]

    def extras(self, buffer: BufferWriter) -> JsonObject:
        """Metadata of a mesh that stock glTF cannot represent, listed at the head of this file."""
        layout, packed, asset = self.layout, self.packed, self.model.asset
        found: JsonObject = {"influences": self.model.skin.n_influences}
        if not np.array_equal(layout.vertices, np.arange(self.model.n_vertices)):
            found["vertices"] = buffer.add(layout.vertices.astype(np.uint32))
        if not np.array_equal(layout.triangles, np.arange(len(self.model.faces))):
            found["triangles"] = buffer.add(layout.triangles.astype(np.uint32))
        if layout.shifted:
            found["turns"] = buffer.add(corner_shift(self.model.faces).astype(np.uint32))
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
        if self.colors is not None:
            found["painted"] = {"targets": len(self.colors.columns)}
            if asset.colors is not None:
                found["painted"]["colors"] = buffer.add(asset.colors.reshape(-1))
        if (deformer := self.source.deformer) is not self.model.deformer:
            found["deformer"] = {"kind": deformer.kind, "arrays": write_arrays(deformer.arrays(), buffer)}
        if tables := tables_of(self.source):
            columns = column_entry(tables, self.model.n_columns)
            found["displacements"] = [
                {"kind": one.kind, **entry, "arrays": write_arrays(one.arrays, buffer)}
                for one, entry in zip(tables, columns, strict=True)
            ]
        if self.edits:
            found["edits"] = write_arrays(self.edits, buffer)
        return found


def _write_meshes(
    sources: Sequence[SkinnedModel],
    shown: Sequence[SkinnedModel],
    edits: Sequence[Arrays],
    joint_of_bone: Sequence[int],
    small: CompactForm,
    buffer: BufferWriter,
    options: SaveOptions,
    targets: Sequence[str],
) -> list[_FileMesh]:
    """All meshes of a file, which share the joints and the quantisation grid; `targets` are names of morph targets."""
    grid = Grid.of(shown, small.step) if options.whole_numbers else REAL_NUMBERS
    meshes = []
    for source, model, edited in zip(sources, shown, edits, strict=True):
        layout = small.order(lay_out_mesh(model))
        influences = store_influences(model.skin, joint_of_bone, options.quantize, small.weight_bits)
        entry, packed = write_mesh(model, layout, influences, buffer, options, grid, targets)
        meshes.append(_FileMesh(model, source, edited, layout, packed, entry))
    return meshes


def _extensions(textures: list[JsonObject], options: SaveOptions, has_coarse: bool, unlit: bool) -> JsonObject:
    """The extensions that the file uses, and those that it requires."""
    numbers = ["KHR_mesh_quantization"] if options.whole_numbers else []
    numbers += [MESHOPT] if options.compress else []
    used, needed = texture_extensions(textures)
    used += [LOD_EXTENSION] if has_coarse else []
    used += [UNLIT] if unlit else []
    listed = {"extensionsUsed": numbers + used, "extensionsRequired": numbers + needed}
    return {key: names for key, names in listed.items() if names}


def _skin(skin: SkinJoints, packed: PackedMesh, buffer: BufferWriter) -> JsonObject:
    """The joints and their inverse bind matrices, which also undo the quantisation of positions.

    There is no `skeleton`: Blender would use inverse bind matrices as the placement of all its direct children.
    """
    bind = skin.joint_from_rest
    if packed.dequantize is not None:
        bind = compose(bind, packed.dequantize.rest_from_stored)
    matrices = np.zeros((len(bind), 4, 4))
    matrices[:, :3], matrices[:, 3, 3] = bind, 1
    columns = matrices.transpose(0, 2, 1).reshape(-1, 16)
    return {"joints": skin.nodes, "inverseBindMatrices": buffer.add(columns, "bind")}


def _extras(model: SkinnedModel, buffer: BufferWriter) -> JsonObject:
    """Metadata of a model, besides those of its mesh, that stock glTF cannot represent."""
    found: JsonObject = {
        "version": 1,
        "name": model.name,
        "bone_type": model.track.bone_type,
        "clips": [{"name": clip.name, "frames": clip.n_frames, "fps": clip.fps} for clip in model.clips],
    }
    if model.asset.primitive_names:
        found["primitive_names"] = list(model.asset.primitive_names)
    if model.skeleton is not None:
        if model.skeleton.names != model.track.names:
            found["bones"] = list(model.track.names)
        found["parents"] = model.skeleton.parents.tolist()
        found["joints"] = buffer.add(model.skeleton.world_from_joint.reshape(-1))
    return found


def _joint_extras(joints: Joints, skin: SkinJoints, names: NodeNames) -> JsonObject:
    """The joints that are bones, if not all are in their order, and their names in the model, if nodes have others."""
    found: JsonObject = {}
    if not skin.are_bones:
        found |= {"version": EXTRAS_VERSION, "bone_joints": skin.of_bone}
    if names.joints != joints.names:
        found["joint_names"] = list(joints.names)
    return found
