"""What raters see: the original and every candidate as frames of one mesh, in packs that tell nothing else.

A model is played, so that models and sequences look alike: the same triangles, materials and shading of the original,
only the positions are the candidate's. No pack holds a name, and its address is random.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.asset import Asset
from osteon.core.clips import Clip
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.io.save.played import played_sequence
from osteon.study.plan import StudyCharacter, StudyPlan
from osteon.view.pack.model_pack import write_pack
from osteon.view.server.collection import load_shown

__all__ = ["Animations", "prepare_animations"]


@dataclass(frozen=True, slots=True)
class Animations:
    """The packs of a study, each known by a random id."""

    folder: Path
    originals: dict[str, str]  # id by character
    candidates: dict[tuple[str, str], str]  # id by character and candidate

    def pack_of(self, pack_id: str) -> Path | None:
        known = {*self.originals.values(), *self.candidates.values()}
        return self.folder / f"{pack_id}.bin" if pack_id in known else None


def prepare_animations(plan: StudyPlan, folder: Path, progress: Progress | None = None) -> Animations:
    """Read all files of a study and write their packs; refuses what cannot be compared."""
    made = Animations(folder, {}, {})
    total = len(plan.inputs)
    for character in plan.characters:
        reference = _load_reference(character)
        made.originals[character.name] = _write(folder, reference)
        for name in plan.candidates:
            report_progress(progress, "read", (len(made.originals) + len(made.candidates)) / total)
            candidate = _load_candidate(character.candidates[name], reference, character.reference)
            made.candidates[character.name, name] = _write(folder, candidate)
    return made


def _load(name: str) -> MeshSequence:
    shown = load_shown([name])
    sequence = played_sequence(shown) if isinstance(shown, SkinnedModel) else shown
    if len(sequence.clips) > 1:
        clips = ", ".join(clip.name for clip in sequence.clips)
        raise GeometryError(f"{name}: has several clips ({clips}); a study plays one, so name a file that holds one")
    return sequence


def _load_reference(character: StudyCharacter) -> MeshSequence:
    """The original, without its names."""
    found = _load(character.reference)
    return found.with_parts(clips=_nameless(found.clips), name="")


def _load_candidate(name: str, reference: MeshSequence, original: str) -> MeshSequence:
    """The positions of a candidate on the mesh of the original."""
    found = _load(name)
    for what, came, expected in (
        ("vertices", found.n_vertices, reference.n_vertices),
        ("frames", found.n_frames, reference.n_frames),
    ):
        if came != expected:
            raise GeometryError(
                f"{name}: has {came} {what}, but the reference {original} has {expected}; "
                "a candidate needs the vertices and the frames of the reference"
            )
    if not _same_triangles(found.faces, reference.faces):
        raise GeometryError(
            f"{name}: has other triangles than the reference {original}, or its vertices in another order; "
            "a candidate needs the vertices of the reference in their order"
        )
    return MeshSequence(found.source, reference.faces, reference.rest, reference.clips, Asset(), "")


def _same_triangles(faces: Int32, others: Int32) -> bool:
    """Whether the triangles are the same, whatever their order and their first corner."""
    return faces.shape == others.shape and bool(np.array_equal(_in_order(faces), _in_order(others)))


def _in_order(faces: Int32) -> Int32:
    start = faces.argmin(axis=1)[:, None]
    turned = np.take_along_axis(faces, (start + np.arange(3)) % 3, axis=1)
    return turned[np.lexsort(turned.T)]


def _nameless(clips: Sequence[Clip]) -> list[Clip]:
    return [Clip("clip", clip.start, clip.stop, clip.fps) for clip in clips]


def _write(folder: Path, sequence: MeshSequence) -> str:
    pack_id = secrets.token_hex(8)
    write_pack(folder / f"{pack_id}.bin", sequence)
    return pack_id
