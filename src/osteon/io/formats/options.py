"""Options of inputs and outputs, and what a reader of whole animations receives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from osteon.core.animation import DEFAULT_FPS
from osteon.core.arrays import Int32
from osteon.core.errors import OptionError
from osteon.core.mesh import Asset
from osteon.core.options import check_options, need, option
from osteon.core.progress import Progress
from osteon.io.engines import GLTF, USD, EngineName, default_bone_types, engines_for, engines_that

_WRITTEN_ANEW = need(kept=False, reason="--rig keeps the character's own file, and adds to it; omit it")
_TAKES_SHORT_POSITIONS = engines_that(quantized_positions=True)
_TAKES_SHORT_ROTATIONS = engines_that(short_rotations=True)
_TAKES_MESHOPT = engines_that(meshopt=True)
_MOVES = need(input=("sequence", "model", "clips"), reason="a skeleton file has no frames; omit it")
_OWN_REST = need(rest_pose="sequence", reason="the rig has the rest pose that it was bound in; omit it")
_ALL_FRAMES = need(input=("sequence", "skeleton"), reason="chooses frames of a sequence; play chooses those of a model")
_FRAMES = need(input=("sequence", "skeleton"), reason="a model keeps its own rest pose and triangles; omit it")


def _parse_rest(text: str) -> Path | int:
    """The number of a frame if the text is one, else a file."""
    return int(text) if text.lstrip("-").isdecimal() and not Path(text).exists() else Path(text)


Fallback = Literal["skin", "none"]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options for reading a sequence.

    `fps="file"` uses the frame rate of the file: the `fps` of an .npz, or for glTF the rate on which all keys of
    an animation fall (30 when there is none). Frames without a rate play at 24. A number overrides both, and is the
    rate at which glTF is sampled.

    Conditions that `needs` may refer to: `input` (sequence, model or skeleton), `rest_pose` (sequence, or a rig's own).
    """

    fps: float | Literal["file"] = option(
        "file",
        help="Frame rate; also the rate at which glTF is sampled.",
        flags=("--fps",),
        above=0,
        expected="a positive number or 'file'",
        unit="frames per second",
        shown_default="file's, or 24",
        needs=(_MOVES,),
    )
    faces: Path | None = option(  # refused where it is read: only then is it known whether inputs hold triangles
        None,
        help="Mesh or .npy with the triangles, for inputs that hold none, such as a point cache.",
        flags=("--faces",),
        metavar="FILE",
        needs=(_MOVES, _FRAMES),
    )
    rest: Path | int | None = option(  # a negative frame counts from the end
        None,
        help="Rest pose: a mesh, or a frame.",
        flags=("--rest",),
        metavar="FILE|INDEX",
        parse=_parse_rest,
        shown_default="file's, or first frame",
        needs=(_MOVES, _FRAMES, _OWN_REST),
    )
    clips: tuple[str, ...] = option(
        (),
        help="Only this clip; may be repeated.",
        flags=("--clip",),
        metavar="NAME",
        shown_default="all",
        needs=(_MOVES,),
    )

    frames: str | None = option(
        None,
        help="Only these frames: A:B (B not included), A:B:STEP, or numbers with commas; negative ones count back.",
        flags=("--frames",),
        metavar="A:B",
        shown_default="all",
        needs=(_MOVES, _ALL_FRAMES),
    )
    step: int = option(
        1,
        help="Only every N-th frame of each clip; the frame rate is divided by N.",
        flags=("--step",),
        metavar="N",
        minimum=1,
        needs=(_MOVES, _ALL_FRAMES),
    )

    def __post_init__(self) -> None:
        check_options(self)
        if isinstance(self.rest, bool):
            raise OptionError("rest: expected a file or a frame number")

    @property
    def frame_rate(self) -> float:
        """The rate of frames without one."""
        return DEFAULT_FPS if self.fps == "file" else float(self.fps)


DEFAULT_LOAD_OPTIONS = LoadOptions()


_CLIPS = need(clips=True, reason="is for clips without a mesh, played on a rig; omit it")


@dataclass(frozen=True, slots=True)
class ClipOptions:
    """Options for playing clips of files without a mesh on a character.

    Conditions that `needs` may refer to: `clips` (the inputs are such files).
    """

    keep_translations: bool = option(
        False,
        help="Clips without a mesh: take translations as they are, not scaled to the lengths of the rig's bones.",
        flags=("--keep-translations",),
        needs=(_CLIPS,),
    )
    partial: bool = option(
        False,
        help="Clips without a mesh: play them on a rig that lacks more than a fifth of their joints.",
        flags=("--partial",),
        needs=(_CLIPS,),
    )

    def __post_init__(self) -> None:
        check_options(self)


DEFAULT_CLIP_OPTIONS = ClipOptions()


@dataclass(frozen=True, slots=True)
class Connectivity:
    """Triangles that came from another file than the positions."""

    faces: Int32  # (t,3)
    asset: Asset
    origin: Path
    n_vertices: int | None = None  # of the mesh; None if the file holds triangles only

    def asset_for(self, n_vertices: int) -> Asset:
        """The asset of the file, without its colours if they belong to another number of vertices."""
        keep = self.asset.colors is not None and len(self.asset.colors) == n_vertices
        return self.asset if keep else replace(self.asset, colors=None)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The arguments of every reader of whole animations."""

    options: LoadOptions = DEFAULT_LOAD_OPTIONS
    connectivity: Connectivity | None = None  # from LoadOptions.faces
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """Options for writing a skinned model.

    Conditions that `needs` may refer to: `written` (suffixes of the outputs), `corrected` (there are corrections),
    `stock` (every player supports the deformer), `kept` (the file of a rig is kept).
    """

    engine: EngineName = option(
        "any",
        help=f"The engine that plays the file (docs/engines.md). Default bone type: {default_bone_types()}.",
        flags=("--for",),
        needs=(
            need(written=GLTF, only_for=engines_for(GLTF), reason="reads glTF; write a .glb or .gltf, or omit it"),
            need(written=USD, only_for=engines_for(USD), reason="reads USD; write a .usdc, or omit it"),
        ),
    )
    quantize: bool = option(
        False,
        help="16-bit positions, corrections and weights: a glTF of about half the size.",
        flags=("--quantize",),
        needs=(
            _WRITTEN_ANEW,
            need(written=GLTF, reason="only glTF has 16-bit numbers; write a .glb or .gltf, or omit it"),
            need(
                engine=_TAKES_SHORT_POSITIONS,
                reason=f"16-bit positions are read by {', '.join(_TAKES_SHORT_POSITIONS[1:])} only; omit it",
            ),
        ),
    )
    short_rotations: bool = option(
        False,
        help="16-bit rotations: 5 to 24 kB less; not every engine supports them.",
        flags=("--short-rotations",),
        needs=(
            _WRITTEN_ANEW,
            need(written=GLTF, reason="only glTF has 16-bit numbers; write a .glb or .gltf, or omit it"),
            need(
                engine=_TAKES_SHORT_ROTATIONS,
                reason=f"16-bit rotations are read by {', '.join(_TAKES_SHORT_ROTATIONS[1:])} only; omit it",
            ),
        ),
    )
    compress: bool = option(
        False,
        help="A glTF of about a quarter of the size, for players with meshopt; vertices move by 0.025 % of the"
        " diagonal at most.",
        flags=("--compress",),
        needs=(
            _WRITTEN_ANEW,
            need(written=GLTF, reason="only glTF is compressed; write a .glb or .gltf, or omit it"),
            need(
                engine=_TAKES_MESHOPT,
                reason=f"compressed files are read by {', '.join(_TAKES_MESHOPT[1:])} only; omit it",
            ),
        ),
    )
    key_error: float = option(
        0.0,
        help="Drop keys while no vertex moves by more than this part of the body's diagonal.",
        flags=("--key-error",),
        metavar="PERCENT",
        minimum=0,
        maximum=1,
        expected="0 … 1 of the diagonal",
        unit="of the diagonal",
        scale=100,
        needs=(
            need(written=GLTF, reason="only glTF has keys to drop; write a .glb or .gltf, or omit it"),
            _WRITTEN_ANEW,
        ),
    )
    normals: bool = option(
        True,
        help="Positions only.",
        flags=("--no-normals",),
        needs=(
            _WRITTEN_ANEW,
            need(written=(*GLTF, *USD, ".npz"), reason="frames are written without normals anyway; omit it"),
            need(
                written=(*GLTF, *USD),
                corrected=True,
                reason="an .npz holds normals of corrections only, and there are none; omit it",
            ),
        ),
    )

    fallback: Fallback = option(
        "skin",
        help="If a format does not support a deformer: write the closest linear blend skin, or refuse.",
        flags=("--fallback",),
        needs=(
            need(
                written=(*GLTF, *USD),
                reason="only glTF and USD lack a deformer that Osteon has; write a .glb, or omit it",
            ),
            need(
                stock=False,
                reason="the file has a form for this deformer; of use with --model as or mwe, and with dqs in a .glb",
            ),
        ),
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def whole_numbers(self) -> bool:
        """Whether vertices are stored as whole numbers."""
        return self.quantize or self.compress


DEFAULT_SAVE_OPTIONS = SaveOptions()
