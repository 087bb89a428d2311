"""glTF out: a skinned model as .glb, or as .gltf with its buffer inside, so that one file holds all.

Node 0 holds the skinned mesh, node 1 ("armature") the joints; both are roots of the scene. A bone that turns, shifts
and scales along axes that it keeps is one node, the joint. Any other affine bone is a node (translation, rotation,
scale) with the joint (a rotation) below it, see `two_nodes`; both are listed as joints. Joints stand at the weighted
centre of their vertices, or where the skeleton says (`joints.py`). Without animation the file shows the rest pose.
Corrections are morph targets. All primitives share one set of
vertices; a vertex of the model is there once for each texture coordinate it has. What differs from engine to engine is
in `core/engines.py`.

What stock glTF cannot say is in `asset.extras.osteon`; accessors are given by their number:

    version             1, or 2 where there are `bone_joints`: what knows version 1 only reads such a file as any other
    name                of the model
    bone_type           "rigid", "scaled" or "flexible"
    bone_joints         for each bone the place of its joint in the list of the skin. Absent: the joints are the bones
    joint_names         of the skeleton's joints, or of the bones, where nodes have others. Absent: those of the nodes
    influences          columns of the model's bones and weights (v,k); the file has 4 or 8, unused ones are zero
    clips               [{"name", "frames", "fps"}, …] in the order of the animations; frame i is at i / fps seconds.
                        With reduced keys a channel must be sampled there
    vertices            accessor (scalar, whole numbers): the model's vertex for each one in the file.
                        Absent: the same. Every vertex of the model occurs
    triangles           accessor (scalar, whole numbers): the model's triangle for each one in the file, all primitives
                        one after the other. Absent: the same
    turns               accessor (scalar, whole numbers): for each triangle of the model how often it must be turned,
                        first corner last, until its vertices are in their lowest order. Absent: triangles of the file
                        begin at the same corners as the model's. Compression turns them
    polygons            accessor (scalar, whole numbers): polygon_of_triangle in the model's order. Absent: None
    primitives          for each primitive of the mesh the number in primitive_of_triangle. Absent: None
    primitive_names     the names. Absent: none
    plain               number of a material, the last one, which stands for none: the model's triangle_material is
                        None. glTF's own default would be metal. Absent: every triangle has a material of the model
    bones               names of the bones, if a skeleton gave the joints other names. Absent: those of the joints
    parents             of the skeleton's joints, -1 at a root. Absent: there is no skeleton
    joints              accessor (12 scalars a joint, rows first): world_from_joint of the skeleton
    dequantize          [scale, x, y, z]: rest = scale POSITION + (x, y, z), basis = scale (morph target). Absent: 1, 0.
                        The inverse bind matrices hold it already: transform = world_from_joint inverse_bind
                        (scale p + xyz)^-1
    low, span           a number for each morph target: coefficient = low + span weight, basis = target / span,
                        rest = POSITION - sum low basis, see `morph_range`. Absent: 0 and 1
    normals             true: NORMAL and the targets' NORMAL are the model's own. Absent: they are the smooth ones of
                        its rest pose
    faceted             true: the model has no normals, its triangles are flat. Absent: false
    deformer            {"kind", "arrays": {name: {"accessor", "shape"}}}: what stock players know nothing of, for the
                        model's vertices; the skin of the file is then the closest linear blend. Absent: it is the model
    displacements       [{"kind", "columns", "numbers", "arrays"}, …]: displacements whose coefficients follow the
                        bones, such as EigenSkin. Their columns are the morph targets after those of the corrections, as
                        many as `columns` says, in this order, or those that `numbers` lists; weights are baked for the
                        clips; arrays tell those of other poses
    levels              levels of detail. Absent: there are none. {"header": what `osteon.lod` says, "arrays": as those
                        of a deformer, with "bits": 64 where two whole numbers are one of 64 bits, "coverage", "coarse":
                        [{"node", …}]}: coarse meshes by their nodes, each with its own influences, vertices, triangles,
                        turns, polygons, primitives, plain, dequantize, low, span and deformer, see `bodies.py`

Morph targets are in the order of the corrections; those that move normals only come last. Weights of the others lie in
0 … 1, and those without animation (`mesh.weights`) show the rest pose. A program that leaves out the last targets must
first add them to POSITION and NORMAL by those weights; then it has the model of the lower rank. Osteon's own
`model.cut` does, because it cuts the model that was written. Some joints have keys between frames, see `keys_between`.

Notes. pygltflib takes 0.2 s to import and 16 ms to write the JSON of the horse with 30 bones (27 kB); the standard
library's json takes 6 ms and 1 ms. The dictionaries are as easy to fill.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon import __version__
from osteon.core.engines import engine_of
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.stored_levels import StoredLevels
from osteon.core.transforms import compose
from osteon.io.formats.engine_facts import target_attributes, writes_between
from osteon.io.formats.options import SaveOptions
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.morph_range import PackedMesh
from osteon.io.gltf.write.animations import joint_tracks, write_animations
from osteon.io.gltf.write.bodies import LOD_EXTENSION, coarse_models, levels_extras, list_coarse, write_bodies
from osteon.io.gltf.write.buffer import BufferWriter, embed_bytes, glb_bytes
from osteon.io.gltf.write.compact_form import compact_form
from osteon.io.gltf.write.compressed_views import EXTENSION
from osteon.io.gltf.write.fewer_keys import reduce_keys
from osteon.io.gltf.write.joints import Joints
from osteon.io.gltf.write.keys_between import add_between, key_frames
from osteon.io.gltf.write.materials import UsableTextures, plain_material, texture_extensions, write_materials
from osteon.io.gltf.write.names import NodeNames, name_nodes
from osteon.io.gltf.write.nodes import ARMATURE, SkinJoints, list_joints, node_entries, stand_node
from osteon.io.metadata.stock import stock_model
from osteon.io.metadata.without_normals import position_ranks, without_normals

__all__ = ["EXTRAS_VERSION", "write_gltf"]

EXTRAS_VERSION = 2
MESH_NODE = 0


def write_gltf(path: Path, model: SkinnedModel, options: SaveOptions, levels: StoredLevels | None = None) -> None:
    """All of `model` in one file; `read_gltf_model` gives the same back, to what 16 bits and fewer keys leave of it.

    With `levels`, which `read_gltf_levels` gives back, a stock player still shows the model.
    """
    root, buffer = _build(model, options, levels)
    path.write_bytes(embed_bytes(root, buffer) if path.suffix.lower() == ".gltf" else glb_bytes(root, buffer))


def _build(whole: SkinnedModel, options: SaveOptions, levels: StoredLevels | None) -> tuple[JsonObject, bytes]:
    """The JSON without its buffer entry, and the buffer, of the model as stock players show it."""
    if not len(whole.faces) or not whole.n_bones:
        raise GeometryError(f"'{whole.name}' has no {'triangles' if whole.n_bones else 'bones'}; glTF cannot hold it")
    wholes = [whole, *coarse_models(whole, levels)]
    shown = [stock_model(each, options, "glTF") for each in wholes]
    if target_attributes(shown[0], options) == 1:
        ranks = position_ranks(whole)
        wholes = [without_normals(each, ranks) for each in wholes]
        shown = [stock_model(each, options, "glTF") for each in wholes]
    model, engine = shown[0], engine_of(options.engine)
    keyed = key_frames(model, scale_inherited=engine.joint_scale_inherited)
    if writes_between(engine):
        keyed = add_between(keyed)
    names = name_nodes(model, keyed.joints.names, len(wholes) - 1)
    skin = list_joints(keyed.joints, keyed.nodes)
    buffer = BufferWriter(options.compress)
    small = compact_form(keyed, options)
    bodies = write_bodies(list(zip(wholes, shown, strict=True)), skin.of_bone, small, buffer, options)
    kept = reduce_keys(keyed, options.key_error) if options.key_error > 0 else {}
    nodes: list[JsonObject] = [{"name": names.mesh, "mesh": 0, "skin": 0}]
    nodes += node_entries(keyed.joints, keyed.nodes, names)
    if levels is not None and levels.coarse:
        list_coarse(nodes, names, levels)
    holders = [n for n, node in enumerate(nodes) if "mesh" in node]
    meshes: list[JsonObject] = [{"name": nodes[n]["name"]} | b.entry for n, b in zip(holders, bodies, strict=True)]
    tracks = joint_tracks(keyed.nodes, small.short, model.diagonal, small.precision)
    tracks += bodies[0].tracks(MESH_NODE, keyed.model.animation, small)
    for track in tracks:
        if track.path != "weights":
            stand_node(nodes[track.node], track.path, track.rest)
    root: JsonObject = {"asset": {"version": "2.0", "generator": f"Osteon {__version__}"}}
    root |= {"scene": 0, "scenes": [{"nodes": [MESH_NODE, ARMATURE]}], "nodes": nodes, "meshes": meshes}
    root["skins"] = [_skin(skin, bodies[0].mesh.packed, buffer)]
    root["animations"] = write_animations(keyed, tracks, kept, buffer)
    layout = bodies[0].layout
    plain = () if layout.has_materials else (plain_material(model.asset.colors is not None),)
    usable = UsableTextures(len(layout.uvs), options.normals)
    root |= write_materials(model.asset.materials + plain, usable, buffer)
    root |= _extensions(root.get("textures", []), options, len(bodies) > 1)
    extras = _extras(model, buffer) | bodies[0].extras(buffer) | _joint_extras(keyed.joints, skin, names)
    if levels is not None:
        extras["levels"] = levels_extras(levels, bodies[1:], holders[1:], buffer)
    root["asset"]["extras"] = {"osteon": extras}
    root["accessors"] = buffer.accessors
    views, data = buffer.finish()
    return root | views, data


def _extensions(textures: list[JsonObject], options: SaveOptions, has_coarse: bool) -> JsonObject:
    """What a program must know to read the file, and what it may."""
    numbers = ["KHR_mesh_quantization"] if options.whole_numbers else []
    numbers += [EXTENSION] if options.compress else []
    used, needed = texture_extensions(textures)
    used += [LOD_EXTENSION] if has_coarse else []
    listed = {"extensionsUsed": numbers + used, "extensionsRequired": numbers + needed}
    return {key: names for key, names in listed.items() if names}


def _skin(skin: SkinJoints, packed: PackedMesh, buffer: BufferWriter) -> JsonObject:
    """The joints and their inverse bind matrices, which also undo the 16 bits of the positions.

    No `skeleton`: Blender would take inverse bind matrices for the placement of all joints directly below it.
    """
    bind = skin.joint_from_rest
    if packed.dequantize is not None:
        bind = compose(bind, packed.dequantize.rest_from_stored)
    matrices = np.zeros((len(bind), 4, 4))
    matrices[:, :3], matrices[:, 3, 3] = bind, 1
    columns = matrices.transpose(0, 2, 1).reshape(-1, 16)
    return {"joints": skin.nodes, "inverseBindMatrices": buffer.add(columns, "bind")}


def _joint_extras(joints: Joints, skin: SkinJoints, names: NodeNames) -> JsonObject:
    """Which joints are bones, where not all are in their order, and what they are called in the model."""
    found: JsonObject = {}
    if not skin.are_bones:
        found |= {"version": EXTRAS_VERSION, "bone_joints": skin.of_bone}
    if names.joints != joints.names:
        found["joint_names"] = list(joints.names)
    return found


def _extras(model: SkinnedModel, buffer: BufferWriter) -> JsonObject:
    """What stock glTF cannot say of a model besides its mesh; the head of this file lists it."""
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
