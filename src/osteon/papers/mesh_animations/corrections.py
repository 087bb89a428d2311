"""Figures about progressive corrections: rest pose (9), one column (10), over-fitting (11), errors (12, 13)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_vertices
from osteon.fit.clustering.cluster import Clustering
from osteon.papers.drawings import curves
from osteon.papers.entries import Compared, Shown
from osteon.papers.mesh_animations.clusters import horse_clusters
from osteon.papers.mesh_animations.printed import COMBINATIONS, Combination, printed_row
from osteon.papers.mesh_animations.variants import (
    VariantOptions,
    Variants,
    fit_variants,
    rms_normal_error,
    variants_of,
)
from osteon.papers.panels import CLAY, PANEL, common_camera, core_colors, panels, shot
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.report.charts import Axis, Series
from osteon.report.gallery import Shot
from osteon.report.page_parts import number
from osteon.report.picture import HeatScale, heat_colors
from osteon.report.raster import frame_camera

#: Flexible bones with NNLS weights, which the paper recommends.
BEST: Combination = ("flexible", "nnls")
#: Ranks of the curves of figure 12.
RANKS = (0, 5)
#: Largest rank of figure 13, and the ranks of its pictures.
LAST_RANK, PICTURES = 40, (0, 1, 3, 7)


def corrections_at_rest(run: PaperRun) -> Shown:
    """Figure 9: displacements are added to the rest pose, before the bones move it."""
    found, variants = find_subject(run, "camel"), variants_of(run, "camel")
    model, sequence = variants.fits[BEST].model, found.sequence
    corrections = model.corrections
    assert corrections is not None
    frame = int(np.linalg.norm(corrections.coefficients, axis=1).argmax())
    moved = np.einsum("r,rvi->vi", corrections.coefficients[frame], corrections.basis).astype(np.float64)
    size = np.linalg.norm(moved, axis=1) / sequence.diagonal
    # Blends that are nearly singular have huge displacements at rest, which would hide all others.
    top = max(float(np.percentile(size, 99)), 1e-9)
    paint = heat_colors(size, top)
    shown = np.where(size > top, top / np.maximum(size, 1e-30), 1.0)[:, None] * moved
    rest = sequence.rest.astype(np.float64)
    standing = frame_camera(np.concatenate([rest, rest + shown]), PANEL)
    posed = common_camera(sequence, [frame])
    shots = [
        shot(rest, model.faces, CLAY, "rest pose", camera=standing),
        shot(rest + shown, model.faces, paint, "rest pose with displacements", camera=standing),
        shot(pose_vertices(model.truncate(0), frame), model.faces, CLAY, f"bones alone, frame {frame}", camera=posed),
        shot(pose_vertices(model, frame), model.faces, paint, "bones move the displaced rest pose", camera=posed),
        shot(sequence.frame(frame), sequence.faces, CLAY, "source", camera=posed),
    ]
    scale = HeatScale(float(f"{100 * top:.2g}"), "% of the diagonal", "displacement in the rest pose")
    text = (
        f"The {found.name}, {model.rank} columns. Displacements longer than those of 99 % of the vertices are drawn at "
        "that length."
    )
    return Shown(text, (panels(shots, 5, scale=scale),), numbers={"frame": frame, "rank": model.rank})


def one_correction(run: PaperRun) -> Shown:
    """Figure 10: a frame of the source, of the skin, and with one column."""
    found, variants = find_subject(run, "camel"), variants_of(run, "camel")
    fit, errors = variants.fits[BEST], variants.errors(BEST)
    frame = _worst_frame(fit.model.truncate(0), variants)
    shots = _ranked_shots(variants, frame, (0, 1))
    why = f"The {found.name} takes the place of the paper's camel."
    row = printed_row("camel")
    compared = (
        Compared("bones", 29, variants.clustering.n_bones, "Figure 10", why=f"{why} Table 1 prints {row.bones}."),
        Compared("E without corrections", row.errors[BEST][0], errors[0], "Table 1", "%", why=why),
    )
    text = (
        f"The {found.name} in frame {frame}, where the skin is worst. The first column removes "
        f"{100 * (1 - errors[1] / errors[0]):.0f} % of E: from {number(errors[0])} to {number(errors[1])} %."
    )
    return Shown(text, (panels(shots),), compared, {"error_percent_by_rank": errors})


def _worst_frame(model: SkinnedModel, variants: Variants) -> int:
    """The frame with the largest RMS distance from the source."""
    sequence = variants.sequence
    off = [float(((pose_vertices(model, f) - sequence.frame(f)) ** 2).sum()) for f in range(sequence.n_frames)]
    return int(np.argmax(off))


def _ranked_shots(variants: Variants, frame: int, ranks: tuple[int, ...]) -> list[Shot]:
    """The source, and the recommended skin with several numbers of columns."""
    sequence, model = variants.sequence, variants.fits[BEST].model
    errors = variants.errors(BEST)
    camera = common_camera(sequence, [frame])
    shots = [shot(sequence.frame(frame), sequence.faces, CLAY, f"source, frame {frame}", camera=camera)]
    for rank in ranks:
        posed = pose_vertices(model.truncate(rank), frame)
        shots.append(shot(posed, model.faces, CLAY, f"rank {rank}: E {number(errors[rank])} %", camera=camera))
    return shots


def overfitting(run: PaperRun) -> Shown:
    """Figure 11: both kinds of weights with seven columns, in an extreme frame."""
    found, variants = find_subject(run, "chicken"), variants_of(run, "chicken")
    sequence = found.sequence
    rank = min(7, variants.fits[BEST].model.rank)
    models = {name: variants.fits["flexible", name].model.truncate(rank) for name in ("nnls", "tsvd")}
    frame = _worst_frame(models["tsvd"], variants)
    camera = common_camera(sequence, [frame])
    source = sequence.frame(frame).astype(np.float64)
    shots = [shot(source, sequence.faces, CLAY, f"source, frame {frame}", camera=camera)]
    posed = {name: pose_vertices(model, frame).astype(np.float64) for name, model in models.items()}
    off = {name: 100 * np.linalg.norm(one - source, axis=1) / sequence.diagonal for name, one in posed.items()}
    worst = {name: float(one.max()) for name, one in off.items()}
    top = float(f"{max(max(worst.values()), 1e-9):.2g}")
    for name, one in posed.items():
        words = f"{name.upper()} weights, rank {rank}: off by up to {number(worst[name])} %"
        shots.append(shot(one, sequence.faces, heat_colors(off[name], top), words, camera=camera))
    shots.append(shot(source, sequence.faces, core_colors(variants.clustering.labels), "core triangles", camera=camera))
    why = f"The {found.name} has its own frames." if not found.measured else "The worst frame for our clusters."
    compared = (
        Compared("extreme frame", 273, frame, "Figure 11", why=why),
        Compared("bones", 22, variants.clustering.n_bones, "Figure 11", why=why),
    )
    text = f"The {found.name} in the frame where TSVD weights with {rank} columns are worst."
    scale = HeatScale(top, "% of the diagonal", "distance from the source")
    return Shown(text, (panels(shots, 4, scale=scale),), compared, {"worst_percent_of_diagonal": worst})


def errors_against_bones(run: PaperRun) -> Shown:
    """Figure 12: E and the RMS error of unit normals against the number of bones."""
    found = find_subject(run, "horse")
    by_bones = {c.n_bones: c for c in horse_clusters(run) if c.n_bones > 1}
    by_bones[1] = _one_bone(found.sequence.n_triangles, next(iter(by_bones.values())))
    counts = sorted(by_bones)
    options = VariantOptions(rank=max(RANKS), threads=run.options.threads, combinations=(BEST,))
    errors: dict[int, list[float]] = {rank: [] for rank in RANKS}
    normals: dict[int, list[float]] = {rank: [] for rank in RANKS}
    for count in counts:
        made = fit_variants(found.sequence, options, by_bones[count], run.progress)
        by_rank = made.errors(BEST)
        for rank in RANKS:
            errors[rank].append(by_rank[min(rank, len(by_rank) - 1)])
            normals[rank].append(rms_normal_error(made.fits[BEST].model.truncate(rank), found.sequence))
    across = Axis("bones", whole=True)
    charts = tuple(
        curves(
            title,
            [Series(f"rank {rank}", counts, values[rank], dots=True, kind=i) for i, rank in enumerate(RANKS)],
            across,
            Axis(label, log="auto"),
        )
        for title, values, label in (
            ("Error of positions", errors, "E, %"),
            ("Error of normals", normals, "RMS of unit normals"),
        )
    )
    text = (
        f"The {found.name}, flexible bones, NNLS weights, four influences: bones for the values of eps of figure 5, "
        "and one bone for all triangles."
    )
    return Shown(text, charts, numbers={"bones": counts, "error_percent": errors, "rms_normals": normals})


def _one_bone(n_triangles: int, like: Clustering) -> Clustering:
    """All triangles in one cluster."""
    labels: Int32 = np.zeros(n_triangles, np.int32)
    return replace(like, labels=labels, n_bones=1, near_rigid_fraction=1.0)


def errors_against_rank(run: PaperRun) -> Shown:
    """Figure 13: E against rank for the four skins, and for one bone, which is a principal component analysis."""
    found, shared = find_subject(run, "chicken"), variants_of(run, "chicken")
    options = VariantOptions(rank=LAST_RANK, threads=run.options.threads)
    variants = fit_variants(found.sequence, options, shared.clustering, run.progress)
    one = _one_bone(found.sequence.n_triangles, shared.clustering)
    single = fit_variants(found.sequence, replace(options, combinations=(BEST,)), one, run.progress)
    names = {which: f"{which[0]}, {which[1].upper()}" for which in COMBINATIONS}
    lines = [_by_rank(variants, which, name, i) for i, (which, name) in enumerate(names.items())]
    lines.append(_by_rank(single, BEST, "one bone (principal components)", 4))
    chart = curves("E against rank", lines, Axis("rank", whole=True), Axis("E, %", log=True))
    aim = dict(zip(lines[3].x, lines[3].y, strict=True))[min(7, max(lines[3].x))]
    reached = [r for r, error in zip(lines[4].x, lines[4].y, strict=True) if error <= aim]
    frame = _worst_frame(variants.fits[BEST].model.truncate(0), variants)
    shown = panels(_ranked_shots(variants, frame, PICTURES), 5)
    why = f"The {found.name} has {shared.clustering.n_bones} bones and its own motion."
    if found.measured:
        why = "Columns are counted from the curve of this run; the paper reads its own off a figure."
    rank = float(reached[0]) if reached else float(max(lines[4].x))
    compared = (Compared("rank with one bone that equals rank 7 with all bones", 37, rank, "Figure 13", why=why),)
    text = (
        f"The {found.name}: flexible bones with NNLS weights by rank, and E of all four skins. One flexible bone with "
        "corrections is the principal component analysis of Alexa and Müller."
    )
    facts = {line.name: {"rank": line.x, "error_percent": line.y} for line in lines}
    return Shown(text, (shown, chart), compared, facts)


def _by_rank(variants: Variants, which: Combination, name: str, kind: int) -> Series:
    by_rank = variants.fits[which].report.error_percent_by_rank
    ranks = sorted(int(key) for key in by_rank)
    return Series(name, ranks, [max(by_rank[str(r)], 1e-6) for r in ranks], kind=kind)
