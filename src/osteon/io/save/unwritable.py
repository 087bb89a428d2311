"""What is said of an output that Osteon cannot write: why, what it writes instead, and what serves the same purpose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from osteon.core.options import command_text
from osteon.io.formats.format_types import SequenceFormat
from osteon.io.formats.registry import FORMATS, MODEL_FORMATS, writable_suffixes

__all__ = ["why_unclear", "why_unwritable"]


@dataclass(frozen=True, slots=True)
class _Instead:
    """What to take in place of a format."""

    suffix: str  # of a model
    because: str


_SCENES = _Instead(".glb", "which Blender, Unity and Unreal read, and Blender exports to others")
_INSTEAD = {
    **dict.fromkeys((".fbx", ".dae", ".blend", ".ma", ".mb", ".max", ".c4d", ".3ds", ".x", ".x3d", ".wrl"), _SCENES),
    ".bvh": _Instead(".glb", "which holds mesh, weights and motion where a BVH holds the motion of joints alone"),
    ".vrm": _Instead(".glb", "of which a VRM is a kind"),
    **dict.fromkeys((".mdd", ".pc2", ".vtx"), _Instead(".abc", "which holds frames of vertices as point caches do")),
    ".stl": _Instead(".ply", "a file for each frame"),
}


def why_unclear(path: str) -> str | None:
    """What to say of a name without a suffix, which could be a model or a folder of frames; None where it is clear."""
    target = Path(path)
    if target.suffix or path.endswith(("/", "\\")) or target.is_dir() or "#" in path:
        return None
    frames = ", ".join(s for s in _frames() if s not in MODEL_FORMATS)
    return (
        f"{path}: the name has no suffix; add one for a model ({', '.join(MODEL_FORMATS)}) or for frames in a file "
        f"({frames}), or end it with / for a folder of frames"
    )


def why_unwritable(path: str, *, models: bool) -> str | None:
    """Why nothing can be written to a path, and what to name instead; None where it can. `models`: not only frames."""
    target = Path(path)
    suffix = target.suffix.lower()
    if not suffix or path.endswith(("/", "\\")) or target.is_dir() or suffix in _written(models):
        return None
    read = "is read, not written" if suffix in FORMATS else "is not a format that Osteon knows"
    if not models and suffix in MODEL_FORMATS:
        read = "holds models, and frames are asked for"
    best = _INSTEAD.get(suffix, _SCENES)
    wanted = best.suffix if best.suffix in _written(models) else ".abc"
    because = f", {best.because}" if wanted == best.suffix else ""
    proposal = command_text("-o", _renamed(target, wanted))
    kinds = [f"frames: a folder, {', '.join(s for s in _frames() if not models or s not in MODEL_FORMATS)}"]
    if models:
        kinds = [f"models: {', '.join(MODEL_FORMATS)}", *kinds]
    return f"{path}: '{suffix}' {read}; take {proposal}{because} ({'; '.join(kinds)})"


def _renamed(target: Path, suffix: str) -> Path:
    """The path in another format; meshes of one pose each are numbered."""
    numbered = suffix in writable_suffixes()
    return target.with_name(f"{target.stem}_####{suffix}") if numbered else target.with_suffix(suffix)


def _frames() -> tuple[str, ...]:
    """Suffixes that frames can be written to."""
    whole = [f.suffix for f in FORMATS.values() if isinstance(f, SequenceFormat) and f.write is not None]
    return (*writable_suffixes(), *whole)


def _written(models: bool) -> tuple[str, ...]:
    return (*_frames(), *(MODEL_FORMATS if models else ()))
