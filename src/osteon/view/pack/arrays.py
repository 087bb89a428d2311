"""The arrays of a pack, in the types that the shaders of the page read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation
from osteon.core.arrays import Float32, Int32, Int64
from osteon.core.character import Arrays, Character, Deformer, Displacement, Skin, StoredDisplacement, position_rank
from osteon.core.errors import GeometryError
from osteon.core.frames import FrameSource, each_frame, frame_source
from osteon.core.mesh import Asset, CornerNormals, Mesh
from osteon.core.model import SkinnedModel
from osteon.core.topology import weld_points
from osteon.io.metadata.baked import table_arrays
from osteon.io.skeletons.files import tips_of_joints
from osteon.view.pack.schema import OUTLIER, SLOTS

#: Bytes of source frames above which they are stored as 16-bit numbers.
SOURCE_BYTES = 256_000_000


def mesh_arrays(mesh: Mesh) -> Arrays:
    """The rest pose, its triangles and normals, and the arrays of the asset."""
    from osteon.deform.normals import rest_normals  # imports numba

    return {
        "rest": mesh.rest,
        "faces": mesh.faces.astype(np.uint32),
        "normals": rest_normals(mesh)[mesh.normal_of_vertex].astype(np.float32),
        **_smooth_groups(mesh),
        **asset_arrays(mesh.asset),
    }


def _smooth_groups(mesh: Mesh) -> Arrays:
    """For each vertex the first one of its smooth group; no array if each vertex is its own group.

    The page computes the normals of source frames with it: the two sides of a texture seam are one surface.
    """
    from osteon.core.normals import SourceNormals  # imports numba

    source = SourceNormals.of(mesh, weld_points(mesh.rest)[1], mesh.asset.normals)
    group = np.arange(mesh.n_vertices, dtype=np.uint32)
    group[mesh.faces.reshape(-1)] = source.vertex[source.of_corner.reshape(-1)]
    return {} if (group == np.arange(mesh.n_vertices)).all() else {"smooth_with": group}


def bone_arrays(model: SkinnedModel) -> Arrays:
    """Influences, bone transforms and bone positions: the same for every deformer."""
    bones, weights = _slots(model.skin)
    return {
        "bones": bones,
        "weights": weights,
        "transforms": model.animation.transforms,
        "bone_points": _bone_points(model),
    }


def joint_arrays(model: SkinnedModel) -> Arrays:
    """Rest positions and parents of the joints, and the tips of the last ones; no arrays without a skeleton."""
    skeleton = model.skeleton
    if skeleton is None or not len(skeleton.names) or len(skeleton.names) != model.n_bones:
        return {}
    return {
        "joint_points": skeleton.world_from_joint[..., 3].astype(np.float32),
        "joint_parents": skeleton.parents.astype(np.int32),
        "joint_tips": tips_of_joints(model).astype(np.float32),
    }


def deformer_arrays(deformer: Deformer) -> Arrays:
    """The arrays of a deformer by name, without bones and weights that equal the slots of every model."""
    arrays = family_arrays(deformer)
    # The slots are sorted: other arrays per slot would not match them.
    is_skin = set(arrays) == {"bones", "weights"} and arrays["bones"].ndim == 2
    in_slots = {"bones", "weights"} if is_skin else set[str]()
    return {name: array for name, array in arrays.items() if name not in in_slots}


def displacement_arrays(displacement: Displacement, animation: Animation, mesh: Mesh) -> Arrays:
    """The arrays of a displacement by name with its coefficients in every frame; normals per vertex."""
    found = table_arrays(displacement) | {"basis": displacement.basis}
    if displacement.normal_basis is not None:
        found["normal_basis"] = np.ascontiguousarray(displacement.normal_basis[:, mesh.normal_of_vertex])
    coefficients = displacement.coefficients(animation)
    return {name: _as_32_bit(array) for name, array in found.items()} | {"coefficients": coefficients}


def columns_by_kind(kind: str, arrays: Arrays) -> dict[str, Arrays]:
    """Columns that move positions under their kind, and columns of corrections that only move normals as `normals`."""
    rank = position_rank(arrays["basis"])
    if kind != StoredDisplacement.kind or rank == len(arrays["basis"]) or "normal_basis" not in arrays:
        return {kind: arrays}
    parts: dict[str, Arrays] = {}
    if rank:
        kept = {name: _columns(name, array, slice(rank)) for name, array in arrays.items()}
        parts[kind] = kept if kept["normal_basis"].any() else {n: a for n, a in kept.items() if n != "normal_basis"}
    last = {name: _columns(name, array, slice(rank, None)) for name, array in arrays.items()}
    parts["normals"] = {name: array for name, array in last.items() if name != "basis"}
    return parts


def _columns(name: str, array: NDArray[np.generic], columns: slice) -> NDArray[np.generic]:
    """Some columns of an array (r,…), or of coefficients (f,r)."""
    return np.ascontiguousarray(array[:, columns] if name == "coefficients" else array[columns])


def family_arrays(family: Deformer | Displacement) -> Arrays:
    """The arrays of a deformer or displacement by name, as 32-bit numbers."""
    return {name: _as_32_bit(array) for name, array in family.arrays().items()}


def _as_32_bit(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array as 32-bit numbers."""
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int32)


def _slots(skin: Skin) -> tuple[NDArray[np.uint16], Float32]:
    """(v,8) bones and weights, the largest first; beyond eight, the smallest are dropped and the rest is normalised."""
    return shader_slots(skin, np.argsort(-np.abs(skin.weights), axis=1, kind="stable")[:, :SLOTS])


def shader_slots(skin: Skin, order: Int64) -> tuple[NDArray[np.uint16], Float32]:
    """(v,8) the slots in `order` (v,k), k <= 8; the weights of a vertex that loses some are normalised."""
    if skin.bones.size and skin.bones.max() > np.iinfo(np.uint16).max:
        raise GeometryError(f"bones: the page shows at most 65536, the model has {int(skin.bones.max()) + 1}")
    weights = np.take_along_axis(skin.weights, order, axis=1)
    if skin.n_influences > SLOTS and (left := (skin.weights != 0).sum(axis=1) > SLOTS).any():
        weights[left] /= weights[left].sum(axis=1, keepdims=True)
    bones = np.take_along_axis(skin.bones, order, axis=1)
    wider = ((0, 0), (0, SLOTS - weights.shape[1]))
    return np.pad(bones, wider).astype(np.uint16), np.pad(weights, wider).astype(np.float32)


def used_slots(weights: Float32) -> int:
    """The number of used slots (v,k), at least one."""
    return int(np.flatnonzero(weights.any(axis=0)).max(initial=0)) + 1


def _bone_points(model: SkinnedModel) -> Float32:
    """(b,3) the centre of the vertices that each bone moves, in the rest pose; of the mesh if it moves none."""
    weights = np.abs(model.skin.weights.astype(np.float64)).reshape(-1)
    bones = model.skin.bones.reshape(-1)
    points = np.repeat(model.rest.astype(np.float64), model.skin.n_influences, axis=0)
    total = np.bincount(bones, weights, minlength=model.n_bones)
    sums = [np.bincount(bones, weights * points[:, i], minlength=model.n_bones) for i in range(3)]
    centers = np.stack(sums, axis=1) / np.where(total > 0, total, 1)[:, None]
    middle = model.rest.mean(axis=0, dtype=np.float64)
    return np.where(total[:, None] > 0, centers, middle).astype(np.float32)


def asset_arrays(asset: Asset) -> Arrays:
    """Colours, texture coordinates and the materials of triangles."""
    arrays: Arrays = {}
    if asset.colors is not None:
        arrays["colors"] = np.rint(255 * np.clip(asset.colors, 0, 1)).astype(np.uint8)
    if asset.uvs is not None:
        arrays["uvs"] = asset.uvs
    if asset.triangle_material is not None and asset.materials:
        arrays["triangle_material"] = asset.triangle_material.astype(np.uint16)
    return arrays


def source_arrays(frames: FrameSource | Float32, n_frames: int, n_vertices: int) -> Arrays:
    """The frames of the source as 32-bit floats or, if they are large, in 16-bit steps."""
    source = frame_source(frames)
    if (source.n_frames, source.n_vertices) != (n_frames, n_vertices):
        raise GeometryError(
            f"source: expected {n_frames} frames of {n_vertices} vertices, got {source.n_frames} of {source.n_vertices}"
        )
    if 12 * source.n_frames * source.n_vertices > SOURCE_BYTES:
        return _short_source(source)
    return {"source": source.read(0, source.n_frames)}


def cluster_numbers(labels: Int32) -> NDArray[np.uint16]:
    """(t,) cluster numbers of the page, with 65535 for an outlier."""
    return np.where(labels < 0, OUTLIER, np.minimum(labels, OUTLIER - 1)).astype(np.uint16)


def _short_source(source: FrameSource) -> Arrays:
    """Frames as 16-bit steps from the lower corner of each frame; its minimum and step are three numbers each."""
    scale = np.empty((source.n_frames, 6), np.float32)
    steps = np.empty((source.n_frames, source.n_vertices, 3), np.uint16)
    for f, frame in enumerate(each_frame(source)):
        low, high = frame.min(axis=0).astype(np.float64), frame.max(axis=0).astype(np.float64)
        scale[f] = np.concatenate([low, np.maximum(high - low, 1e-30) / 65535])
        counted = (frame - scale[f, :3].astype(np.float64)) / scale[f, 3:]
        steps[f] = np.clip(np.rint(counted), 0, 65535)
    return {"source_u2": steps, "source_scale": scale}


@dataclass(frozen=True, slots=True)
class SplitModel:
    """A model with a vertex for each pair of a vertex and a normal."""

    model: SkinnedModel
    vertices: Int32  # (n,) the vertex that each was split from; those that there were come first
    normals: Int32  # (n,) the normal of each in the whole model


def split_normals(model: SkinnedModel) -> SplitModel | None:
    """The model with one normal per vertex; None if it has no more already."""
    mesh, own = model.mesh, model.asset.normals
    if own is None:
        return None
    first = mesh.normal_of_vertex
    odd = own.of_corner != first[mesh.faces]
    if not odd.any():
        return None
    pairs = np.stack([mesh.faces[odd], own.of_corner[odd]], axis=1)
    more, place = np.unique(pairs, axis=0, return_inverse=True)
    vertices = np.concatenate([np.arange(mesh.n_vertices), more[:, 0]]).astype(np.int32)
    normals = np.concatenate([first, more[:, 1]]).astype(np.int32)
    faces = mesh.faces.copy()
    faces[odd] = mesh.n_vertices + place.reshape(-1)
    asset = replace(
        mesh.asset,
        normals=CornerNormals(own.values[normals], faces),
        colors=None if mesh.asset.colors is None else mesh.asset.colors[vertices],
        joint_of_vertex=None if mesh.asset.joint_of_vertex is None else mesh.asset.joint_of_vertex[vertices],
    )
    character = model.character
    displacements = tuple(
        d.on_mesh(
            np.ascontiguousarray(d.basis[:, vertices]),
            None if d.normal_basis is None else np.ascontiguousarray(d.normal_basis[:, normals]),
        )
        for d in character.displacements
    )
    split = Character(
        replace(mesh, rest=mesh.rest[vertices], faces=faces, asset=asset),
        character.deformer.take(vertices),
        displacements,
        character.skeleton,
        None if character.fallback is None else character.fallback.take(vertices),
    )
    return SplitModel(SkinnedModel(split, model.animation), vertices, normals)
