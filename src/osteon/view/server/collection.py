"""The items that the page shows: models and sequences, each with its pack on disk.

Several models of one source become items that can be shown in place of each other. The frames of the source, by far the
largest part of a pack, are in the pack of the first model only; the page takes them from there for all. A folder of
poses in place of the source is matched to the bones and vertices of each model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.io import holds_model, load_model, load_sequence, load_stored_levels, load_stored_light
from osteon.io.comparisons import ComparedModel
from osteon.io.load.source import numbered
from osteon.view.pack.model_pack import Evidence, write_pack
from osteon.view.pack.poses import check_use, holds_poses, load_poses_of
from osteon.view.server.model_files import ModelFile, NamedModels, named_after_file, target_names

if TYPE_CHECKING:
    from osteon.apply.light.model_light import ModelLight
    from osteon.lod.model_levels import ModelLevels


Inputs = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Peers:
    """Items of one source, which can be shown in place of each other."""

    group: str  # id of the first one
    source_in: str = ""  # id of the item whose pack holds the frames of the source; "" for its own
    label: str = ""  # its name beside the others
    about: str = ""  # description of the model
    compared: ComparedModel | None = None  # measured by a comparison

    def to_json(self) -> dict[str, Any]:
        texts = {"source_in": self.source_in, "label": self.label, "about": self.about}
        figures = self.compared and {
            "training": asdict(self.compared.training),
            "unseen": asdict(self.compared.unseen),
        }
        return {
            "group": self.group,
            **{key: value for key, value in texts.items() if value},
            **({"compared": figures} if figures else {}),
        }


@dataclass(frozen=True, slots=True)
class Item:
    """A model or a sequence."""

    id: str
    name: str
    kind: Literal["model", "sequence"]
    pack: Path
    sequence: Inputs = ()  # the inputs of its source, which a fit reads again; () for none
    model: Path | None = None  # a file of the fitted model, for items that a fit made
    inputs: Inputs = ()  # the files it was read from
    skeleton: str | None = None  # the file of the skeleton that it was opened with
    peers: Peers | None = None  # its place among items of one source

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "has_source": bool(self.sequence),
            "can_save": self.model is not None,
            **({"has_skeleton": True} if self.skeleton else {}),
            **(self.peers.to_json() if self.peers else {}),
        }


@dataclass(slots=True)
class Collection:
    """All items of one server."""

    folder: Path  # of the packs
    items: dict[str, Item] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)  # ids of removed items; others may need their packs
    made: int = 0

    @property
    def shown(self) -> list[Item]:
        return [item for item in self.items.values() if item.id not in self.closed]

    def close(self, item: Item) -> None:
        """Remove an item; its pack is deleted as soon as no other item takes the frames of its source from it."""
        self.closed.add(item.id)
        needed = {item.peers.source_in for item in self.shown if item.peers}
        for item_id in [item_id for item_id in self.closed & self.items.keys() if item_id not in needed]:
            self.items.pop(item_id).pack.unlink(missing_ok=True)

    def new_id(self) -> str:
        self.made += 1
        return f"m{self.made}"

    def pack_of(self, item_id: str) -> Path:
        return self.folder / f"{item_id}.bin"

    def add(self, item: Item) -> None:
        self.items[item.id] = item


def prepare_item(
    item_id: str,
    inputs: Inputs,
    pack: Path,
    *,
    source: Inputs = (),
    skeleton: str | None = None,
    clusters: bool = False,
    progress: Progress | None = None,
) -> Item:
    """Read a model or a sequence, and the source to compare it with, and write its pack."""
    shown = named_after_file(load_shown(inputs, progress), inputs[0])
    if skeleton is not None:  # refused before anything is served
        from osteon.io.skeletons import load_skeleton
        from osteon.view.jobs.posable_mesh import check_place

        check_place(load_skeleton(skeleton), shown.rest.astype(np.float64), skeleton)
    if isinstance(shown, MeshSequence):
        if source:
            raise OptionError(f"{inputs[0]}: is a sequence; a source is compared with a model, so name the model first")
        labels = find_clusters(shown, progress) if clusters else None
        write_pack(pack, shown, Evidence(clusters=labels))
        return Item(item_id, shown.name, "sequence", pack, inputs, inputs=inputs, skeleton=skeleton)
    if len(source) == 1 and holds_poses(source[0]):
        known = load_poses_of(shown, source[0], progress)
        check_use(shown, known, source[0])
        levels, light = levels_of(shown, inputs[0]), light_of(shown, inputs[0])
        write_pack(pack, shown, Evidence(levels=levels, poses=known, light=light))
        return Item(item_id, shown.name, "model", pack, inputs=inputs, skeleton=skeleton)
    frames, labels = None, None
    if source:
        compared = load_sequence(list(source), progress=progress)
        check_source(compared, source[0], shown)
        frames, labels = compared.source, find_clusters(compared, progress) if clusters else None
    names = target_names(shown, inputs[0])
    levels, light = levels_of(shown, inputs[0]), light_of(shown, inputs[0])
    write_pack(pack, shown, Evidence(frames, clusters=labels, levels=levels, light=light, target_names=names))
    return Item(item_id, shown.name, "model", pack, source, inputs=inputs, skeleton=skeleton)


def light_of(model: SkinnedModel, path: str) -> ModelLight | None:
    """The precomputed light that is stored with a model in its file."""
    stored = load_stored_light(path)
    if stored is None:
        return None
    from osteon.apply.light.model_light import ModelLight

    light = ModelLight.from_stored(stored)
    light.check_fit(model)
    return light


def levels_of(model: SkinnedModel, path: str) -> ModelLevels | None:
    """The levels that are stored with a model in its file."""
    stored = load_stored_levels(path)
    if stored is None:
        return None
    from osteon.lod.model_levels import ModelLevels

    try:
        return ModelLevels.from_stored(model, stored)
    except GeometryError as error:
        raise GeometryError(f"{path}: {error}") from error


def load_shown(inputs: Sequence[str], progress: Progress | None = None) -> SkinnedModel | MeshSequence:
    """The model if the only input holds one, otherwise the sequence of all inputs."""
    if len(inputs) == 1 and holds_model(inputs[0]):
        return load_model(inputs[0])
    return load_sequence(list(inputs), progress=progress)


def check_source(source: MeshSequence, name: str, model: SkinnedModel) -> None:
    """Refuse a source whose number of vertices or frames differs from that of a model."""
    for what, count, expected in (
        ("vertex", source.n_vertices, model.n_vertices),
        ("frame", source.n_frames, model.n_frames),
    ):
        if count != expected:
            raise GeometryError(
                f"{name}: has {numbered(count, what)}, but the model '{model.name}' has {expected}; "
                "name the sequence that it was made from"
            )


def find_clusters(sequence: MeshSequence, progress: Progress | None = None) -> Int32:
    """(t,) the near-rigid cluster of every triangle, -1 for outliers; empty where nothing moves."""
    from osteon.core.parallel import single_threaded_blas
    from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles

    with single_threaded_blas():
        return cluster_triangles(sequence, options=ClusterOptions(max_frames=48), progress=progress).labels


def prepare_models(
    collection: Collection, named: NamedModels, *, clusters: bool = False, progress: Progress | None = None
) -> None:
    """Read models and their source, write their packs, and add them to the collection."""
    posed = named.source if named.source is not None and holds_poses(named.source) else None
    source = None if named.source is None or posed else load_sequence([named.source], progress=progress)
    models = []
    for i, file in enumerate(named.models):
        report_progress(progress, "read", i / len(named.models))
        models.append(load_model(file.path))
    for file, model in zip(named.models, models, strict=True):
        if source is not None and named.source is not None:
            check_source(source, named.source, model)
        _check_alike((named.models[0], models[0]), (file, model))
    labels = find_clusters(source, progress) if clusters and source is not None else None
    held = Evidence() if source is None else Evidence(source.source, clusters=labels)
    group = ""
    for file, model in zip(named.models, models, strict=True):
        item_id = collection.new_id()
        own = Evidence() if posed is None else Evidence(poses=load_poses_of(model, posed))
        write_pack(collection.pack_of(item_id), model, own if posed or group else held)
        about = file.compared.title if file.compared else _about(model)
        peers = Peers(group or item_id, group if source is not None else "", file.label, about, file.compared)
        compared = () if named.source is None or posed else (named.source,)
        name = about if about.startswith(file.label) else f"{file.label}: {about}"
        inputs, pack = (str(file.path),), collection.pack_of(item_id)
        collection.add(Item(item_id, name, "model", pack, compared, inputs=inputs, peers=peers))
        group = group or item_id


def _check_alike(first: tuple[ModelFile, SkinnedModel], other: tuple[ModelFile, SkinnedModel]) -> None:
    """Refuse models that cannot be shown in place of each other."""
    for what, count, expected in (
        ("vertices", other[1].n_vertices, first[1].n_vertices),
        ("frames", other[1].n_frames, first[1].n_frames),
    ):
        if count != expected:
            raise GeometryError(
                f"{other[0].path}: has {count} {what}, but {first[0].path} has {expected}; models that are shown "
                "together are of one source"
            )


def _about(model: SkinnedModel) -> str:
    """A description of a model."""
    rank = f", rank {model.rank}" if model.rank else ""
    kind = model.deformer.kind.replace("_", " ")
    return f"{kind}, {model.n_bones} {model.track.bone_type} bones{rank}"
