"""The mesh instances of a scene, and the positions of their vertices at a given time.

Vertices are in world space: morphed, then either skinned (by the glTF specification the node of a skinned mesh does not
transform it) or transformed by their node. A mesh that a node shows many times (EXT_mesh_gpu_instancing) becomes
one geometry per instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.io.gltf.read.accessors import read_floats
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.nodes import NodeTree, Placement, read_nodes, scene_nodes
from osteon.io.gltf.read.primitives import Geometry, Influences, read_geometry

INSTANCING = "EXT_mesh_gpu_instancing"


def read_placements(document: Document, node: int) -> Float64 | None:
    """(n,4,4) transforms of the instances of a node's mesh, in its own space; None without instancing."""
    what = f"node {node}"
    entry = document.items("nodes")[node]
    extensions = document.object(entry, "extensions", what)
    if INSTANCING not in extensions:
        return None
    if "skin" in entry:
        raise document.error(
            f"{what} has instances of a skinned mesh ({INSTANCING}), which a skin cannot move; export it once"
        )
    accessors = document.object(document.object(extensions, INSTANCING, what), "attributes", what)
    parts = {
        name: read_floats(document, accessors[name], (width,), f"{name} of the instances of {what}")
        for name, width in (("TRANSLATION", 3), ("ROTATION", 4), ("SCALE", 3))
        if name in accessors
    }
    counts = {len(values) for values in parts.values()}
    if len(counts) > 1:
        raise document.error(f"the instances of {what} differ in number: {', '.join(map(str, sorted(counts)))}")
    if not counts:
        return None
    document.claim(128 * max(counts), f"the instances of {what}")
    placement = Placement(
        parts.get("TRANSLATION", np.zeros(3)),
        parts.get("ROTATION", np.array([0.0, 0, 0, 1])),
        parts.get("SCALE", np.ones(3)),
    )
    return placement.parent_from_node()


@np.errstate(over="ignore", invalid="ignore")  # an overflow is reported later, with its frame
def place_geometries(
    document: Document, geometries: list[Geometry], placements: Float64, node: int
) -> list[list[Geometry]]:
    """The geometries of a mesh, transformed once for each placement."""
    size = sum(g.positions.size + 2 * g.deltas.size + sum(p.faces.size for p in g.pieces) for g in geometries)
    document.claim(8 * size * len(placements), f"the {len(placements)} instances of node {node}")
    return [[_transformed(geometry, matrix) for geometry in geometries] for matrix in placements]


def _transformed(geometry: Geometry, matrix: Float64) -> Geometry:
    """Geometry transformed by a matrix; a reflection reverses the winding of the triangles."""
    linear = matrix[:3, :3]
    winding = slice(None, None, -1 if np.linalg.det(linear) < 0 else 1)
    normal_deltas = geometry.normal_deltas
    if normal_deltas is not None:
        size = np.cbrt(abs(np.linalg.det(linear)))
        normal_deltas = normal_deltas @ (linear / (size if size > 0 else 1.0)).T
    normals = geometry.normals
    if normals is not None and np.linalg.det(linear) != 0:
        normals = normals @ np.linalg.inv(linear)
    return replace(
        geometry,
        normals=normals,
        positions=geometry.positions @ linear.T + matrix[:3, 3],
        deltas=geometry.deltas @ linear.T,
        normal_deltas=normal_deltas,
        pieces=tuple(replace(piece, faces=piece.faces[:, winding]) for piece in geometry.pieces),
    )


@dataclass(frozen=True, slots=True)
class SkinJoints:
    """The joints of a skin, and their inverse bind matrices."""

    number: int  # of the skin in the file
    nodes: list[int]  # (j,)
    joint_from_mesh: Float64  # (j,4,4) inverse bind matrices


@dataclass(frozen=True, slots=True)
class MeshInstance:
    """Geometry as one node shows it."""

    geometry: Geometry
    node: int
    names: tuple[str, ...]  # one per piece
    skin: SkinJoints | None
    weights: Float64  # (m,) of the morph targets, without animation

    @property
    def n_vertices(self) -> int:
        return len(self.geometry.positions)


@dataclass(frozen=True, slots=True)
class GltfScene:
    """The nodes of a file, and the mesh instances of its scene."""

    tree: NodeTree
    instances: list[MeshInstance]

    @property
    def n_vertices(self) -> int:
        return sum(instance.n_vertices for instance in self.instances)

    def target_counts(self) -> dict[int, int]:
        """The number of morph targets of the mesh of each node."""
        return {instance.node: len(instance.weights) for instance in self.instances}


def read_scene(document: Document, shown: Sequence[int] | None = None) -> GltfScene:
    """All triangles of the default scene, or of the nodes `shown`; refused if there are none."""
    tree = read_nodes(document)
    meshes: dict[int, list[Geometry]] = {}
    skins: dict[int, SkinJoints] = {}
    instances: list[MeshInstance] = []
    for node in scene_nodes(document, tree) if shown is None else shown:
        entry = document.items("nodes")[node]
        if "mesh" not in entry:
            continue
        mesh = document.whole(entry, "mesh", f"node {node}")
        if mesh not in meshes:
            meshes[mesh] = read_geometry(document, mesh)
        skin = None
        if "skin" in entry:
            number = entry["skin"]
            document.item("skins", number, f"node {node}")
            skin = skins[number] = skins.get(number) or _read_skin(document, number)
        placements = read_placements(document, node)
        if placements is None:
            instances += _parts_of(document, node, meshes[mesh], skin)
        else:
            for number, geometries in enumerate(place_geometries(document, meshes[mesh], placements, node)):
                instances += _parts_of(document, node, geometries, skin, f"_{number}")
    if not any(len(piece.faces) for instance in instances for piece in instance.geometry.pieces):
        raise document.source.geometry_error(
            "holds clips but no mesh; play them on a character that has these joints: osteon skin --rig CHARACTER"
            if document.items("animations") and not document.items("meshes")
            else "holds no triangles; export the scene with its meshes"
        )
    return GltfScene(tree, instances)


def _parts_of(
    document: Document, node: int, geometries: list[Geometry], skin: SkinJoints | None, suffix: str = ""
) -> list[MeshInstance]:
    entry = document.items("nodes")[node]
    mesh = entry["mesh"]
    mesh_entry = document.items("meshes")[mesh]
    name = document.text(entry, "name", document.text(mesh_entry, "name", f"mesh_{mesh}")) + suffix
    n_targets = max((len(g.deltas) for g in geometries), default=0)
    owner = entry if "weights" in entry else mesh_entry
    weights = np.array(document.numbers(owner, "weights", f"node {node}", []))
    if len(weights) not in (0, n_targets):
        raise document.error(f"node {node} has {len(weights)} weights for {n_targets} morph targets")
    weights = weights if len(weights) else np.zeros(n_targets)
    rank = {number: i for i, number in enumerate(sorted(p.number for g in geometries for p in g.pieces))}
    instances = []
    for geometry in geometries:
        if len(geometry.deltas) != n_targets:
            raise document.error(f"the primitives of mesh {mesh} differ in their number of morph targets")
        used = None if geometry.influences is None else skin
        highest = 0 if geometry.influences is None else int(geometry.influences.joints.max())
        if used is not None and highest >= len(used.nodes):
            raise document.error(f"mesh {mesh} refers to joint {highest}, but its skin has {len(used.nodes)}")
        document.claim(24 * len(geometry.positions), f"node {node}")
        names = tuple(name if len(rank) == 1 else f"{name}_{rank[p.number]}" for p in geometry.pieces)
        instances.append(MeshInstance(geometry, node, names, used, weights))
    return instances


def _read_skin(document: Document, index: int) -> SkinJoints:
    entry = document.items("skins")[index]
    nodes = document.wholes(entry, "joints", f"skin {index}")
    if not nodes:
        raise document.error(f"skin {index} has no joints")
    for node in nodes:
        document.item("nodes", node, f"skin {index}")
    if "inverseBindMatrices" not in entry:
        return SkinJoints(index, nodes, np.broadcast_to(np.eye(4), (len(nodes), 4, 4)))
    stored = read_floats(document, entry["inverseBindMatrices"], (16,), f"inverse bind matrices of skin {index}")
    if len(stored) < len(nodes):
        raise document.error(f"skin {index} has {len(stored)} inverse bind matrices for {len(nodes)} joints")
    matrices = stored[: len(nodes)].reshape(-1, 4, 4).transpose(0, 2, 1)
    return SkinJoints(index, nodes, np.ascontiguousarray(matrices))


@np.errstate(over="ignore", invalid="ignore")  # an overflow is reported later, with its frame
def pose_instance(instance: MeshInstance, world: list[Float64], weights: Float64, out: NDArray[np.float32]) -> None:
    """Write the vertices to `out (f,v,3)`; `world (f,4,4)` for each node, `weights (f,m)` of the morph targets."""
    geometry = instance.geometry
    if instance.skin is not None:
        world_from_mesh = (
            np.stack([world[node] for node in instance.skin.nodes], axis=1) @ instance.skin.joint_from_mesh
        )
    for f in range(len(out)):
        shape = geometry.positions
        if len(weights[f]):
            shape = shape + np.tensordot(weights[f], geometry.deltas, axes=1)
        if instance.skin is None or geometry.influences is None:
            out[f] = shape @ world[instance.node][f, :3, :3].T + world[instance.node][f, :3, 3]
        else:
            out[f] = _skin(shape, geometry.influences, world_from_mesh[f, :, :3, :])


def _skin(shape: Float64, influences: Influences, matrices: Float64) -> Float32:
    """Linear blend skinning of (v,3) by the joints' matrices (j,3,4)."""
    from osteon.deform.pose import apply_blends, blend_matrices  # compiled: not needed to import the formats

    joints = np.ascontiguousarray(influences.joints, np.int32)
    weights = np.ascontiguousarray(influences.weights, np.float32)
    blends, posed = np.empty((len(shape), 3, 4)), np.empty((len(shape), 3), np.float32)
    blend_matrices(joints, weights, np.ascontiguousarray(matrices), np.arange(len(shape)), blends)
    apply_blends(blends, np.ascontiguousarray(shape), posed)
    return posed


def parents_of_joints(scene: GltfScene, nodes: list[int]) -> list[int]:
    """(j,) for each joint the nearest ancestor that is a joint, -1 without one."""
    joint_of = {node: j for j, node in reversed(list(enumerate(nodes)))}  # the first joint of a node
    ancestor = [-1] * len(scene.tree.parents)
    for node in scene.tree.order:
        parent = scene.tree.parents[node]
        if parent >= 0:
            ancestor[node] = joint_of.get(parent, ancestor[parent])
    return [ancestor[node] for node in nodes]
