"""The files that a mesh or a model was read from, so that outputs do not replace them by accident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from osteon.core.errors import FileFormatError
from osteon.core.mesh import Asset
from osteon.io.load.source import PathLike
from osteon.io.save.overwriting import same_place


def read_from(asset: Asset, files: Sequence[Path]) -> Asset:
    """The asset with the files that it was read from."""
    return replace(asset, origin=replace(asset.origin, files=tuple(files)))


def check_not_source(asset: Asset, path: PathLike) -> None:
    """Refuse to write over a file that the asset was read from."""
    if any(same_place(file, Path(path)) for file in asset.origin.files):
        raise FileFormatError(f"{path}: the model was read from it; name another file, or pass overwrite=True")
