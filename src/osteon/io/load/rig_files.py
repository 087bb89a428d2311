"""Characters whose own document is kept, and files that hold joints and clips but no mesh.

Characters are opened as glTF documents, whatever their format. Clips of other files are played on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from osteon.core.errors import FileFormatError, OptionError
from osteon.core.model import SkinnedModel
from osteon.io.formats.format_types import ClipFacts, LazyFunction
from osteon.io.formats.options import DEFAULT_CLIP_OPTIONS, DEFAULT_LOAD_OPTIONS, ClipOptions, LoadOptions
from osteon.io.load.clips import choose_frame_numbers, select_names
from osteon.io.load.sequences import resolve_inputs
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file

if TYPE_CHECKING:
    from osteon.io.gltf.patch.character import Character
    from osteon.io.gltf.patch.clips import MatchedClips
    from osteon.io.gltf.read.animations import SampledClip
    from osteon.io.gltf.read.document import Document


_OPEN_GLTF = LazyFunction("osteon.io.gltf.read.document", "open_document")
#: Functions that open a file as a glTF document: with its meshes, and for its clips alone.
_CHARACTERS = {
    ".glb": _OPEN_GLTF,
    ".gltf": _OPEN_GLTF,
    ".fbx": LazyFunction("osteon.io.fbx.document", "open_fbx_document"),
}
_CLIPS = _CHARACTERS | {".fbx": LazyFunction("osteon.io.fbx.document", "open_fbx_clips")}
_GLTF_CLIPS = LazyFunction("osteon.io.gltf.read.animations", "holds_gltf_clips")
_HOLDS_CLIPS = {
    ".glb": _GLTF_CLIPS,
    ".gltf": _GLTF_CLIPS,
    ".fbx": LazyFunction("osteon.io.fbx.document", "holds_fbx_clips"),
}
RIG_SUFFIXES = tuple(_CHARACTERS)
#: Files that a character's document is written to.
_WRITTEN = (".glb", ".gltf")


def has_clips_only(path: Path) -> bool:
    """Whether a file holds animations and no mesh; nothing is sampled."""
    test = _HOLDS_CLIPS.get(path.suffix.lower())
    return test is not None and bool(test(path))


def open_clips(path: Path, fps: float | None = None) -> Document | None:
    """The document of a file that may hold clips; None for a format that never holds them alone."""
    return _opened(_CLIPS, path, fps)


def open_character(path: PathLike, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> Character | None:
    """The character of a file with its document; None for a format whose files are written anew."""
    from osteon.io.gltf.patch.character import read_character

    path = Path(path)
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder, expected the file of a skinned model")
    document = _opened(_CHARACTERS, path, None if options.fps == "file" else options.frame_rate)
    return None if document is None else read_character(document, LoadOptions(fps=options.fps))


def _opened(openers: dict[str, LazyFunction], path: Path, fps: float | None) -> Document | None:
    opener = openers.get(path.suffix.lower())
    if opener is None:
        return None
    document: Document = opener(path, fps) if path.suffix.lower() == ".fbx" else opener(path)
    return document


def keeps_rig(character: Character | None, model: SkinnedModel, path: PathLike) -> bool:
    """Whether a model is written into the document of the character that it was fitted to."""
    from osteon.io.gltf.patch.write import keeps_mesh

    fits = character is not None and Path(path).suffix.lower() in _WRITTEN and keeps_mesh(character, model)
    return fits and model.deformer.kind == "linear_blend"


def save_on_rig(model: SkinnedModel, character: Character, path: PathLike) -> None:
    """Write a model that was fitted to a character into the character's own document, whole or not at all.

    Nodes, joints, names, materials, other clips and all data that Osteon does not support are unchanged.
    """
    from osteon.io.gltf.patch.write import write_on_character

    with atomic_file(path) as temporary:
        write_on_character(temporary, character, model)


@dataclass(frozen=True, slots=True)
class PlayedClips:
    """A character that plays clips of other files."""

    model: SkinnedModel  # with these clips alone
    character: Character
    added: tuple[SampledClip, ...]  # clips of the model that are not the character's own, with their keys
    matched: tuple[MatchedClips, ...]  # of each file
    notes: tuple[str, ...] = ()


def holds_clips_only(path: PathLike) -> bool:
    """Whether this file holds joints and clips, but no mesh that they move."""
    path = Path(path)
    return path.is_file() and has_clips_only(path)


def describe_clips_only(path: PathLike, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> ClipFacts:
    """The joints and clips of a file without a mesh; refused for other files."""
    from osteon.io.gltf.read.animations import describe_clip_file

    document = open_clips(Path(path), None if options.fps == "file" else options.frame_rate)
    if document is None:
        raise FileFormatError(f"{path}: clips without a mesh are read from {', '.join(RIG_SUFFIXES)}")
    return describe_clip_file(document, options)


def play_on_rig(
    rig: PathLike,
    paths: Sequence[PathLike],
    *,
    options: LoadOptions = DEFAULT_LOAD_OPTIONS,
    clip_options: ClipOptions = DEFAULT_CLIP_OPTIONS,
) -> PlayedClips | None:
    """The character `rig` with the clips of files that hold no mesh; None if no input is such a file."""
    files = [take.files[0] for take in resolve_inputs(paths)]
    clips_only = [holds_clips_only(path) for path in files]
    if not any(clips_only):
        return None
    rig = Path(rig)
    for path, alone in zip(files, clips_only, strict=True):
        if not alone and not (rig.exists() and path.samefile(rig)):
            first = files[clips_only.index(True)]
            raise FileFormatError(f"{path}: holds a mesh, but {first} holds clips for a rig; name files of one kind")
    if options.rest is not None or options.faces is not None:
        flag = "--faces" if options.rest is None else "--rest"
        raise OptionError(f"{flag}: clips without a mesh play the rig's own; omit it")
    if holds_clips_only(rig):
        raise FileFormatError(f"{rig}: holds clips but no mesh; name the file of the character with --rig")
    character = open_character(rig, LoadOptions(fps=options.fps))
    if character is None:
        raise FileFormatError(
            f"{rig}: clips without a mesh play on characters in {', '.join(RIG_SUFFIXES)}; write it as one of these"
        )
    return _played(character, files, options, clip_options)


def play_motion(rig: PathLike, motion: PathLike) -> PlayedClips:
    """The character `rig` with the clips of a file on the same skeleton, with or without a mesh; names are matched."""
    rig, motion = Path(rig), Path(motion)
    for path, what in ((rig, "the character"), (motion, "the motion")):
        if path.suffix.lower() not in _CLIPS:
            raise FileFormatError(f"{path}: {what} is read from {', '.join(RIG_SUFFIXES)}; export it as one of these")
    character = open_character(rig)
    assert character is not None  # by its suffix
    return _played(character, [motion], DEFAULT_LOAD_OPTIONS, DEFAULT_CLIP_OPTIONS)


def _played(
    character: Character, files: Sequence[Path], options: LoadOptions, clip_options: ClipOptions
) -> PlayedClips:
    from osteon.io.gltf.patch.clips import in_a_row, match_clips
    from osteon.io.gltf.read.animations import read_clip_file
    from osteon.io.gltf.read.model import build_model

    planned: list[SampledClip] = []
    own: list[bool] = []
    matched: list[MatchedClips] = []
    for path in files:
        if path.samefile(character.document.source.path):
            found = list(character.clips)
        else:
            document = open_clips(path, None if options.fps == "file" else options.frame_rate)
            assert document is not None
            matched.append(match_clips(read_clip_file(document, options), character, clip_options))
            found = list(matched[-1].clips)
        planned += found
        own += [path.samefile(character.document.source.path)] * len(found)
    named = in_a_row(planned)
    wanted = select_names([sampled.clip.name for sampled in named], options.clips, files[0])
    chosen, sources = _choose_frames(in_a_row([named[i] for i in wanted]), options)
    added = tuple(sampled for sampled, i in zip(chosen, sources, strict=True) if not own[wanted[i]])
    model = build_model(character.document, character.scene, chosen)
    return PlayedClips(model, character, added, tuple(matched), tuple(note for m in matched for note in m.notes))


def _choose_frames(planned: list[SampledClip], options: LoadOptions) -> tuple[list[SampledClip], list[int]]:
    """The requested frames, and the clip of each run of them.

    A clip that is sampled anew, or of which some frames are omitted, has a key in each that it has.
    """
    from osteon.io.gltf.patch.clips import in_a_row, resample

    if options.frames is None and options.step == 1 and options.fps == "file":
        return planned, list(range(len(planned)))
    frames, clips = choose_frame_numbers(tuple(p.clip for p in planned), options.frames, options.step)
    found, sources = [], []
    for clip in clips:
        mine = frames[clip.start : clip.stop]
        source = next(i for i, p in enumerate(planned) if p.clip.start <= mine[0] < p.clip.stop)
        found.append(resample(planned[source], [f - planned[source].clip.start for f in mine], clip))
        sources.append(source)
    return in_a_row(found), sources


def save_clips_on_rig(played: PlayedClips, path: PathLike) -> None:
    """Write the character with the clips after its own; every other byte of its document stays."""
    from osteon.io.gltf.patch.clips import append_clips
    from osteon.io.gltf.patch.document import PatchedDocument

    with atomic_file(path) as temporary:
        file = PatchedDocument(played.character.document)
        append_clips(file, played.added)
        temporary.write_bytes(file.to_bytes(temporary.suffix.lower()))
