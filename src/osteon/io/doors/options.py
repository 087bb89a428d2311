"""What a caller may say about an input or an output, and what a reader of whole animations is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.errors import OptionError
from osteon.core.progress import Progress
from osteon.core.sequence import DEFAULT_FPS, Asset

__all__ = [
    "DEFAULT_LOAD_OPTIONS",
    "DEFAULT_SAVE_OPTIONS",
    "Connectivity",
    "LoadOptions",
    "ReadRequest",
    "SaveOptions",
]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to read a sequence.

    `fps="file"` takes the frame rate the file carries: the `fps` of an .npz, or for glTF the rate on which all keys of
    an animation fall (30 when there is none). Frames that carry no rate play at 24. A number overrides both, and is the
    rate at which glTF is sampled.
    """

    fps: float | Literal["file"] = "file"  # frames per second, > 0
    faces: Path | None = None  # a mesh or an .npy of indices, for inputs that hold positions only
    rest: Path | int | None = None  # a mesh, or a frame (negative counts from the end); None: file's, else first frame
    clips: tuple[str, ...] = ()  # which animations of each file to load, by name; () loads all

    def __post_init__(self) -> None:
        if self.fps != "file" and not (isinstance(self.fps, (int, float)) and np.isfinite(self.fps) and self.fps > 0):
            raise OptionError(f"fps: expected a positive number or 'file', got {self.fps!r}")
        if isinstance(self.rest, bool):
            raise OptionError("rest: expected a file or a frame number")

    @property
    def frame_rate(self) -> float:
        """The rate of frames that carry none."""
        return DEFAULT_FPS if self.fps == "file" else float(self.fps)


DEFAULT_LOAD_OPTIONS = LoadOptions()


@dataclass(frozen=True, slots=True)
class Connectivity:
    """Triangles that came from another file than the positions."""

    faces: Int32  # (t,3)
    asset: Asset
    origin: Path

    def asset_for(self, n_vertices: int) -> Asset:
        """What the file carried besides triangles, without colours of other vertices."""
        keep = self.asset.colors is not None and len(self.asset.colors) == n_vertices
        return self.asset if keep else replace(self.asset, colors=None)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What every reader of whole animations is asked."""

    options: LoadOptions = DEFAULT_LOAD_OPTIONS
    connectivity: Connectivity | None = None  # from LoadOptions.faces
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """How a skinned model is written."""

    quantize: bool = False  # 16-bit positions, weights, corrections and rotations where the format has them
    key_error: float = 0.0  # keys may go while no vertex moves by more than this part of the diagonal, 0 … 1
    normals: bool = True  # write normals and their corrections

    def __post_init__(self) -> None:
        if not 0 <= self.key_error <= 1:
            raise OptionError(f"key_error: expected 0 … 1 of the diagonal, got {self.key_error}")


DEFAULT_SAVE_OPTIONS = SaveOptions()
