"""Manifests of batches: which command runs on which inputs, with which options.

TOML:

    [defaults]                      # of all assets; each key is optional
    command = "skin"
    options = {bones = 30, rank = 5}
    suffix = ".glb"                 # of outputs that have no name of their own

    [[assets]]
    input = "walk/"                 # a path or a list of paths, relative to the manifest
    name = "walk"                   # default: the name of the input
    output = "characters/walk.glb"  # relative to the folder of the batch; default: name and suffix
    options = {max-error = 0.5}     # added to the defaults; false or "" removes one

CSV: a heading with `input`, and any of `name`, `output`, `command`; other columns are options, and an empty cell is one
that is not set. Several inputs of one asset are separated by semicolons.

A pattern such as 'clips/*.npz' is one asset per file or folder; options of all of them come from the command line.
"""

from __future__ import annotations

import csv
import glob
import io
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from osteon.core.errors import FileFormatError
from osteon.io.load.source import Source, quote
from osteon.io.skeletons.parsing import nearest_of

#: Commands that turn one asset into one output.
COMMANDS = ("skin", "rig", "lod", "play")
SUFFIX = {"skin": ".glb", "rig": ".glb", "lod": ".glb", "play": ".npz"}
_ASSET_KEYS = ("input", "name", "output", "command", "options", "suffix")
_DEFAULT_KEYS = ("command", "options", "suffix")
#: Names in the folder of a batch that are its own.
OWN_NAMES = ("logs", "reports", "summary.html", "summary.json")
#: Options that the batch sets itself.
RESERVED = ("output", "json", "quiet", "force", "threads")

Value = str | int | float | bool | list[Any]


@dataclass(frozen=True, slots=True)
class Asset:
    """One run of one command."""

    name: str
    command: str
    inputs: tuple[str, ...]  # as they are written
    output: str  # relative to the folder of the batch, with forward slashes
    arguments: tuple[str, ...] = ()  # flags and values of the command
    folder: str = "."  # that relative paths are relative to

    def paths(self) -> list[Path]:
        """Inputs as absolute paths; patterns stay patterns."""
        return [Path(self.folder, text).absolute() for text in self.inputs]


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values of all assets that do not have their own."""

    command: str = "skin"
    options: Mapping[str, Value] = field(default_factory=dict)
    suffix: str | None = None


def read_manifest(path: Path, flags: Mapping[str, Mapping[str, str]], defaults: Defaults) -> tuple[Asset, ...]:
    """The assets of a manifest or pattern. `flags` has, for every command, the flag of every option by its name."""
    if glob.has_magic(str(path)) and not path.exists():
        return _checked(_of_pattern(path), defaults, flags, str(path), Path())
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".csv"):
        raise FileFormatError(f"{path}: expected a manifest (.toml, .csv) or a pattern such as 'clips/*.npz'")
    text = _text(path)
    rows, own = _of_toml(path, text, defaults) if suffix == ".toml" else (_of_csv(path, text), defaults)
    return _checked(rows, own, flags, str(path), path.parent)


def _text(path: Path) -> str:
    try:
        return Source(path).read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: is not text in UTF-8; save it as UTF-8") from error


def _of_pattern(path: Path) -> list[dict[str, Any]]:
    found = sorted(glob.glob(str(path), recursive=True))
    if not found:
        raise FileFormatError(f"{path}: the pattern matches no file or folder")
    return [{"input": name} for name in found]


def _of_toml(path: Path, text: str, defaults: Defaults) -> tuple[list[dict[str, Any]], Defaults]:
    try:
        held = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileFormatError(f"{path}: is not valid TOML: {quote(str(error))}") from error
    _check_keys(held, ("defaults", "assets"), f"{path}")
    common, rows = held.get("defaults", {}), held.get("assets", [])
    if not isinstance(common, dict) or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FileFormatError(f"{path}: expected a table [defaults] and tables [[assets]]")
    where = f"{path}: [defaults]"
    _check_keys(common, _DEFAULT_KEYS, where)
    own = Defaults(
        _string(common, "command", where) or defaults.command,
        {**_options(common, where), **defaults.options},
        _string(common, "suffix", where) or defaults.suffix,
    )
    return rows, own


def _of_csv(path: Path, text: str) -> list[dict[str, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows: list[dict[str, Any]] = []
    try:
        for cells in reader:
            if None in cells or None in cells.values():
                raise FileFormatError(f"{path}: line {reader.line_num} has not as many cells as the heading")
            values = {key.strip(): cell.strip() for key, cell in cells.items() if cell.strip()}
            row: dict[str, Any] = {key: values.pop(key) for key in _ASSET_KEYS if key in values and key != "options"}
            row["input"] = [part.strip() for part in row.get("input", "").split(";") if part.strip()]
            rows.append({**row, "options": values})
    except csv.Error as error:
        raise FileFormatError(f"{path}: line {reader.line_num} is not valid CSV: {quote(str(error))}") from error
    return rows


def _checked(
    rows: Iterable[Mapping[str, Any]],
    defaults: Defaults,
    flags: Mapping[str, Mapping[str, str]],
    where: str,
    folder: Path,
) -> tuple[Asset, ...]:
    """The assets; their names and outputs are unique."""
    assets = [_asset(row, defaults, flags, f"{where}: asset {n}", folder) for n, row in enumerate(rows, 1)]
    if not assets:
        raise FileFormatError(f"{where}: names no asset; add a table [[assets]] with an input")
    by_name: dict[str, Asset] = {}
    by_output: dict[str, Asset] = {}
    for asset in assets:
        if asset.name.casefold() in by_name:
            raise FileFormatError(f"{where}: two assets are named {quote(asset.name)}; give one of them another name")
        by_name[asset.name.casefold()] = asset
        output = str(PurePosixPath(asset.output)).casefold()
        for other, owner in by_output.items():
            if output == other or output.startswith(f"{other}/") or other.startswith(f"{output}/"):
                raise FileFormatError(
                    f"{where}: {quote(asset.name)} and {quote(owner.name)} both write {asset.output}; "
                    "give one of them another output"
                )
        by_output[output] = asset
    return tuple(assets)


def _asset(
    row: Mapping[str, Any], defaults: Defaults, flags: Mapping[str, Mapping[str, str]], where: str, folder: Path
) -> Asset:
    _check_keys(row, _ASSET_KEYS, where)
    inputs = _inputs(row, where)
    name = _string(row, "name", where) or _name_of(inputs[0])
    where = f"{where} ({quote(name)})"
    if not name.isprintable() or "/" in name or "\\" in name or name[0] in ".-":
        raise FileFormatError(f"{where}: expected a name without slashes that begins with neither . nor -")
    command = _string(row, "command", where) or defaults.command
    if command not in COMMANDS:
        raise FileFormatError(f"{where}: cannot run {quote(command)}; expected {', '.join(COMMANDS)}")
    output = _output(row, name, _string(row, "suffix", where) or defaults.suffix or SUFFIX[command], where)
    chosen = {_plain(key): value for key, value in {**defaults.options, **_options(row, where)}.items()}
    arguments = tuple(part for key, value in chosen.items() for part in _argument(key, value, flags[command], where))
    _check_inputs(inputs, folder, where)
    return Asset(name, command, inputs, output, arguments, str(folder))


def _inputs(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    held = row.get("input")
    inputs = [held] if isinstance(held, str) else held
    if not isinstance(inputs, list) or not inputs or not all(isinstance(text, str) and text for text in inputs):
        raise FileFormatError(f"{where}: expected an input, a path or a list of paths")
    return tuple(inputs)


def _check_inputs(inputs: tuple[str, ...], folder: Path, where: str) -> None:
    for text in inputs:
        path = folder / text
        if not path.exists() and not (glob.has_magic(text) and glob.glob(str(path), recursive=True)):
            raise FileFormatError(f"{where}: there is no file or folder {path}")


def _output(row: Mapping[str, Any], name: str, suffix: str, where: str) -> str:
    output = _string(row, "output", where) or f"{name}{suffix}"
    parts = PurePosixPath(output.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts or parts[0].startswith(".osteon") or ":" in parts[0]:
        raise FileFormatError(f"{where}: the output {quote(output)} is not a path inside the folder of the batch")
    if parts[0].casefold() in OWN_NAMES:
        raise FileFormatError(f"{where}: the batch itself writes {parts[0]}; give the output another name")
    return "/".join(parts) + ("/" if output.endswith(("/", "\\")) else "")


def _name_of(text: str) -> str:
    """The name of an input: that of its folder for a pattern of frames, without suffixes and separators."""
    path = Path(text)
    if glob.has_magic(path.name):
        path = path.parent
    return path.stem if path.suffix else path.name


def _argument(key: str, value: Value, flags: Mapping[str, str], where: str) -> list[str]:
    """Flag and value of an option; none for `false` and an empty text."""
    if key in RESERVED:
        raise FileFormatError(f"{where}: the option '{key}' is set by the batch; omit it")
    if value is False or value == "" or (isinstance(value, str) and value.lower() in ("false", "no")):
        return []
    if key not in flags:
        raise FileFormatError(f"{where}: there is no option {quote(key)}; {nearest_of(key, flags)}")
    if isinstance(value, list):
        return [part for item in value for part in _argument(key, item, flags, where)]
    if value is True or (isinstance(value, str) and value.lower() in ("true", "yes")):
        return [flags[key]]
    return [f"{flags[key]}={value}"]


def _options(row: Mapping[str, Any], where: str) -> dict[str, Value]:
    held = row.get("options", {})
    if not isinstance(held, dict) or not all(isinstance(v, (str, int, float, bool, list)) for v in held.values()):
        raise FileFormatError(f"{where}: options are a table of texts, numbers, true or false")
    return held


def _string(row: Mapping[str, Any], key: str, where: str) -> str | None:
    value = row.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise FileFormatError(f"{where}: '{key}' is {quote(str(value))}, expected a text")
    return value


def _plain(key: str) -> str:
    """The name of an option as its flag has it."""
    return key.strip().lstrip("-").replace("_", "-")


def _check_keys(held: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in held:
        if key not in known:
            raise FileFormatError(f"{where}: there is no key {quote(str(key))}; {nearest_of(str(key), known)}")
