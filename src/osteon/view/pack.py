"""One model as one binary for the page: a header in JSON, then arrays that go to the graphics card as they are.

    "OSTP", u32 version, u32 bytes of the JSON; the JSON, padded with spaces so that the data begins at a multiple of
    16; the arrays, each at a multiple of 16 from the beginning of the data. All numbers are little-endian.

`engine/pack.js` of the page reads this: add, but do not rename. A sequence that has no model yet is packed as one bone
that does not move, with its frames as the source, so that the page needs no second form.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float32, Int32
from osteon.core.asset import Asset, Image
from osteon.core.frames import FrameSource
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin import Skin
from osteon.core.transforms import identity
from osteon.view.pack_arrays import (
    SLOTS,
    Arrays,
    asset_arrays,
    cluster_numbers,
    model_arrays,
    rest_normals,
    source_arrays,
)

if TYPE_CHECKING:  # both import numba
    from osteon.measure.distortion import Distortion
    from osteon.measure.skin_report import SkinReport

__all__ = [
    "Evidence",
    "array_parts",
    "pack_model",
    "pack_sequence",
    "read_arrays",
    "rest_normals",
    "still_model",
    "write_pack",
]

MAGIC = b"OSTP"
VERSION = 1
ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a model besides itself; every field may be absent."""

    source: FrameSource | Float32 | None = None  # (f,v,3) the frames it should play
    distortion: Distortion | None = None  # how far it is from them
    report: SkinReport | None = None
    clusters: Int32 | None = None  # (t,) near-rigid cluster, -1 outlier


def pack_model(
    model: SkinnedModel,
    source: MeshSequence | Float32 | None = None,
    distortion: Distortion | None = None,
    report: SkinReport | None = None,
    clusters: Int32 | None = None,
) -> bytes:
    """The bytes of a skinned model, with the frames of its source (f,v,3) if they are known."""
    frames = source.source if isinstance(source, MeshSequence) else source
    return b"".join(_parts(model, Evidence(frames, distortion, report, clusters), "model"))


def pack_sequence(sequence: MeshSequence, clusters: Int32 | None = None) -> bytes:
    """The bytes of a sequence that has no model yet."""
    return b"".join(_parts(still_model(sequence), Evidence(sequence.source, clusters=clusters), "sequence"))


def write_pack(path: Path, shown: SkinnedModel | MeshSequence, evidence: Evidence | None = None) -> None:
    """Write a pack without holding all of it in memory."""
    known = evidence or Evidence()
    if isinstance(shown, MeshSequence):
        parts = _parts(still_model(shown), Evidence(shown.source, clusters=known.clusters), "sequence")
    else:
        parts = _parts(shown, known, "model")
    with path.open("wb") as file:
        file.writelines(parts)


def read_arrays(path: Path, names: Collection[str]) -> Arrays:
    """Some arrays of a pack that this program wrote; those that it does not have are left out."""
    with path.open("rb") as file:
        start = struct.calcsize("<4sII")
        _, _, length = struct.unpack("<4sII", file.read(start))
        header = json.loads(file.read(length))
    held = {name: header["arrays"][name] for name in names if name in header["arrays"]}
    return {
        name: np.fromfile(
            path, "<" + entry["dtype"], math.prod(entry["shape"]), offset=start + length + entry["offset"]
        ).reshape(entry["shape"])
        for name, entry in held.items()
    }


def still_model(sequence: MeshSequence) -> SkinnedModel:
    """The rest pose on one bone that does not move."""
    n_vertices = sequence.n_vertices
    return SkinnedModel(
        rest=sequence.rest,
        faces=sequence.faces,
        skin=Skin(np.zeros((n_vertices, 1), np.int32), np.ones((n_vertices, 1), np.float32)),
        track=BoneTrack(identity(sequence.n_frames, 1).astype(np.float32), "rigid", ("still",)),
        clips=sequence.clips,
        asset=sequence.asset,
        name=sequence.name,
    )


def _parts(model: SkinnedModel, evidence: Evidence, kind: str) -> Iterator[bytes]:
    """The pack, piece by piece."""
    images = _images(model.asset)
    arrays = model_arrays(model) | asset_arrays(model.asset)
    if evidence.clusters is not None and len(evidence.clusters):
        arrays["triangle_cluster"] = cluster_numbers(evidence.clusters)
    if evidence.source is not None:
        arrays |= source_arrays(model, evidence.source)
    arrays |= {f"image_{i}": np.frombuffer(image.data, np.uint8) for i, image in enumerate(images)}
    yield from array_parts(_header(model, evidence, kind, images), arrays)


def array_parts(header: dict[str, Any], arrays: Arrays) -> Iterator[bytes]:
    """A header and arrays in the form of a pack, piece by piece."""
    header = {**header, "arrays": {}}
    offset = 0
    for name, array in arrays.items():
        header["arrays"][name] = {"dtype": array.dtype.str[1:], "shape": list(array.shape), "offset": offset}
        offset += _aligned(array.nbytes)
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    start = struct.calcsize("<4sII")
    text = text.ljust(_aligned(start + len(text)) - start)
    yield struct.pack("<4sII", MAGIC, VERSION, len(text)) + text
    for array in arrays.values():
        yield np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        yield bytes(_aligned(array.nbytes) - array.nbytes)


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def _header(model: SkinnedModel, evidence: Evidence, kind: str, images: list[Image]) -> dict[str, Any]:
    report = None if evidence.report is None else _finite(evidence.report.to_json())
    used = int((model.skin.weights != 0).sum(axis=1).max(initial=0))
    return {
        "name": model.name,
        "kind": kind,
        "clips": [asdict(clip) for clip in model.clips],
        "bone_type": model.track.bone_type,
        "bone_names": list(model.track.names),
        "diagonal": float(np.linalg.norm(np.ptp(model.rest.astype(np.float64), axis=0))),
        "influences": min(max(1, used), SLOTS),
        "influences_left_out": max(0, used - SLOTS),
        "rank": model.rank,
        "report": report,
        "error_percent_by_rank": None if report is None else report["error_percent_by_rank"],
        "distortion": None if evidence.distortion is None else _finite(_in_short(evidence.distortion)),
        "materials": _materials(model.asset, images),
        "images": [{"mime": image.mime, "array": f"image_{i}"} for i, image in enumerate(images)],
    }


def _in_short(distortion: Distortion) -> dict[str, Any]:
    """What counts of a distortion, without its values for every vertex."""
    return {
        "error_percent": distortion.error_percent,
        "rms": distortion.rms,
        "worst": asdict(distortion.worst),
        "per_frame": distortion.per_frame.tolist(),
    }


def _finite(value: Any) -> Any:
    """The same JSON with null for what is not finite, such as the E of a source that does not move."""
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
    """Pictures of base colours, each once; without texture coordinates none is of use."""
    found = [material.texture("base_color") for material in asset.materials] if asset.uvs is not None else []
    return list({id(image): image for image in found if image is not None}.values())
