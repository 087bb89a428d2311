"""Several models of one source, as items of a collection that can be shown in place of each other.

The frames of the source, by far the most of a pack, lie in the pack of the first model only; the page takes them from
there for all. A folder of poses in place of the source is matched to the bones and vertices of each model.
"""

from __future__ import annotations

from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.io import load_model, load_sequence
from osteon.view.pack.model_pack import Evidence, write_pack
from osteon.view.pack.poses import holds_poses, load_poses_of
from osteon.view.server.collection import Collection, Item, Peers, check_source, find_clusters
from osteon.view.server.model_files import ModelFile, NamedModels

__all__ = ["prepare_models"]


def prepare_models(
    collection: Collection, named: NamedModels, *, clusters: bool = False, progress: Progress | None = None
) -> None:
    """Read models and their source, write their packs, and add them to the collection."""
    posed = named.source if named.source is not None and holds_poses(named.source) else None
    source = None if named.source is None or posed else load_sequence([named.source], progress=progress)
    models = [_load(named, i, progress) for i in range(len(named.models))]
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


def _load(named: NamedModels, i: int, progress: Progress | None) -> SkinnedModel:
    report_progress(progress, "read", i / len(named.models))
    return load_model(named.models[i].path)


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
    """A model in words."""
    rank = f", rank {model.rank}" if model.rank else ""
    kind = model.deformer.kind.replace("_", " ")
    return f"{kind}, {model.n_bones} {model.track.bone_type} bones{rank}"
