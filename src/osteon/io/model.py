"""Skinned models in files: one registry by suffix, one way in, one way out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from osteon.core.errors import FileFormatError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.option_checks import check_used
from osteon.io.gltf.model import holds_gltf_model, read_gltf_model
from osteon.io.model_npz import holds_npz_model, read_npz_model, write_npz_model
from osteon.io.options import DEFAULT_LOAD_OPTIONS, DEFAULT_SAVE_OPTIONS, LoadOptions, SaveOptions
from osteon.io.source import PathLike
from osteon.io.usd.model import holds_usd_model, read_usd_model
from osteon.io.usd.write import write_usd
from osteon.io.write import atomic_file

__all__ = ["MODEL_FORMATS", "ModelFormat", "holds_model", "load_model", "model_format_of", "save_model"]


@dataclass(frozen=True, slots=True)
class ModelFormat:
    """A file holds a skinned model."""

    name: str
    holds: Callable[[Path], bool]  # whether this file holds a model, rather than a mesh or a sequence
    read: Callable[[Path], SkinnedModel]
    write: Callable[[Path, SkinnedModel, SaveOptions], None]
    sample: Callable[[Path, LoadOptions], SkinnedModel] | None = None  # for files that have keys, not frames


def _write_gltf(path: Path, model: SkinnedModel, options: SaveOptions) -> None:
    from osteon.io.gltf.write import write_gltf

    write_gltf(path, model, options)


MODEL_FORMATS: dict[str, ModelFormat] = {
    ".npz": ModelFormat("NumPy archive", holds_npz_model, read_npz_model, write_npz_model),
    ".glb": ModelFormat("binary glTF", holds_gltf_model, read_gltf_model, _write_gltf, read_gltf_model),
    ".gltf": ModelFormat("glTF", holds_gltf_model, read_gltf_model, _write_gltf, read_gltf_model),
    ".usda": ModelFormat("USD text", holds_usd_model, read_usd_model, write_usd, read_usd_model),
    ".usdc": ModelFormat("binary USD", holds_usd_model, read_usd_model, write_usd, read_usd_model),
    ".usdz": ModelFormat("USD package", holds_usd_model, read_usd_model, write_usd, read_usd_model),
    ".usd": ModelFormat("USD", holds_usd_model, read_usd_model, write_usd, read_usd_model),
}


def model_format_of(path: PathLike) -> ModelFormat:
    """The format of a model's file, by its suffix."""
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    if found is None:
        raise FileFormatError(f"{path}: not a suffix for a skinned model; known are {', '.join(MODEL_FORMATS)}")
    return found


def holds_model(path: PathLike) -> bool:
    """Whether this file holds a skinned model, rather than a mesh or a sequence."""
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    return found is not None and Path(path).is_file() and found.holds(Path(path))


def save_model(model: SkinnedModel, path: PathLike, *, options: SaveOptions = DEFAULT_SAVE_OPTIONS) -> None:
    """Write `model` in the format its suffix names, whole or not at all; `load_model` gives the same back."""
    found = model_format_of(path)
    check_used(options, written=Path(path).suffix.lower())
    with atomic_file(path) as temporary:
        found.write(temporary, model, options)


def load_model(path: PathLike, *, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> SkinnedModel:
    """The skinned model in a file. A file that has keys instead of frames is sampled as `options` say."""
    if Path(path).is_dir():
        raise FileFormatError(f"{path}: is a folder, expected the file of a skinned model")
    found = model_format_of(path)
    check_used(options, input="model")
    if found.sample is not None:
        return found.sample(Path(path), options)
    if options.fps != "file":
        raise OptionError(f"fps: {path} holds frames, which cannot be sampled anew; leave --fps out")
    return found.read(Path(path))
