"""Digests of everything that an output depends on: the contents of its inputs, its options, and the version of Osteon.

Contents are read once: the ledger of one machine keeps their digests under path, size, modification time and number of
the file. Times are compared for equality only, so a clock that jumps changes nothing but what is read again.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from osteon import __version__
from osteon.core.errors import FileFormatError
from osteon.scale.ledger import Ledger
from osteon.scale.manifest import Asset


def fingerprint(asset: Asset, ledger: Ledger) -> str:
    """A digest of everything that the output of an asset depends on."""
    found = hashlib.sha256()
    about = [__version__, asset.command, asset.inputs, asset.output, asset.arguments]
    found.update(json.dumps(about).encode())
    for path in files_of(asset):
        found.update(content_digest(path, ledger).encode())
    return found.hexdigest()


def files_of(asset: Asset) -> Iterator[Path]:
    """All files that the inputs and options of an asset name, in order."""
    values = [argument.partition("=")[2] for argument in asset.arguments]
    named = [*asset.paths(), *(Path(asset.folder, value).absolute() for value in values if value)]
    for path in named:
        if path.is_dir():
            yield from sorted(entry for entry in path.rglob("*") if entry.is_file())
        elif path.is_file():
            yield path
        elif glob.has_magic(str(path)):
            yield from sorted(Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file())


def input_bytes(asset: Asset) -> int:
    """Bytes of all files of an asset, by which its time is estimated."""
    return sum(path.stat().st_size for path in files_of(asset))


def content_digest(path: Path, ledger: Ledger) -> str:
    """The digest of a file's name and content."""
    try:
        known = path.stat()
        key = f"{path}|{known.st_size}|{known.st_mtime_ns}|{known.st_ino}"
        stored = ledger.digest(key)
        if stored is not None:
            return stored
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    value = f"{path.name}:{found}"
    ledger.put_digest(key, value)
    return value
