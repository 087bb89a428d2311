"""The animations of a study: the original and every candidate as frames of one mesh, in packs without names.

A model is baked to frames, so that models and sequences are shown alike: triangles, materials and shading are
those of the original, only the positions are the candidate's. No pack holds a name, and its address is random.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Int32
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.io.save.sequences import played_sequence
from osteon.study.plan import StudyPlan
from osteon.view.pack.model_pack import write_pack
from osteon.view.server.collection import load_shown


@dataclass(frozen=True, slots=True)
class Animations:
    """The packs of a study; each has a random id."""

    folder: Path
    originals: dict[str, str]  # id by character
    candidates: dict[tuple[str, str], str]  # id by character and candidate

    def pack_of(self, pack_id: str) -> Path | None:
        known = {*self.originals.values(), *self.candidates.values()}
        return self.folder / f"{pack_id}.bin" if pack_id in known else None


def prepare_animations(plan: StudyPlan, folder: Path, progress: Progress | None = None) -> Animations:
    """Read all files of a study and write their packs; refuses candidates that cannot be compared."""
    made = Animations(folder, {}, {})
    total = len(plan.inputs)
    for character in plan.characters:
        reference = _load(character.reference)
        clips = [Clip("clip", clip.start, clip.stop, clip.fps) for clip in reference.clips]  # without its name
        reference = reference.with_parts(clips=clips, name="")
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
        raise GeometryError(f"{name}: has several clips ({clips}); a study plays one; name a file with one clip")
    return sequence


def _load_candidate(name: str, reference: MeshSequence, original: str) -> MeshSequence:
    """The positions of a candidate on the mesh of the original."""
    found = _load(name)
    for what, count, expected in (
        ("vertices", found.n_vertices, reference.n_vertices),
        ("frames", found.n_frames, reference.n_frames),
    ):
        if count != expected:
            raise GeometryError(
                f"{name}: has {count} {what}, but the reference {original} has {expected}; "
                "a candidate needs the vertices and the frames of the reference"
            )
    if not np.array_equal(_sorted_triangles(found.faces), _sorted_triangles(reference.faces)):
        raise GeometryError(
            f"{name}: has other triangles than the reference {original}, or its vertices in another order; "
            "a candidate needs the vertices of the reference in their order"
        )
    return MeshSequence(found.source, reference.faces, reference.rest, reference.clips, Asset(), "")


def _sorted_triangles(faces: Int32) -> Int32:
    """The triangles in an order that depends neither on their order nor on their first corners."""
    start = faces.argmin(axis=1)[:, None]
    rotated = np.take_along_axis(faces, (start + np.arange(3)) % 3, axis=1)
    return rotated[np.lexsort(rotated.T)]


def _write(folder: Path, sequence: MeshSequence) -> str:
    pack_id = secrets.token_hex(8)
    write_pack(folder / f"{pack_id}.bin", sequence)
    return pack_id
