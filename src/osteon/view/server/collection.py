"""What the page shows: models and sequences, each with its pack on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress
from osteon.core.sequence import MeshSequence
from osteon.io import holds_model, load_model, load_sequence, load_stored_levels
from osteon.io.comparisons.summary import ComparedModel
from osteon.io.load.source import numbered
from osteon.view.pack.model_names import named_after_file
from osteon.view.pack.model_pack import Evidence, write_pack
from osteon.view.pack.poses import check_use, holds_poses, load_poses_of
from osteon.view.pack.target_names import target_names

if TYPE_CHECKING:  # imports numba
    from osteon.lod.model_levels import ModelLevels

__all__ = ["Collection", "Item", "Peers", "check_source", "find_clusters", "levels_of", "load_shown", "prepare_item"]

Inputs = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Peers:
    """Items of one source, which can be shown in place of each other."""

    group: str  # id of the first of them
    source_in: str = ""  # id of the item whose pack holds the frames of the source; "" for its own
    label: str = ""  # what it is called beside the others
    about: str = ""  # the model in words
    compared: ComparedModel | None = None  # what a comparison has measured

    def to_json(self) -> dict[str, Any]:
        told = {"source_in": self.source_in, "label": self.label, "about": self.about}
        figures = self.compared and {
            "training": asdict(self.compared.training),
            "unseen": asdict(self.compared.unseen),
        }
        return {
            "group": self.group,
            **{key: value for key, value in told.items() if value},
            **({"compared": figures} if figures else {}),
        }


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to look at."""

    id: str
    name: str
    kind: Literal["model", "sequence"]
    pack: Path
    sequence: Inputs = ()  # the inputs of its source, which a fit reads again; () without one
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

    folder: Path  # where packs lie
    items: dict[str, Item] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)  # ids of items that are no longer shown; others may need their packs
    made: int = 0

    @property
    def shown(self) -> list[Item]:
        return [item for item in self.items.values() if item.id not in self.closed]

    def close(self, item: Item) -> None:
        """Show an item no more; packs go as soon as no other item takes the frames of its source from them."""
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
    """Read a model or a sequence, and the source to compare it with, and write the pack that the page asks for."""
    shown = named_after_file(load_shown(inputs, progress), inputs[0])
    if skeleton is not None:
        _check_skeleton(skeleton, shown)
    if isinstance(shown, MeshSequence):
        if source:
            raise OptionError(f"{inputs[0]}: is a sequence; a source is compared with a model, so name the model first")
        labels = find_clusters(shown, progress) if clusters else None
        write_pack(pack, shown, Evidence(clusters=labels))
        return Item(item_id, shown.name, "sequence", pack, inputs, inputs=inputs, skeleton=skeleton)
    if len(source) == 1 and holds_poses(source[0]):
        known = load_poses_of(shown, source[0], progress)
        check_use(shown, known, source[0])
        write_pack(pack, shown, Evidence(levels=levels_of(shown, inputs[0]), poses=known))
        return Item(item_id, shown.name, "model", pack, inputs=inputs, skeleton=skeleton)
    compared = _load_source(source, shown, progress) if source else None
    labels = find_clusters(compared, progress) if clusters and compared is not None else None
    frames = None if compared is None else compared.source
    names = target_names(shown, inputs[0])
    write_pack(pack, shown, Evidence(frames, clusters=labels, levels=levels_of(shown, inputs[0]), target_names=names))
    return Item(item_id, shown.name, "model", pack, source, inputs=inputs, skeleton=skeleton)


def levels_of(model: SkinnedModel, path: str) -> ModelLevels | None:
    """The levels that lie beside a model in its file."""
    stored = load_stored_levels(path)
    if stored is None:
        return None
    from osteon.lod.model_levels import ModelLevels

    try:
        return ModelLevels.from_stored(model, stored)
    except GeometryError as error:
        raise GeometryError(f"{path}: {error}") from error


def load_shown(inputs: Sequence[str], progress: Progress | None = None) -> SkinnedModel | MeshSequence:
    """A model where the one input holds one, otherwise the sequence that the inputs are."""
    if len(inputs) == 1 and holds_model(inputs[0]):
        return load_model(inputs[0])
    return load_sequence(list(inputs), progress=progress)


def _check_skeleton(file: str, shown: SkinnedModel | MeshSequence) -> None:
    """Refuse a skeleton that cannot be read, or not for this mesh, before anything is served."""
    from osteon.io.skeletons import load_skeleton
    from osteon.view.jobs.posable_mesh import check_place

    check_place(load_skeleton(file), shown.rest.astype(np.float64), file)


def _load_source(inputs: Inputs, model: SkinnedModel, progress: Progress | None) -> MeshSequence:
    """The frames that a model should play."""
    source = load_sequence(list(inputs), progress=progress)
    check_source(source, inputs[0], model)
    return source


def check_source(source: MeshSequence, name: str, model: SkinnedModel) -> None:
    """Refuse a source with other vertices or frames than a model has."""
    if source.n_vertices != model.n_vertices:
        raise GeometryError(
            f"{name}: has {numbered(source.n_vertices, 'vertex')}, but the model '{model.name}' has "
            f"{model.n_vertices}; name the sequence that it was made from"
        )
    if source.n_frames != model.n_frames:
        raise GeometryError(
            f"{name}: has {numbered(source.n_frames, 'frame')}, but the model '{model.name}' has {model.n_frames}; "
            "name the sequence that it was made from"
        )


def find_clusters(sequence: MeshSequence, progress: Progress | None = None) -> Int32:
    """(t,) the near-rigid cluster of every triangle, -1 for outliers; empty where nothing moves."""
    from osteon.core.parallel import single_threaded_blas
    from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles

    with single_threaded_blas():
        return cluster_triangles(sequence, options=ClusterOptions(max_frames=48), progress=progress).labels
