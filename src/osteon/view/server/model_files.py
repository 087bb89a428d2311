"""Several models of one source on a command line: which files they are, what each is called, what is known of it.

osteon view models/ SOURCE            a folder of models, such as `osteon compare --save` writes
osteon view a.npz b.glb SOURCE        files, and folders of them; the last is the source
osteon view walk/*.obj                no model among them: one sequence
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from osteon.core.clips import distinct_names
from osteon.core.errors import FileFormatError, OptionError
from osteon.io import MODEL_FORMATS, holds_model
from osteon.io.comparisons.summary import ComparedModel, read_summary
from osteon.io.formats.registry import mesh_suffixes
from osteon.io.load.inputs import natural_key
from osteon.view.pack.model_names import method_name

__all__ = ["ModelFile", "NamedModels", "find_models", "names_sequence"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that holds a model."""

    path: Path
    label: str  # what it is called beside the others
    compared: ComparedModel | None = None  # what a comparison has stored about just these bytes


@dataclass(frozen=True, slots=True)
class NamedModels:
    """Models that are looked at together."""

    models: tuple[ModelFile, ...]
    source: str | None  # the sequence that all of them should play
    notes: tuple[str, ...] = ()  # what a person should know


def find_models(words: Sequence[str]) -> NamedModels | None:
    """The models and the source that words mean; None for one model with its source, and for a sequence."""
    first = Path(words[0])
    if names_sequence(words) or (len(words) <= 2 and not _holds_models(first)):
        return None
    named, source = (words[:-1], words[-1]) if len(words) > 1 else (words, _source_in(first))
    files = [file for word in named for file in _files_of(Path(word))]
    models, notes = [], []
    for path, label in zip(files, _labels(files), strict=True):
        compared, note = _stored(path)
        models.append(ModelFile(path, method_name(label) if compared else label, compared))
        notes += note
    _check_source(source)
    return NamedModels(tuple(models), source, tuple(notes))


def names_sequence(words: Sequence[str]) -> bool:
    """Whether there is no model among files and folders: then all of them are the inputs of one sequence."""
    return not any(holds_model(word) or _holds_models(Path(word)) for word in words)


def _holds_models(folder: Path) -> bool:
    """Whether a path is a folder of models, rather than of frames."""
    return folder.is_dir() and bool(_models_in(folder)) and not _frames_in(folder)


def _frames_in(folder: Path) -> bool:
    return any(path.suffix.lower() in mesh_suffixes() for path in folder.iterdir())


def _models_in(folder: Path) -> list[Path]:
    """Those of a comparison in its order, then all others by name."""
    summary = read_summary(folder)
    order = {} if summary is None else {model.file.name: i for i, model in enumerate(summary.models)}
    known = set(MODEL_FORMATS)
    found = [path for path in folder.iterdir() if path.suffix.lower() in known and holds_model(path)]
    return sorted(found, key=lambda path: (order.get(path.name, len(order)), natural_key(path)))


def _files_of(path: Path) -> list[Path]:
    if path.is_dir() and _holds_models(path):
        return _models_in(path)
    if not path.exists():
        raise FileFormatError(f"{path}: there is no such file or folder")
    if not holds_model(path):
        raise OptionError(
            f"{path}: is no skinned model; of several files the last is the source, and all before it are models"
        )
    return [path]


def _labels(files: Sequence[Path]) -> tuple[str, ...]:
    """The stems of files, with their folders where two are alike."""
    stems = [path.stem for path in files]
    folders = [path.resolve().parent.name for path in files]
    alike = [stems.count(stem) > 1 for stem in stems]
    return distinct_names(
        f"{folder}/{stem}" if two else stem for stem, folder, two in zip(stems, folders, alike, strict=True)
    )


def _source_in(folder: Path) -> str | None:
    """The source that was saved with its models."""
    summary = read_summary(folder)
    if summary is None or summary.source is None:
        return None
    return str(folder / summary.source.name)


def _stored(path: Path) -> tuple[ComparedModel | None, list[str]]:
    """What a comparison beside a file says of it; nothing where the file is not the one that was compared."""
    summary = read_summary(path.parent)
    known = None if summary is None else next((m for m in summary.models if m.file.name == path.name), None)
    if known is None or known.file.is_in(path.parent):
        return known, []
    return None, [f"{path} is not the file that was compared; what the comparison measured of it is left out"]


def _check_source(source: str | None) -> None:
    """Refuse a model in the place of the source, where it cannot be played as one."""
    if source is not None and Path(source).suffix.lower() == ".npz" and holds_model(source):
        raise OptionError(
            f"{source}: is a skinned model; of several files the last is the source, so name the sequence after it"
        )
