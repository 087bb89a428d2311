"""An FBX character or clip as a glTF document, so that it is a rig and a clip as any other file.

Nodes keep their names, tree and places. Vertices occur once for each texture coordinate and normal that they have,
as glTF needs it. Blend shapes are not read; animation stacks are sampled at the rate of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from osteon.io.formats.format_types import find_extra
from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.load.source import Source
from osteon.io.meshes.mesh import Fans, Polygons
from osteon.io.native.client import Answer, NativeChild, NativeTask

Arrays = dict[str, np.ndarray]

RIG_TASK = NativeTask("FBX", "osteon.io.fbx.rig_child")
#: Places that differ by less than this part of their size are the same.
STILL = 1e-6
#: Bones per vertex that are kept.
MOST_INFLUENCES = 8

_PARTS = {"translation": slice(0, 3), "rotation": slice(3, 7), "scale": slice(7, 10)}


def open_fbx_document(path: Path, fps: float | None = None) -> Document:
    """The scene of an FBX file with its meshes."""
    return _open(path, fps, meshes=True)


def open_fbx_clips(path: Path, fps: float | None = None) -> Document:
    """The same without geometry: enough for clips."""
    return _open(path, fps, meshes=False)


def holds_fbx_clips(path: Path) -> bool:
    """Whether the file has animations and no mesh."""
    header = _ask(path, None, meshes=False, sample=False).value
    return bool(header["clips"]) and not header["meshes"]


def _open(path: Path, fps: float | None, *, meshes: bool) -> Document:
    about = _ask(path, fps, meshes=meshes, sample=True)
    return build_document(Source(path), about.value, about.arrays)


def _ask(path: Path, fps: float | None, *, meshes: bool, sample: bool) -> Answer:
    source = Source(path)
    with source.open():
        find_extra("ufbx", "fbx", path)
    child = NativeChild(RIG_TASK, source, path.stat().st_size)
    try:
        return child.query({"path": str(path), "fps": fps, "clips": [], "meshes": meshes, "sample": sample})
    finally:
        child.end()


def build_document(source: Source, header: dict[str, Any], arrays: Arrays) -> Document:
    """The glTF document of the child's answer."""
    buffer = BufferWriter()
    root: JsonObject = {"asset": {"version": "2.0"}, "scene": 0, "nodes": _nodes(header, arrays["places"])}
    root["scenes"] = [{"nodes": [n for n, parent in enumerate(header["parents"]) if parent < 0]}]
    for number, mesh in enumerate(header["meshes"]):
        if f"{number}_points" not in arrays:
            root.setdefault("meshes", []).append({"name": mesh["name"], "primitives": []})
            continue
        _add_mesh(
            root,
            buffer,
            source,
            mesh,
            {k.partition("_")[2]: v for k, v in arrays.items() if k.startswith(f"{number}_")},
        )
    if header["materials"]:
        root["materials"] = [_material(entry) for entry in header["materials"]]
    animations = [a for i, name in enumerate(header["clips"]) if (a := _animation(i, name, arrays, buffer))]
    if animations:
        root["animations"] = animations
    root["accessors"] = buffer.accessors
    views, data = buffer.finish()
    root |= views | {"buffers": [{"byteLength": len(data)}]}
    return Document(source, root, data, max(len(data), source.path.stat().st_size))


def _nodes(header: dict[str, Any], places: np.ndarray) -> list[JsonObject]:
    nodes: list[JsonObject] = []
    for name, place in zip(header["nodes"], places, strict=True):
        entry: JsonObject = {"name": name} if name else {}
        entry |= {path: place[part].tolist() for path, part in _PARTS.items()}
        nodes.append(entry)
    for node, parent in enumerate(header["parents"]):
        if parent >= 0:
            nodes[parent].setdefault("children", []).append(node)
    return nodes


def _material(entry: dict[str, Any]) -> JsonObject:
    color = [float(min(max(c, 0.0), 1.0)) for c in entry["base_color"]]
    pbr = {
        "baseColorFactor": color,
        "metallicFactor": float(np.clip(entry["metallic"], 0, 1)),
        "roughnessFactor": float(np.clip(entry["roughness"], 0, 1)),
    }
    alpha = {"alphaMode": "BLEND"} if color[3] < 1 else {}
    return {"name": entry["name"], "pbrMetallicRoughness": pbr, "doubleSided": True} | alpha


def _add_mesh(root: JsonObject, buffer: BufferWriter, source: Source, mesh: dict[str, Any], own: Arrays) -> None:
    """A mesh with a primitive for each material, all on one set of vertices, and its skin."""
    polygons = Polygons(own["sizes"], own["corners"]).checked(source, len(own["points"]))
    fans = Fans.of(polygons.sizes)
    keys: list[np.ndarray] = [polygons.corners[:, None].astype(np.float64)]
    keys += [np.round(own[name], 7) for name in ("uvs", "normals", "colors") if name in own]
    _, first, vertex_of_corner = np.unique(np.concatenate(keys, axis=1), axis=0, return_index=True, return_inverse=True)
    vertex_of_corner = vertex_of_corner.reshape(-1)
    vertices = polygons.corners[first]
    attributes = {"POSITION": buffer.add(own["points"][vertices], "vertices", bounds=True)}
    if "normals" in own:
        lengths = np.linalg.norm(own["normals"][first], axis=1, keepdims=True)
        if (lengths > 0).all():
            attributes["NORMAL"] = buffer.add(own["normals"][first] / lengths, "vertices")
    if "uvs" in own:
        attributes["TEXCOORD_0"] = buffer.add(own["uvs"][first] * [1, -1] + [0, 1], "vertices")
    if "colors" in own:
        attributes["COLOR_0"] = buffer.add(own["colors"][first].clip(0, 1), "vertices")
    if mesh["joints"]:
        attributes |= _influences(own, vertices, buffer)
        columns = np.zeros((len(mesh["joints"]), 4, 4))
        columns[:, :3], columns[:, 3, 3] = own["bind"], 1
        skin: JsonObject = {"joints": [_free_joint(root, mesh) if joint < 0 else joint for joint in mesh["joints"]]}
        skin["inverseBindMatrices"] = buffer.add(columns.transpose(0, 2, 1).reshape(-1, 16), "bind")
        root.setdefault("skins", []).append(skin)
        root["nodes"][mesh["node"]]["skin"] = len(root["skins"]) - 1
    triangles = vertex_of_corner[fans.corners]
    if mesh["mirrored"]:
        triangles = triangles[:, ::-1]
    material = own["material"][fans.polygon]
    primitives = []
    for number in np.unique(material).tolist():
        corners = triangles[material == number].reshape(-1).astype(np.uint32)
        entry: JsonObject = {"attributes": dict(attributes), "indices": buffer.add(corners, "indices")}
        primitives.append(entry | ({"material": number} if number >= 0 else {}))
    root.setdefault("meshes", []).append({"name": mesh["name"], "primitives": primitives})
    root["nodes"][mesh["node"]]["mesh"] = len(root["meshes"]) - 1


def _free_joint(root: JsonObject, mesh: dict[str, Any]) -> int:
    """A child of the mesh's node for vertices that no bone moves: the node of a skinned mesh should not be a joint."""
    holder = root["nodes"][mesh["node"]]
    root["nodes"].append({"name": f"{holder.get('name', 'mesh')}_unweighted"})
    holder.setdefault("children", []).append(len(root["nodes"]) - 1)
    return len(root["nodes"]) - 1


def _influences(own: Arrays, vertices: np.ndarray, buffer: BufferWriter) -> dict[str, int]:
    """The largest weights of every vertex, scaled to a sum of one; a vertex without any follows the first joint."""
    dense = np.zeros((len(own["points"]), len(own["bind"])), np.float32)
    np.add.at(dense, (own["vertex"], own["joint"]), np.maximum(own["weight"], 0))
    most = min(MOST_INFLUENCES, dense.shape[1], max(1, int((dense > 0).sum(axis=1).max())))
    joints = np.argsort(-dense, axis=1, kind="stable")[:, :most]
    weights = np.take_along_axis(dense, joints, axis=1).astype(np.float64)
    free = weights.sum(axis=1) <= 0
    joints[free, 0], weights[free, 0] = 0, 1
    weights /= weights.sum(axis=1, keepdims=True)
    width = 4 if most <= 4 else 8
    joints = np.pad(np.where(weights > 0, joints, 0), ((0, 0), (0, width - most)))[vertices]
    weights = np.pad(weights, ((0, 0), (0, width - most)))[vertices]
    kind = np.uint8 if dense.shape[1] <= 256 else np.uint16
    found = {}
    for n in range(width // 4):
        now = slice(4 * n, 4 * n + 4)
        found[f"JOINTS_{n}"] = buffer.add(joints[:, now].astype(kind), "vertices")
        found[f"WEIGHTS_{n}"] = buffer.add(weights[:, now], "vertices")
    return found


def _animation(number: int, name: str, arrays: Arrays, buffer: BufferWriter) -> JsonObject | None:
    """Channels of all that moves or is elsewhere than without animation."""
    frames, still = arrays[f"clip_{number}"], arrays["places"]
    seconds = arrays[f"moments_{number}"] - arrays[f"moments_{number}"][0]
    times = buffer.add(seconds.astype(np.float32), "keys", bounds=True)
    channels: list[JsonObject] = []
    samplers: list[JsonObject] = []
    for node in range(len(still)):
        for path, part in _PARTS.items():
            values, rest = frames[:, node, part], still[node, part]
            if path == "rotation":
                values = _continuous(values * (-1 if values[0] @ rest < 0 else 1))
            if np.abs(values - rest).max() <= STILL * max(1.0, float(np.abs(rest).max())):
                continue
            channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
            samplers.append({"input": times, "output": buffer.add(values, "keys")})
    return {"name": name, "channels": channels, "samplers": samplers} if channels else None


def _continuous(rotations: np.ndarray) -> np.ndarray:
    """Quaternions (f,4) with signs such that neighbours are in one hemisphere."""
    signs = np.cumprod(np.concatenate([[1.0], np.where((rotations[1:] * rotations[:-1]).sum(axis=1) < 0, -1.0, 1.0)]))
    return np.asarray(rotations * signs[:, None])
