"""Visible differences between a file and its source: pictures by three.js, and FLIP between them.

For every sequence: plain `osteon skin X -o Y.glb`; the same without normals in the fit; Dem Bones with as many bones;
and vertex animation textures with the same and with twice the number of bytes (vertex_texture.py). The pictures and
the pixels that count are described in seen_pictures.py. The source has its own normals, or smooth ones of each frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from osteon.core.sequence import MeshSequence
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, find_sequence
from osteon_bench.seen_files import make_files
from osteon_bench.seen_pictures import (
    FlipScore,
    Picture,
    Studio,
    View,
    flip_score,
    lacking_tools,
    open_studio,
    tight_views,
)
from osteon_bench.seen_surface import SeenSurface, make_surface
from osteon_bench.vertex_texture import TextureBits, VertexTexture, bake_vertex_texture, fitting_frames

SEQUENCES = ("horse", "cow", "flag", "clothhorse", "elasticcow", "chicken", "cheburashka")
#: Built-in substitutes for missing sequences.
STAND_INS = {"horse": "creature", "flag": "cloth"}
#: Number of compared frames of a sequence.
FRAMES = 12
#: Mean FLIP over that without normals in the fit, of Dem Bones, and of the texture of twice the bytes.
OVER_BEFORE, OVER_DEM_BONES, OVER_TEXTURE = 0.4, 1.0, 1.0
BOUNDED_BEFORE, BOUNDED_TEXTURE = ("flag", "clothhorse"), ("horse", "cow")
#: Sizes of vertex animation textures over ours.
TEXTURES = (1, 2)


def bench_seen(run: BenchRun) -> list[Row]:
    """Rows of every available sequence, or of its substitute."""
    reason = lacking_tools()
    if reason:
        run.report_missing(f"pictures: omitted, {reason}")
        return []
    rows: list[Row] = []
    for name in SEQUENCES:
        sequence = find_sequence(run, name) or _stand_in(run, name)
        if sequence is not None:
            rows += _rows(name, look_at(run, replace_name(sequence, name)))
    return rows


def replace_name(sequence: MeshSequence, name: str) -> MeshSequence:
    """The sequence under the name of the bench."""
    return replace(sequence, mesh=replace(sequence.mesh, name=name))


def _stand_in(run: BenchRun, name: str) -> MeshSequence | None:
    """A built-in subject of the same kind; None if there is none."""
    from osteon.synth import SUBJECTS

    if name not in STAND_INS:
        return None
    run.report(f"the built-in {STAND_INS[name]} replaces {name}")
    return SUBJECTS[STAND_INS[name]]()


@dataclass(frozen=True, slots=True)
class SeenSubject:
    """All pictures of a sequence by content, in the same order."""

    pictures: dict[str, list[Picture]]  # "source", "ours", "before", "Dem Bones", "texture x 1", "texture x 2"
    scores: dict[str, FlipScore]
    nbytes: int  # of our file
    bones: int
    textures: dict[str, VertexTexture]


def look_at(run: BenchRun, sequence: MeshSequence) -> SeenSubject:
    """Fit a sequence, take all pictures and compare them."""
    with TemporaryDirectory(prefix="osteon-seen-") as folder, open_studio() as studio:
        files = make_files(run, sequence, Path(folder))
        run.report(f"{sequence.name}: pictures")
        frames = _frames(sequence)
        views = [tight_views(sequence.frame(frame)) for frame in frames]
        shots = [(frame, view) for frame, each in zip(frames, views, strict=True) for view in each]
        surface = make_surface(sequence, files.model)
        studio.open_file(files.ours)
        studio.open_surface(surface)
        pictures = {"source": [studio.surface_picture(*surface.at(sequence.frame(f)), view) for f, view in shots]}
        textures, scores = {}, {}
        for times in TEXTURES:
            run.report(f"{sequence.name}: {_texture_name(times)}")
            found = _texture_pictures(studio, sequence, surface, times * files.nbytes, (shots, pictures["source"]))
            if found is not None:
                name = _texture_name(times)
                scores[name], textures[name], pictures[name] = found
        for name, path in (("ours", files.ours), ("before", files.before), ("Dem Bones", files.dem_bones)):
            if path is not None:
                studio.open_file(path)
                pictures[name] = [studio.file_picture(*_moment(sequence, frame), view) for frame, view in shots]
    run.report(f"{sequence.name}: FLIP")
    for name, each in pictures.items():
        if name != "source" and name not in scores:
            scores[name] = flip_score(zip(pictures["source"], each, strict=True))
    return SeenSubject(pictures, scores, files.nbytes, files.model.n_bones, textures)


def _frames(sequence: MeshSequence) -> list[int]:
    """One random frame in each of equal parts, with a fixed seed.

    Evenly spaced frames coincide with those that a texture stores: on clothhorse all four were stored ones, and a
    texture of 34 of 53 frames then had no visible error.
    """
    parts = np.arange(FRAMES) + np.random.default_rng(0).random(FRAMES)
    return sorted({int(part * sequence.n_frames / FRAMES) for part in parts})


def _moment(sequence: MeshSequence, frame: int) -> tuple[int, float]:
    """The clip of a frame, and the second in it."""
    number = next(i for i, clip in enumerate(sequence.clips) if clip.start <= frame < clip.stop)
    clip = sequence.clips[number]
    return number, (frame - clip.start) / clip.fps


def _texture_name(times: int) -> str:
    return f"texture x {times}"


def _texture_pictures(
    studio: Studio,
    sequence: MeshSequence,
    surface: SeenSurface,
    nbytes: int,
    taken: tuple[list[tuple[int, View]], list[Picture]],
) -> tuple[FlipScore, VertexTexture, list[Picture]] | None:
    """The texture of some bytes with the least FLIP, of 8 or 16 bits, with its pictures; None if none fits."""
    shots, source = taken
    poses = [surface.at(sequence.frame(f)) for f in range(sequence.n_frames)]
    frames, normals = (np.stack([pose[i] for pose in poses]) for i in range(2))
    best: tuple[FlipScore, VertexTexture, list[Picture]] | None = None
    widths: tuple[TextureBits, ...] = (16, 8)
    for bits in widths:
        keys = fitting_frames(nbytes, sequence.n_frames, frames.shape[1], surface.corners, bits)
        if not keys:
            continue
        texture = bake_vertex_texture(frames, normals, surface.corners, keys, bits)
        pictures = [studio.surface_picture(*texture.at(frame), view) for frame, view in shots]
        score = flip_score(zip(source, pictures, strict=True))
        if best is None or score.mean < best[0].mean:
            best = score, texture, pictures
        if keys == sequence.n_frames:
            break  # all frames with 16 bits: fewer bits cannot be better
    return best


def _rows(name: str, subject: SeenSubject) -> list[Row]:
    case = f"{name}, {subject.bones} bones, {subject.nbytes / 1000:.0f} kB"
    ours = subject.scores["ours"].mean
    rows: list[Row] = []
    for other, names, bound in (
        ("before", BOUNDED_BEFORE, OVER_BEFORE),
        ("Dem Bones", SEQUENCES, OVER_DEM_BONES),
        (_texture_name(2), BOUNDED_TEXTURE, OVER_TEXTURE),
    ):
        if other in subject.scores and name in names:
            rows.append(at_most(case, f"mean FLIP / {other}", ours / subject.scores[other].mean, bound))
    for other, score in subject.scores.items():
        rows.append(figure(case, f"mean FLIP, {other}", score.mean))
        rows.append(figure(case, f"99th percentile of FLIP, {other}", score.p99))
    for other, texture in subject.textures.items():
        rows.append(figure(case, f"frames kept, {other}", len(texture.keys)))
        rows.append(figure(case, f"bits of a position, {other}", texture.bits))
        rows.append(figure(case, f"kB, {other}", texture.nbytes / 1000))
    return rows
