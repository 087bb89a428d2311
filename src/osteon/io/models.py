"""Loading and saving skinned models in any format."""

from __future__ import annotations

from pathlib import Path

from osteon.core.errors import FileFormatError, OptionError, OsteonError
from osteon.core.mesh import PLAIN_PICTURES, Asset
from osteon.core.model import SkinnedModel, StoredLevels, StoredLight
from osteon.core.options import check_used
from osteon.io.formats.format_types import LevelFiles, LightFiles, SequenceFormat
from osteon.io.formats.options import DEFAULT_LOAD_OPTIONS, DEFAULT_SAVE_OPTIONS, LoadOptions, SaveOptions
from osteon.io.formats.registry import FORMATS, MODEL_FORMATS, model_format_of
from osteon.io.load.source import PathLike, numbered
from osteon.io.save.atomic import atomic_file
from osteon.io.save.overwriting import check_not_source


def holds_model(path: PathLike) -> bool:
    """Whether this file holds a skinned model, rather than a mesh or a sequence."""
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    return found is not None and Path(path).is_file() and found.holds(Path(path))


def save_model(
    model: SkinnedModel, path: PathLike, *, options: SaveOptions = DEFAULT_SAVE_OPTIONS, overwrite: bool = False
) -> None:
    """Write `model` in the format its suffix names, whole or not at all; `load_model` returns the same.

    An existing file is replaced; one that the model, or the sequence it was fitted to, was read
    from is replaced only with `overwrite`.
    """
    found = model_format_of(path)
    if not overwrite:
        check_not_source(model.asset, Path(path))
    check_used(options, written=Path(path).suffix.lower())
    if found.plain_pictures:
        model = model.with_mesh(asset=model.asset.with_pictures())
    if not found.further_sets:
        model = model.with_mesh(asset=model.asset.with_first_sets())
    with atomic_file(path) as temporary:
        found.write(temporary, model, options)


def save_stored_levels(
    model: SkinnedModel, levels: StoredLevels, path: PathLike, *, options: SaveOptions = DEFAULT_SAVE_OPTIONS
) -> None:
    """Write a model with its levels of detail; `load_model` returns the model, `load_stored_levels` the levels."""
    files = check_level_output(path)
    check_used(options, written=Path(path).suffix.lower())
    with atomic_file(path) as temporary:
        files.write(temporary, model, options, levels)


def load_stored_levels(path: PathLike) -> StoredLevels | None:
    """The levels of detail that are beside a model in its file; None if there are none."""
    files = model_format_of(path).levels
    return None if files is None else files.read(Path(path))


def check_level_output(path: PathLike) -> LevelFiles:
    """Reader and writer of levels for a file of this name; refused if its format does not support them."""
    found = model_format_of(path)
    if found.levels is None:
        raise OptionError(f"{path}: {found.name} has no place for levels of detail; write a .glb, .gltf or .npz")
    return found.levels


def save_stored_light(
    model: SkinnedModel,
    light: StoredLight,
    path: PathLike,
    *,
    levels: StoredLevels | None = None,
    options: SaveOptions = DEFAULT_SAVE_OPTIONS,
) -> None:
    """Write a model with its precomputed light, and its levels if it has any."""
    files = check_light_output(path)
    check_used(options, written=Path(path).suffix.lower())
    with atomic_file(path) as temporary:
        files.write(temporary, model, options, levels, light)


def load_stored_light(path: PathLike) -> StoredLight | None:
    """The precomputed light beside a model in its file; None if there is none."""
    files = model_format_of(path).light
    return None if files is None else files.read(Path(path))


def holds_light(path: PathLike) -> bool:
    """Whether precomputed light that can be read is beside a model in its file."""
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    if found is None or found.light is None or not Path(path).is_file():
        return False
    try:
        return found.light.read(Path(path)) is not None
    except OsteonError:
        return False


def check_light_output(path: PathLike) -> LightFiles:
    """Reader and writer of light for a file of this name; refused if its format does not support it."""
    found = model_format_of(path)
    if found.light is None:
        raise OptionError(f"{path}: {found.name} has no place for precomputed light; write a .glb, .gltf or .npz")
    return found.light


def note_lost(model: SkinnedModel, path: PathLike) -> tuple[str, ...]:
    """Notes on data of the model that a file of this name cannot store."""
    return note_lost_sets(model.asset, path) + note_lost_pictures(model, path)


def note_lost_sets(asset: Asset, path: PathLike) -> tuple[str, ...]:
    """A note if a file of this name cannot hold triangles, or all sets of texture coordinates and of colours."""
    frames = FORMATS.get(Path(path).suffix.lower())
    if isinstance(frames, SequenceFormat) and frames.positions_only:
        return (f"{path}: holds positions only; to read it, name the mesh with --faces FILE",)
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    lost = [numbered(len(asset.more_uvs), "further set") + " of texture coordinates"] if asset.more_uvs else []
    lost += [numbered(len(asset.more_colors), "further set") + " of colours"] if asset.more_colors else []
    if (found is not None and found.further_sets) or not lost:
        return ()
    textures = sum(len(material.uv_sets) for material in asset.materials)
    lost += [f"{numbered(textures, 'texture')} on them"] if textures else []
    return (f"{path}: holds one set of texture coordinates and of colours; {' and '.join(lost)} left out",)


def note_lost_pictures(model: SkinnedModel, path: PathLike) -> tuple[str, ...]:
    """A note if a file of this name cannot hold some picture of the model."""
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    if found is None or not found.plain_pictures:
        return ()
    images = dict.fromkeys(image for material in model.asset.materials for _, image in material.textures)
    lost = [image for image in images if image.as_one_of(PLAIN_PICTURES) is None]
    kinds = " and ".join(sorted({image.mime.removeprefix("image/") for image in lost}))
    pictures = numbered(len(lost), f"{kinds} picture")
    return (f"{path}: {found.name} holds PNG and JPEG only; {pictures} left out",) if lost else ()


def load_model(path: PathLike, *, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> SkinnedModel:
    """The skinned model in a file. A file with keys instead of frames is sampled according to `options`."""
    if Path(path).is_dir():
        raise FileFormatError(f"{path}: is a folder, expected the file of a skinned model")
    found = model_format_of(path)
    check_used(options, input="model")
    if found.sample is not None:
        return _read_from(found.sample(Path(path), options), Path(path))
    if options.fps != "file":
        raise OptionError(f"fps: {path} holds frames, which cannot be resampled; omit --fps")
    return _read_from(found.read(Path(path)), Path(path))


def _read_from(model: SkinnedModel, path: Path) -> SkinnedModel:
    return model.with_mesh(asset=model.asset.read_from([path]))
