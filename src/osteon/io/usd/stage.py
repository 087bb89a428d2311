"""USD stages: opened only from the folder of the input, and written whole with the images of their materials.

Before a stage is composed, every layer that it would include (sublayers, references, payloads, in all variants) is
checked. A layer outside the folder of the file, on the network, or behind a variable is refused, and so are value
clips. Diagnostics of USD are not printed; they become part of the one-line error. All reading happens in a child
process (`child.py`).

Images are inside a package, or files in a folder beside the stage: `walk.usda` has its own in `walk_textures/`. A name
there ends in the checksum of the image, so a file of that name already is that image and is left unchanged, and files
of others do not collide.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from osteon.core.mesh import Asset, Image
from osteon.io.formats.format_types import load_extra
from osteon.io.load.source import Source, inside, quote
from osteon.io.meshes.mtl import picture_name
from osteon.io.native.child import Outlet
from osteon.io.save.atomic import atomic_file, named_path, scratch_folder, written_path

MODULES = ("Ar", "Gf", "Kind", "Sdf", "Tf", "Usd", "UsdGeom", "UsdShade", "UsdSkel", "UsdUtils", "Vt")
MAGIC = {b"#usda": "text", b"#sdf ": "text", b"PXR-USDC": "binary", b"PK\x03\x04": "package"}
KINDS = {".usda": ("text",), ".usdc": ("binary",), ".usdz": ("package",), ".usd": ("text", "binary")}


def load_pxr(path: Path) -> Any:
    """The modules of USD by name."""
    load_extra("pxr", "usd", path)
    return SimpleNamespace(**{name: import_module(f"pxr.{name}") for name in MODULES})


@contextmanager
def _quiet(pxr: Any) -> Iterator[None]:
    """Discard what USD would print. Not for reading: with this, USD deadlocks on some damaged files; the output of the
    child process is discarded anyway.
    """
    delegate = pxr.UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    finally:
        delegate.TakeUncoalescedDiagnostics()


@contextmanager
def _reading(pxr: Any, source: Source) -> Iterator[None]:
    """Turn errors of USD, and errors from inconsistent values, into one line that names the file."""
    try:
        # Overflows are refused where the numbers are used.
        with source.naming(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except pxr.Tf.ErrorException as error:
        raise source.format_error(f"cannot be read as USD ({_reason(error)}); export it again") from error
    except (RuntimeError, LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise source.format_error("its values are inconsistent, it is damaged; export it again") from error


def _reason(error: Exception) -> str:
    """The first message of USD, without its source lines and without paths."""
    try:
        text = str(error)
    except UnicodeDecodeError:  # it quotes the bytes of the file
        return "it has text that is not UTF-8"
    message = re.search(r": '(.*)", text) or re.search(r"(\S.*)", text)
    line = re.sub(r"@?(/[^\s@':]+)+@?:?", "", message[1] if message else "no reason given").strip().strip("'")
    return quote(line).strip("'\"") or "no reason given"


@contextmanager
def open_stage(path: Path, outlet: Outlet) -> Iterator[tuple[Any, Any]]:
    """The modules of USD and the composed stage; only in a child process, as the library may crash."""
    source = Source(path)
    pxr = load_pxr(path)
    with _reading(pxr, source):
        layer = _open_layer(pxr, str(path.resolve()), source, outlet)
        _check_layers(pxr, layer, source, outlet)
        stage = pxr.Usd.Stage.Open(layer, pxr.Usd.Stage.LoadAll)
        if stage is None:
            raise source.format_error("cannot be read as USD; export it again")
        yield pxr, stage


def check_head(source: Source) -> None:
    """Refuse a file whose first bytes do not match its suffix, before the library reads it."""
    with source.open() as file:
        head = file.read(8)
    if not head:
        raise source.format_error("the file is empty; export it again")
    found = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "unknown")
    allowed = KINDS.get(source.path.suffix.lower(), tuple(MAGIC.values()))
    if found not in allowed:
        raise source.format_error(f"is not a USD file of the kind that its suffix names; it begins with {quote(head)}")
    if found == "package" and not zipfile.is_zipfile(source.path):
        raise source.format_error("is truncated: the list of its contents is missing; export it again")


def _open_layer(pxr: Any, identifier: str, source: Source, outlet: Outlet) -> Any:
    """The layer as it is on disk now, even if an older version is still in memory."""
    outer = Path(pxr.Ar.SplitPackageRelativePathOuter(identifier)[0] or identifier)
    outlet.alive(outer.stat().st_size if outer.is_file() else 0)
    held = pxr.Sdf.Layer.Find(identifier)
    if held is not None:
        held.Reload(True)
    layer = held or pxr.Sdf.Layer.FindOrOpen(identifier)
    if layer is None and identifier == str(source.path.resolve()):
        raise source.format_error("cannot be read as USD, it is truncated or damaged; export it again")
    if layer is None:
        raise source.format_error(f"refers to {quote(Path(identifier).name)}, which cannot be opened")
    return layer


def _check_layers(pxr: Any, root: Any, source: Source, outlet: Outlet) -> None:
    """Refuse a stage that would read files outside its folder."""
    folder = source.path.resolve().parent
    waiting, seen = [root], {root.identifier}
    while waiting:
        layer = waiting.pop()
        _refuse_value_clips(pxr, layer, source)
        for asset in layer.GetCompositionAssetDependencies():
            if not asset:
                continue
            if "://" in asset or asset.startswith("`") or "${" in asset:
                raise source.format_error(f"refers to {quote(asset)}; only files in its own folder are read")
            address = pxr.Sdf.ComputeAssetPathRelativeToLayer(layer, asset)
            outer = pxr.Ar.SplitPackageRelativePathOuter(address)[0] or address
            if not inside(folder, Path(outer)):
                raise source.format_error(f"refers to {quote(asset)}, outside its folder; move that file beside it")
            if address not in seen:
                seen.add(address)
                waiting.append(_open_layer(pxr, address, source, outlet))


def _refuse_value_clips(pxr: Any, layer: Any, source: Source) -> None:
    found: list[str] = []

    def visit(where: Any) -> None:
        is_prim = where.IsPrimPath() or where.IsPrimVariantSelectionPath()
        spec = layer.GetPrimAtPath(where) if is_prim else None
        if spec is not None and spec.HasInfo("clips"):
            found.append(str(where))

    layer.Traverse(pxr.Sdf.Path.absoluteRootPath, visit)
    if found:
        raise source.format_error(
            f"{quote(found[0])} takes its values from other files (value clips); flatten the stage"
        )


def save_stage(pxr: Any, stage: Any, path: Path, files: dict[str, bytes]) -> None:
    """Write a stage in memory, and `files` that it refers to, by asset path: in a package, or beside it."""
    source = Source(path)
    try:
        with _quiet(pxr):
            written = _export(pxr, stage.GetRootLayer(), path, files)
    except pxr.Tf.ErrorException as error:
        raise source.format_error(f"cannot be written as USD ({_reason(error)})") from error
    if not written:
        raise source.format_error("cannot be written as USD")


def _export(pxr: Any, layer: Any, path: Path, files: dict[str, bytes]) -> bool:
    if path.suffix.lower() != PACKAGE:
        write_pictures(path.parent, files)
        return bool(layer.Export(str(path)))
    with scratch_folder() as folder:
        inner = folder / "model.usdc"
        layer.Export(str(inner))
        writer = pxr.Sdf.ZipFileWriter.CreateNew(str(path))
        writer.AddFile(str(inner), inner.name)
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
            writer.AddFile(str(folder / name), name)
        return bool(writer.Save())


PACKAGE = ".usdz"
#: Digits of the checksum; two different images have the same ones with a probability of 1 in 10^14.
SUM = 12


def picture_names(asset: Asset, path: Path) -> dict[Image, str]:
    """The asset path in the stage at `path` of every image; empty for a mesh without texture coordinates."""
    if asset.uvs is None:
        return {}
    images = dict.fromkeys(image for material in asset.materials for _, image in material.textures)
    named = {image: picture_name(image, f"image_{i}") for i, image in enumerate(images)}
    if path.suffix.lower() == PACKAGE:
        return {image: f"textures/{name}" for image, name in named.items()}
    # Brackets and some other characters have a meaning in an asset path.
    folder = re.sub(r"[^\w. -]+", "-", named_path(path).stem) + "_textures"
    found = {}
    for image, name in named.items():
        stem, dot, suffix = name.rpartition(".")
        found[image] = f"./{folder}/{stem}-{hashlib.sha256(image.data).hexdigest()[:SUM]}{dot}{suffix}"
    return found


def write_pictures(folder: Path, files: dict[str, bytes]) -> None:
    """Write files by their paths relative to `folder`; identical ones that exist are left unchanged."""
    for address, data in files.items():
        target = folder / address
        existing = written_path(target)
        if existing.is_file() and existing.read_bytes() == data:
            continue
        with atomic_file(target) as temporary:
            temporary.write_bytes(data)
