"""A folder of compared models: WORD.npz each, comparison.json, and source.npz where no one input names their source.

.npz, because it holds every family as it was fitted. A glTF would carry a linear blend skin in place of a family that
has no stock form, and two nodes or keys in place of the transforms; the page would then show another model than the
one that was measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.io.archives.model_npz import write_npz_model
from osteon.io.archives.sequence_npz import write_npz
from osteon.io.comparisons.summary import FORMAT, SUMMARY, VERSION, KnownFile
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS
from osteon.io.load.source import PathLike
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.save.atomic import atomic_folder, check_folder

__all__ = ["SOURCE", "check_comparison_folder", "write_comparison_folder"]

SOURCE = "source.npz"
_EXPECTED = re.compile(rf"{re.escape(SUMMARY)}|\w+\.npz")


def write_comparison_folder(
    path: PathLike, models: Mapping[str, SkinnedModel], facts: Mapping[str, Any], source: MeshSequence | None = None
) -> dict[str, Any]:
    """Write models by their words, and the report of `osteon compare --json`; an earlier comparison is replaced.

    All of it appears or nothing. Returns what was written, by what it is.
    """
    folder = Path(path)
    with atomic_folder(folder, check_comparison_folder) as out:
        measured = {}
        for word, model in models.items():
            file = out / f"{word}.npz"
            write_npz_model(file, model, DEFAULT_SAVE_OPTIONS)
            measured[word] = {"file": _facts_of(file), **facts["models"][word]}
        if source is not None:
            write_npz(out / SOURCE, source)
        stamp = {GENERATOR_KEY: GENERATOR, "format": FORMAT, "format_version": VERSION}
        files = {"source_file": None if source is None else _facts_of(out / SOURCE), "models": measured}
        text = json.dumps({**stamp, **facts, **files}, indent=1, allow_nan=False)
        (out / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return {
        "folder": str(path),
        "models": {word: str(folder / f"{word}.npz") for word in models},
        "comparison": str(folder / SUMMARY),
        "source": None if source is None else str(folder / SOURCE),
    }


def _facts_of(file: Path) -> dict[str, Any]:
    known = KnownFile.of(file)
    return {"name": known.name, "bytes": file.stat().st_size, "sha256": known.digest}


def check_comparison_folder(path: PathLike) -> None:
    """Refuse a folder that holds anything but an earlier comparison: it would be deleted."""
    check_folder(path, _EXPECTED)
