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

from osteon.core.asset import Asset, Image
from osteon.io.formats.format_types import load_extra
from osteon.io.load.source import Source, inside, quote
from osteon.io.meshes.mtl import picture_name
from osteon.io.native.child import Outlet
from osteon.io.save.atomic import atomic_file, named_path, scratch_folder, written_path

__all__ = [
    "PACKAGE",
    "check_head",
    "load_pxr",
    "open_stage",
    "picture_names",
    "save_stage",
    "write_pictures",
]


MODULES = ("Ar", "Gf", "Kind", "Sdf", "Tf", "Usd", "UsdGeom", "UsdShade", "UsdSkel", "UsdUtils", "Vt")
MAGIC = {b"#usda": "text", b"#sdf ": "text", b"PXR-USDC": "binary", b"PK\x03\x04": "package"}
KINDS = {".usda": ("text",), ".usdc": ("binary",), ".usdz": ("package",), ".usd": ("text", "binary")}


def load_pxr(path: Path) -> Any:
    """The modules of USD by name."""
    load_extra("pxr", "usd", path)
    return SimpleNamespace(**{name: import_module(f"pxr.{name}") for name in MODULES})


@contextmanager
def _quiet(pxr: Any) -> Iterator[None]:
    """What USD would print is dropped. Never while a file of others is read: with this, USD waits for itself forever
    on some damaged ones; the child prints to nowhere anyway.
    """
    delegate = pxr.UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    finally:
        delegate.TakeUncoalescedDiagnostics()


@contextmanager
def _reading(pxr: Any, source: Source) -> Iterator[None]:
    """What USD raises, or what values that contradict each other cause, becomes one line that names the file."""
    try:
        # Numbers that grow beyond all bounds are refused where they are used.
        with source.naming(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except pxr.Tf.ErrorException as error:
        raise source.format_error(f"cannot be read as USD ({_reason(error)}); export it again") from error
    except (RuntimeError, LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise source.format_error("its values do not fit together, it is damaged; export it again") from error


def _reason(error: Exception) -> str:
    """The first complaint of USD, without its own source lines and without paths."""
    try:
        text = str(error)
    except UnicodeDecodeError:  # it quotes the bytes of the file
        return "it holds bytes that are no text"
    said = re.search(r": '(.*)", text) or re.search(r"(\S.*)", text)
    line = re.sub(r"@?(/[^\s@':]+)+@?:?", "", said[1] if said else "no reason given").strip().strip("'")
    return quote(line).strip("'\"") or "no reason given"


@contextmanager
def open_stage(path: Path, outlet: Outlet) -> Iterator[tuple[Any, Any]]:
    """The modules of USD and the composed stage; only in a child, for the library may fail on a damaged file."""
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
    """Refuse what does not begin as its suffix says, before the library is let at it."""
    with source.open() as file:
        head = file.read(8)
    if not head:
        raise source.format_error("the file is empty; export it again")
    found = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "unknown")
    allowed = KINDS.get(source.path.suffix.lower(), tuple(MAGIC.values()))
    if found not in allowed:
        raise source.format_error(f"is not a USD file of the kind its suffix says; it begins with {quote(head)}")
    if found == "package" and not zipfile.is_zipfile(source.path):
        raise source.format_error("is cut off: the list of its contents is missing; export it again")


def _open_layer(pxr: Any, identifier: str, source: Source, outlet: Outlet) -> Any:
    """The layer as it is on disk now, even if a former one is still in memory."""
    outer = Path(pxr.Ar.SplitPackageRelativePathOuter(identifier)[0] or identifier)
    outlet.alive(outer.stat().st_size if outer.is_file() else 0)
    held = pxr.Sdf.Layer.Find(identifier)
    if held is not None:
        held.Reload(True)
    layer = held or pxr.Sdf.Layer.FindOrOpen(identifier)
    if layer is None and identifier == str(source.path.resolve()):
        raise source.format_error("cannot be read as USD, it is cut off or damaged; export it again")
    if layer is None:
        raise source.format_error(f"refers to {quote(Path(identifier).name)}, which cannot be opened")
    return layer


def _check_layers(pxr: Any, root: Any, source: Source, outlet: Outlet) -> None:
    """Refuse a stage that would read beyond the folder of its file."""
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
    """Write a stage that lives in memory; `files` are what it refers to, by address: in a package, or beside it."""
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
#: Letters of the sum; two different pictures share them once in 10^14.
SUM = 12


def picture_names(asset: Asset, path: Path) -> dict[Image, str]:
    """Every picture once, with the address that the stage at `path` has for it; none without coordinates."""
    if asset.uvs is None:
        return {}
    images = dict.fromkeys(image for material in asset.materials for _, image in material.textures)
    named = {image: picture_name(image, f"image_{i}") for i, image in enumerate(images)}
    if path.suffix.lower() == PACKAGE:
        return {image: f"textures/{name}" for image, name in named.items()}
    # Brackets and the like mean something in an address of USD.
    folder = re.sub(r"[^\w. -]+", "-", named_path(path).stem) + "_textures"
    return {image: f"./{folder}/{_with_sum(name, image)}" for image, name in named.items()}


def _with_sum(name: str, image: Image) -> str:
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}-{hashlib.sha256(image.data).hexdigest()[:SUM]}{dot}{suffix}"


def write_pictures(folder: Path, files: dict[str, bytes]) -> None:
    """Files below `folder` by their addresses; those that are there already are left alone."""
    for address, data in files.items():
        target = folder / address
        there = written_path(target)
        if there.is_file() and there.read_bytes() == data:
            continue
        with atomic_file(target) as temporary:
            temporary.write_bytes(data)
