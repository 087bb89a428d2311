"""Writes the pack of a skinned model or of a sequence, which the page shows (schema.py describes the format).

The header of a model names its deformer, its displacements and their arrays, so that a new kind needs no code here. The
levels of a model are orders and curves of every clip, slots in the order in which they are dropped, and coarser meshes
on the same bones; `engine/levels/` of the page plays them. Arrays that only other run times need, such as one order for
all clips, are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Int32
from osteon.core.character import Arrays, Character, Skin
from osteon.core.frames import FrameSource, frame_source
from osteon.core.mesh import PLAIN_PICTURES, Asset, Image, Mesh
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.edits import edited_character, edited_model
from osteon.io.engines import played_rows, where_it_plays
from osteon.io.formats.engine_facts import file_facts
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS
from osteon.view.pack.arrays import (
    bone_arrays,
    cluster_numbers,
    columns_by_kind,
    deformer_arrays,
    displacement_arrays,
    joint_arrays,
    mesh_arrays,
    shader_slots,
    source_arrays,
    split_normals,
    used_slots,
)
from osteon.view.pack.light import light_parts, split_light
from osteon.view.pack.poses import NO_POSES, ShownPoses, pose_parts
from osteon.view.pack.schema import SLOTS, pack_pieces

if TYPE_CHECKING:
    from osteon.apply.light.model_light import ModelLight
    from osteon.lod.model_levels import CoarseMesh, ModelLevels
    from osteon.lod.progressive_skin import BlendOrder
    from osteon.measure.distortion import Distortion
    from osteon.measure.skin_report import SkinReport


#: Image formats that browsers decode.
SHOWN_PICTURES = (*PLAIN_PICTURES, "image/webp", "image/avif")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Optional information about a model."""

    source: FrameSource | Float32 | None = None  # (f,v,3) the frames it should reproduce
    distortion: Distortion | None = None  # its error against the source
    report: SkinReport | None = None
    clusters: Int32 | None = None  # (t,) near-rigid cluster, -1 outlier
    levels: ModelLevels | None = None  # of bones, blends and triangles
    poses: ShownPoses | None = None  # meshes in known poses of its joints
    light: ModelLight | None = None  # precomputed, of the points of the model
    target_names: tuple[str, ...] = ()  # of the columns of its corrections, if its file names them


def pack_model(
    model: SkinnedModel,
    source: MeshSequence | Float32 | None = None,
    distortion: Distortion | None = None,
    report: SkinReport | None = None,
    clusters: Int32 | None = None,
    levels: ModelLevels | None = None,
    poses: ShownPoses | None = None,
    light: ModelLight | None = None,
) -> bytes:
    """The pack of a skinned model, with the frames of its source (f,v,3), levels, poses and light if they are known."""
    frames = source.source if isinstance(source, MeshSequence) else source
    return b"".join(_model_pieces(model, Evidence(frames, distortion, report, clusters, levels, poses, light)))


def pack_sequence(sequence: MeshSequence, clusters: Int32 | None = None) -> bytes:
    """The pack of a sequence."""
    return b"".join(_sequence_pieces(sequence, clusters))


def write_pack(path: Path, shown: SkinnedModel | MeshSequence, evidence: Evidence | None = None) -> None:
    """Write a pack piece by piece, without holding all of it in memory."""
    known = evidence or Evidence()
    pieces = _sequence_pieces(shown, known.clusters) if isinstance(shown, MeshSequence) else _model_pieces(shown, known)
    with path.open("wb") as file:
        file.writelines(pieces)


def _sequence_pieces(sequence: MeshSequence, clusters: Int32 | None) -> Iterator[bytes]:
    mesh = Mesh(sequence.rest, sequence.faces, sequence.asset, sequence.name)
    header, arrays = _mesh_part(mesh, sequence.clips, clusters)
    arrays |= source_arrays(sequence.source, sequence.n_frames, sequence.n_vertices)
    yield from pack_pieces({"kind": "sequence", **header}, arrays)


def _model_pieces(model: SkinnedModel, evidence: Evidence) -> Iterator[bytes]:
    model, n_vertices = edited_model(model), model.n_vertices
    if evidence.levels is None and evidence.poses is None:
        model, evidence = _split_at_hard_edges(model, evidence)
    header, arrays = _mesh_part(model.mesh, model.clips, evidence.clusters)
    families, family_arrays = _families(model)
    arrays |= bone_arrays(model) | joint_arrays(model) | family_arrays
    source = evidence.source
    header |= _bone_header(model) | families | _evidence_header(evidence) | NO_LEVELS | NO_POSES
    header["vertices_of_model"] = n_vertices
    if evidence.poses is not None:
        pose_header, pose_arrays, played = pose_parts(model, evidence.poses)
        header |= pose_header
        arrays |= pose_arrays
        source = source if played is None else played
    if source is not None:
        arrays |= source_arrays(source, model.n_frames, model.n_vertices)
    if evidence.levels is not None:
        level_header, found = level_parts(evidence.levels)
        header |= level_header
        arrays |= found
    light_header, light_arrays = light_parts(
        model, evidence.light, () if evidence.levels is None else evidence.levels.coarse
    )
    yield from pack_pieces({"kind": "model", **header, **light_header}, arrays | light_arrays)


def _split_at_hard_edges(model: SkinnedModel, evidence: Evidence) -> tuple[SkinnedModel, Evidence]:
    """The model with one vertex for each of its normals, original vertices first, and a matching source."""
    split = split_normals(model)
    if split is None:
        return model, evidence
    source = evidence.source
    if source is not None:
        whole = frame_source(source)
        source = np.ascontiguousarray(whole.read(0, whole.n_frames)[:, split.vertices])
    light = None if evidence.light is None else split_light(evidence.light, split.normals)
    return split.model, replace(evidence, source=source, light=light)


def _mesh_part(mesh: Mesh, clips: tuple[Clip, ...], clusters: Int32 | None) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays that models and sequences share."""
    asset = mesh.asset.with_first_sets().with_pictures(SHOWN_PICTURES)
    images = _images(asset)
    arrays = mesh_arrays(mesh)
    if clusters is not None and len(clusters):
        arrays["triangle_cluster"] = cluster_numbers(clusters)
    arrays |= {f"image_{i}": np.frombuffer(image.data, np.uint8) for i, image in enumerate(images)}
    header = {
        "name": mesh.name,
        "clips": [asdict(clip) for clip in clips],
        "diagonal": mesh.diagonal,
        "materials": _materials(asset, images),
        "images": [{"mime": image.mime, "array": f"image_{i}"} for i, image in enumerate(images)],
    }
    return header, arrays


def _families(model: SkinnedModel) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of the deformer and the displacements."""
    deformer, animation = model.deformer, model.animation
    found = {f"deformer.{name}": array for name, array in deformer_arrays(deformer).items()}
    names = {name: f"deformer.{name}" if f"deformer.{name}" in found else name for name in deformer.arrays()}
    displacements = []
    for displacement in model.character.displacements:
        if not displacement.basis.shape[0]:
            continue
        whole = displacement_arrays(displacement, animation, model.mesh)
        for kind, arrays in columns_by_kind(displacement.kind, whole).items():
            places = {name: f"displacement.{kind}.{name}" for name in arrays}
            found |= {places[name]: array for name, array in arrays.items()}
            displacements.append({"kind": kind, "arrays": places})
    return {"deformer": {"kind": deformer.kind, "arrays": names}, "displacements": displacements}, found


def _bone_header(model: SkinnedModel) -> dict[str, Any]:
    used = int((model.skin.weights != 0).sum(axis=1).max(initial=0))
    return {
        "bone_type": model.track.bone_type,
        "bone_names": list(model.track.names),
        "influences": min(max(1, used), SLOTS),
        "influences_left_out": max(0, used - SLOTS),
        "rank": model.rank,
        "plays": [{"label": label, "text": text} for label, text in _plays(model)],
    }


def _plays(model: SkinnedModel) -> list[tuple[str, str]]:
    """The players that can and cannot play a .glb of the model, as `osteon skin` writes it."""
    return played_rows(where_it_plays(file_facts(model, ".glb", DEFAULT_SAVE_OPTIONS)))


def _evidence_header(evidence: Evidence) -> dict[str, Any]:
    report = None if evidence.report is None else _finite(evidence.report.to_json())
    return {
        "report": report,
        "error_percent_by_rank": None if report is None else report["error_percent_by_rank"],
        "target_names": list(evidence.target_names),
        "distortion": None if evidence.distortion is None else _finite(_in_short(evidence.distortion)),
    }


def _in_short(distortion: Distortion) -> dict[str, Any]:
    """The summary of a distortion, without its values for every vertex."""
    return {
        "error_percent": distortion.error_percent,
        "rms": distortion.rms,
        "worst": asdict(distortion.worst),
        "per_frame": distortion.per_frame.tolist(),
    }


def _finite(value: Any) -> Any:
    """The same JSON with null for numbers that are not finite, such as the E of a source that does not move."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _materials(asset: Asset, images: list[Image]) -> list[dict[str, Any]]:
    place = {id(image): i for i, image in enumerate(images)}
    return [
        {
            "name": material.name,
            "base_color": list(material.base_color),
            "double_sided": material.double_sided,
            "alpha_mode": material.alpha_mode,
            "alpha_cutoff": material.alpha_cutoff,
            "texture": place.get(id(material.texture("base_color"))),
        }
        for material in asset.materials
    ]


def _images(asset: Asset) -> list[Image]:
    """Images of base colours, each once; none without texture coordinates."""
    found = [material.texture("base_color") for material in asset.materials] if asset.uvs is not None else []
    return list({id(image): image for image in found if image is not None}.values())


#: The header of a model without levels.
NO_LEVELS: dict[str, Any] = {"levels": None, "coarse": [], "coverage": []}
#: Arrays of a ProgressiveSkin that the page reads.
PLAYED = re.compile(r"clip\d+\.(order|parents|offsets|errors)|curve\d+\.\w+")


def level_parts(levels: ModelLevels) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of all levels, including the slots of the model in the order in which they are dropped."""
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
    """Header and arrays of a coarse mesh, with its influences and corrections."""
    bones, weights = _slots(mesh.blends)
    header = {"heirs": mesh.blends.heirs[:SLOTS].tolist(), "influences": used_slots(weights)}
    character = edited_character(mesh.character)
    return header, mesh_arrays(character.mesh) | {"bones": bones, "weights": weights} | _own(character)


def _own(character: Character) -> Arrays:
    """The arrays of a deformer besides bones and weights, and the columns of the displacements.

    Their coefficients, and the tables to compute them, are those of the whole model.
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
    """(v,8) bones and weights from the slot that is kept longest to the one that is dropped first.

    The weights of slots beyond eight have been added to their heirs.
    """
    slots = min(blends.n_blends, SLOTS)
    skin = Skin(blends.bones[:, :slots], blends.weights(slots)[:, :slots])
    return shader_slots(skin, np.tile(np.arange(slots), (skin.n_vertices, 1)))
