"""Rows about fewer triangles: distance of a level's moving surface from its source, compared with fast-simplification.

    mean = half of the mean distance of the level's points from the source, plus half of that of the source's points
    from the level, over all frames; worst = the largest distance. In percent of the diagonal.

Points are the vertices of each surface, or samples spread evenly over its area, which cover the space between vertices.
Frames with equal poses count once. The peer, fast-simplification, uses its best options per figure.

The horse has 30 fitted flexible bones and is simplified on one thread. Third-party characters are simplified to a
quarter of their triangles, for information.

Notes, horse, 2,099 triangles both. At vertices: mean .038, worst .49, fast-simplification .059 (agg 4, borders kept)
and .96; at its default, agg 7, .069. At even samples: .039 and .48, compared with .068 and 1.18. Levels that are not
fitted to the source: .053 and .042. Third-party characters, even samples, over the peer: CesiumMan .19, Soldier .65,
FpsArms .80; Fox, 576 triangles to 144, 1.35: its texture seams are kept, which the peer ignores.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.topology import weld_points
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.fit.poses import distinct_poses, pose_distances
from osteon.lod.mesh.level_shape import barycentric, mix_skin
from osteon.lod.mesh.poses import choose_frames
from osteon.lod.mesh.simplify import SimplifyOptions, simplify_model
from osteon.measure.closest_point import SurfaceBoxes, closest_points
from osteon_bench.lod import LevelCase
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, horse_or_fox

#: The horse: bones, distinct frames, and remaining triangles of 16,843.
BONES, FRAMES, TRIANGLES = 30, 24, 2100
#: Percent of the diagonal, largest fraction of the peer's mean, seconds.
MEAN, WORST, OF_PEER, SECONDS = 0.056, 0.8, 0.65, 30.0
#: Of subjects without bounds: the fraction of remaining triangles, and frames.
PART, FEWER_FRAMES = 0.25, 12
#: Number of samples on a surface.
SPREAD = 20_000


@dataclass(frozen=True, slots=True)
class Apart:
    """Distance between two surfaces, in percent of the diagonal."""

    mean: float
    worst: float


def mesh_rows(run: BenchRun, cases: list[LevelCase]) -> list[Row]:
    """The horse, and third-party characters."""
    if not has_peer():
        run.report_missing("fast-simplification: not installed; get it with the extra [bench]")
    sequence = horse_or_fox(run)
    run.report(f"{sequence.name}: fewer triangles")
    rows = _sequence_rows(sequence)
    for case in cases:
        if case.measured and len(case.model.faces) * PART >= 100:
            run.report(f"{case.name}: fewer triangles")
            rows += _character_rows(case)
    return rows


def _sequence_rows(sequence: MeshSequence) -> list[Row]:
    """The horse with its bounds; its substitute has none."""
    from osteon.pipeline.skin import skin_sequence

    distinct = distinct_poses(pose_distances(sequence))
    frames = distinct[np.linspace(0, len(distinct) - 1, min(FRAMES, len(distinct))).round().astype(np.int64)]
    options = SkinOptions(bones=BONES, bone_type="flexible")
    model = skin_sequence(sequence, options=options).model
    horse = sequence.name == "horse"
    count = TRIANGLES if horse else round(PART * len(model.faces))
    start = time.perf_counter()
    level = simplify_model(model, triangles=[count], options=SimplifyOptions(threads=1)).levels[0].model
    seconds = time.perf_counter() - start
    label = f"{sequence.name}, {len(model.faces):,} to {len(level.faces):,} triangles, {len(frames)} frames"
    rows = [
        Row(label, "seconds, one thread", seconds, SECONDS if horse else None, "max"),
        at_most(label, "triangles over what was asked for", max(0, len(level.faces) - count), 0),
    ]
    peers = list(peer_levels(model, count)) if has_peer() else []
    for evenly in (False, True):
        own = surface_apart(model, level, frames, evenly=evenly)
        how = "by places spread evenly" if evenly else "by vertices"
        rows.append(Row(label, f"mean % of the diagonal, {how}", own.mean, MEAN if horse else None, "max"))
        rows.append(Row(label, f"worst % of the diagonal, {how}", own.worst, WORST if horse else None, "max"))
        rows += _beside(label, how, own, _best(model, peers, frames, evenly), OF_PEER if horse else None)
    if peers:
        rows.append(figure(label, "seconds / fast-simplification with weights", seconds / peers[-1].seconds))
    return rows


def _character_rows(case: LevelCase) -> list[Row]:
    """A third-party character with a quarter of its triangles, compared with the peer, without bounds."""
    model, frames = case.model, np.sort(choose_frames(case.model, FEWER_FRAMES))
    count = round(PART * len(model.faces))
    level = simplify_model(model, triangles=[count]).levels[0].model
    own = surface_apart(model, level, frames, evenly=True)
    label = f"{case.name}, {len(model.faces):,} to {len(level.faces):,} triangles, {len(frames)} frames"
    rows = [
        figure(label, "mean % of the diagonal, by places spread evenly", own.mean),
        figure(label, "worst % of the diagonal, by places spread evenly", own.worst),
    ]
    peers = list(peer_levels(model, count)) if has_peer() else []
    return rows + _beside(label, "by places spread evenly", own, _best(model, peers, frames, True), None)


def _best(source: SkinnedModel, peers: list[PeerLevel], frames: Int32, evenly: bool) -> tuple[Apart, ...]:
    """The least mean of all options of the peer and the least worst, each with its other figure."""
    found = [surface_apart(source, peer.model, frames, evenly=evenly) for peer in peers]
    return (min(found, key=lambda a: a.mean), min(found, key=lambda a: a.worst)) if found else ()


def _beside(label: str, how: str, own: Apart, best: tuple[Apart, ...], bound: float | None) -> list[Row]:
    if not best:
        return []
    return [
        Row(label, f"mean / fast-simplification's best, {how}", own.mean / max(best[0].mean, 1e-300), bound, "max"),
        figure(label, f"worst / fast-simplification's best, {how}", own.worst / max(best[1].worst, 1e-300)),
        figure(label, f"mean % of the diagonal, fast-simplification, {how}", best[0].mean),
    ]


def surface_apart(one: SkinnedModel, other: SkinnedModel, frames: Int32, *, evenly: bool) -> Apart:
    """Symmetric distance of two models of the same motion in some frames."""
    posed = [pose_frames(model.take_frames(frames)).astype(np.float64) for model in (one, other)]
    percent, means, worst = 100 / (one.diagonal or 1.0), [], 0.0
    for here, there in ((0, 1), (1, 0)):
        model, faces = (one, other)[here], (one, other)[there].faces
        corners, shares = _spread(model) if evenly else _vertices(model)
        boxes = SurfaceBoxes.of(posed[there][0], faces)
        distances = np.stack(
            [
                closest_points(boxes.moved(surface), np.einsum("nc,nci->ni", shares, points[corners])).distances
                for points, surface in zip(posed[here], posed[there], strict=True)
            ]
        )
        means.append(float(distances.mean()))
        worst = max(worst, float(distances.max()))
    return Apart(percent * sum(means) / 2, percent * worst)


def _vertices(model: SkinnedModel) -> tuple[Int32, Float64]:
    """(n,1) the vertices of triangles, and shares of one."""
    used = np.unique(model.faces)[:, None]
    return used, np.ones(used.shape)


def _spread(model: SkinnedModel) -> tuple[Int32, Float64]:
    """(n,3) corners and barycentric coordinates of even samples on the surface at rest."""
    a, b, c = (model.rest[model.faces[:, e]].astype(np.float64) for e in range(3))
    areas = np.cumsum(np.linalg.norm(np.cross(b - a, c - a), axis=1))
    rng = np.random.default_rng(0)
    at = (np.arange(SPREAD) + rng.random(SPREAD)) / SPREAD * areas[-1]
    triangles = np.minimum(np.searchsorted(areas, at), len(areas) - 1)
    root, part = np.sqrt(rng.random(SPREAD)), rng.random(SPREAD)
    return model.faces[triangles], np.stack([1 - root, root * (1 - part), root * part], axis=1)


# fast-simplification (MIT, PyPI, extra `[bench]`) as a simplifier of skins, and a search for its best options.
#
# It simplifies the rest pose by quadrics without weights. Weights are transferred from the closest point of the rest
# surface: those of its three corners, interpolated, and reduced to the number of influences that a vertex had.
#
# Its options, all of which are tried:
#
# | fast-simplification | here |
# | --- | --- |
# | agg, 0 … 10: growth of its threshold | `AGGRESSIVE`; below 3 the horse keeps too many triangles |
# | preserve_border | both |
# | lossless | no: it keeps nearly all triangles |
#
# Duplicate vertices at seams are welded first, else every seam would be a border and tear.

#: Values of its `agg`.
AGGRESSIVE = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0)


@dataclass(frozen=True, slots=True)
class PeerLevel:
    """The result of fast-simplification for one choice of options."""

    words: str
    model: SkinnedModel
    seconds: float  # of simplifying and of its weights


def has_peer() -> bool:
    """Whether it is installed."""
    return find_spec("fast_simplification") is not None


def peer_levels(source: SkinnedModel, triangles: int) -> Iterator[PeerLevel]:
    """Every choice of options that reaches the number of triangles."""
    import fast_simplification

    first, same = weld_points(source.rest + np.float32(0))
    rest, faces, skin = source.rest[first].astype(np.float64), same[source.faces], source.skin.take(first)
    solid = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = np.ascontiguousarray(faces[solid])
    boxes = SurfaceBoxes.of(rest, faces)
    for aggressive in AGGRESSIVE:
        for border in (False, True):
            start = time.perf_counter()
            points, left = fast_simplification.simplify(
                rest, faces, target_count=triangles, agg=aggressive, preserve_border=border
            )
            on = closest_points(boxes, points)
            around = faces[on.triangles]
            mixed = mix_skin(skin, around, barycentric(on.points, rest[around]))
            seconds = time.perf_counter() - start
            if 0 < len(left) <= triangles:
                words = f"agg {aggressive:g}{', borders kept' if border else ''}"
                shape = (points.astype(np.float32), left.astype(np.int32))
                yield PeerLevel(words, linear_blend_model(*shape, mixed, source.track, source.clips), seconds)
