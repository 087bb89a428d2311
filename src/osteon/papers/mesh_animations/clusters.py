"""Figures about bones: core triangles (2, 6), bones against eps (5), and animations that hardly have any (16, 17)."""

from __future__ import annotations

from dataclasses import replace

from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_vertices
from osteon.fit.clustering.cluster import Clustering, ClusterOptions, cluster_triangles
from osteon.papers.drawings import curves
from osteon.papers.entries import Compared, Shown
from osteon.papers.mesh_animations.printed import printed_row
from osteon.papers.mesh_animations.variants import variants_of
from osteon.papers.panels import (
    CLAY,
    PANEL,
    common_camera,
    core_colors,
    hand_view,
    panels,
    shot,
    weight_colors,
)
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.report.charts import Axis, Mark, Series
from osteon.report.gallery import Shot
from osteon.report.views import distinct_frames

#: The paper's choice of eps.
CHOSEN = 0.05
#: Of figure 5; away from the chosen eps, rotations are compared in so many frames.
FRAMES = 24
TOLERANCES, QUICK_TOLERANCES = (0.02, 0.035, 0.05, 0.07, 0.1, 0.15, 0.25, 0.5), (0.03, 0.05, 0.1)


def clusters_of(run: PaperRun, name: str, tolerance: float = CHOSEN) -> Clustering:
    """Core triangles of a subject; several figures share them."""
    return variants_of(run, name, tolerance).clustering


def hand_cores(run: PaperRun) -> Shown:
    """Figure 2: core triangles of the hand in one of its poses."""
    found, clustering = find_subject(run, "hands"), clusters_of(run, "hands")
    row = printed_row("hands")
    sequence = found.sequence
    frames = [int(f) for f in distinct_frames(sequence, 3)]
    view = PANEL if found.measured else hand_view(replace(PANEL, height=PANEL.width))
    paint = core_colors(clustering.labels)
    shots = [shot(sequence.frame(f), sequence.faces, paint, f"pose {f + 1}", options=view) for f in frames]
    other = f"The {found.name} has its own poses and triangles."
    compared = (
        Compared("bones", 17, clustering.n_bones, "Figure 2", why=other),
        Compared("poses", 27, sequence.n_frames, "Figure 2", why=other),
        Compared("near-rigid fraction", row.near_rigid, clustering.near_rigid_fraction, "Table 1", why=other),
    )
    text = (
        f"{len(frames)} of {sequence.n_frames} poses of the {found.name}: triangles in the colour of their bone, "
        f"outliers in black. Mean shift finds {clustering.n_bones} bones at eps {CHOSEN:g}."
    )
    return Shown(text, (panels(shots),), compared)


def bones_against_tolerance(run: PaperRun) -> Shown:
    """Figure 5: the number of bones for several eps."""
    found = find_subject(run, "horse")
    clusterings = horse_clusters(run)
    tolerances = [c.tolerance for c in clusterings]
    bones = [float(c.n_bones) for c in clusterings]
    eta = [c.near_rigid_fraction for c in clusterings]
    line = Series("", tolerances, bones, dots=True)
    at_chosen = clusterings[tolerances.index(CHOSEN)].n_bones
    chart = curves(
        "Number of bones against eps",
        [line],
        Axis("eps", log=True),
        Axis("bones", whole=True),
        marks=[Mark(CHOSEN, f"eps 0.05: {at_chosen} bones", float(at_chosen))],
        note="A larger tolerance joins motions; below 0.05 little is gained.",
    )
    why = _why(found.measured, found.name)
    compared = (Compared("bones at eps 0.05", printed_row("horse").bones, at_chosen, "Table 1", why=why),)
    text = f"Mean shift on all triangles of the {found.name} for {len(tolerances)} values of eps."
    return Shown(text, (chart,), compared, {"eps": tolerances, "bones": bones, "near_rigid_fraction": eta})


def horse_clusters(run: PaperRun) -> list[Clustering]:
    """Clusterings of the horse for all values of eps, which figures 5 and 12 share."""
    sequence = find_subject(run, "horse").sequence
    tolerances = QUICK_TOLERANCES if run.options.quick else TOLERANCES
    return run.once("horse by eps", lambda: [_at(run, sequence, tolerance) for tolerance in tolerances])


def _at(run: PaperRun, sequence: MeshSequence, tolerance: float) -> Clustering:
    if tolerance == CHOSEN:
        return clusters_of(run, "horse")
    options = ClusterOptions(tolerance=tolerance, max_frames=FRAMES, threads=run.options.threads)
    return cluster_triangles(sequence, options=options, progress=run.progress)


def _why(measured: bool, name: str) -> str:
    from osteon.papers.mesh_animations.table import CONSTANTS

    return CONSTANTS if measured else f"The {name} takes the place of the paper's model."


#: Subjects of figure 6.
SHOWN = ("dance", "snake", "horse", "hands", "flag")


def bones_and_weights(run: PaperRun) -> Shown:
    """Figure 6: several subjects at rest, their core triangles, and the weights of their vertices."""
    shots: list[list[Shot]] = [[], [], []]
    facts = {}
    view = replace(PANEL, width=300, height=240)
    for name in SHOWN:
        found, variants = find_subject(run, name), variants_of(run, name)
        faces, rest = found.sequence.faces, found.sequence.rest
        options = hand_view(view) if name == "hands" and not found.measured else view
        bones = variants.clustering.n_bones
        eta = variants.clustering.near_rigid_fraction
        paints: tuple[tuple[object, str], ...] = (
            (CLAY, found.name),
            (core_colors(variants.clustering.labels), f"{found.name}: {bones} bones, eta {eta:.2f}"),
            (weight_colors(variants.fits["flexible", "tsvd"].model), f"{found.name}: TSVD weights"),
        )
        for row, (paint, caption) in zip(shots, paints, strict=True):
            row.append(shot(rest, faces, paint, caption, options=options))
        facts[found.name] = {"bones": bones, "near_rigid_fraction": eta}
    text = (
        "Top: rest poses. Middle: core triangles in the colour of their bone, outliers in black. Bottom: colours of "
        "the bones mixed by TSVD weights."
    )
    return Shown(text, (panels([one for row in shots for one in row], len(SHOWN)),), numbers=facts)


def animation_without_bones(run: PaperRun) -> Shown:
    """Figure 16: cloth that collapses, with few core triangles."""
    found, variants = find_subject(run, "clothhorse"), variants_of(run, "clothhorse")
    sequence, fit = found.sequence, variants.fits["flexible", "nnls"]
    frame = int(distinct_frames(sequence, 1)[0])
    plain = pose_vertices(fit.model.truncate(0), frame)
    camera = common_camera(sequence, [frame])
    rows = [
        (sequence.rest, core_colors(variants.clustering.labels), "core triangles", None),
        (sequence.frame(frame), CLAY, f"source, frame {frame}", camera),
        (plain, CLAY, "skinned, without corrections", camera),
        (pose_vertices(fit.model, frame), CLAY, f"skinned, rank {fit.report.rank}", camera),
    ]
    shots = [shot(points, sequence.faces, paint, words, camera=seen) for points, paint, words, seen in rows]
    row, errors = printed_row("clothhorse"), variants.errors(("flexible", "nnls"))
    why = _why(found.measured, found.name)
    compared = (
        Compared("near-rigid fraction", 0.12, variants.clustering.near_rigid_fraction, "Figure 16", why=why),
        Compared("bones", row.bones, variants.clustering.n_bones, "Table 1", why=why),
        Compared("E, flexible bones, NNLS", row.errors["flexible", "nnls"][0], errors[0], "Table 1", "%", why=why),
    )
    text = (
        f"The {found.name}: {variants.clustering.n_bones} bones own "
        f"{100 * variants.clustering.near_rigid_fraction:.0f} % of the triangles, so the skin folds elsewhere than its "
        f"source; corrections of rank {fit.report.rank} repair most of it."
    )
    return Shown(text, (panels(shots, 4),), compared)


def flag_with_more_bones(run: PaperRun) -> Shown:
    """Figure 17: the flag for two values of eps."""
    found = find_subject(run, "flag")
    sequence = found.sequence
    both = [variants_of(run, "flag", tolerance) for tolerance in (CHOSEN, 0.1)]
    frame = both[0].fits["flexible", "nnls"].distortion.worst.frame
    view = replace(PANEL, azimuth=20.0)
    camera = common_camera(sequence, [frame], view)
    source = sequence.frame(frame)
    shots, compared = [shot(source, sequence.faces, CLAY, f"source, frame {frame}", options=view, camera=camera)], []
    why = _why(found.measured, found.name) + " Its waves are smooth, so a larger eps joins more than it finds."
    for variants in both:
        tolerance, bones = variants.clustering.tolerance, variants.clustering.n_bones
        row, error = printed_row("flag", tolerance), variants.errors(("flexible", "nnls"))[0]
        posed = pose_vertices(variants.fits["flexible", "nnls"].model.truncate(0), frame)
        paint = core_colors(variants.clustering.labels)
        words = f"eps {tolerance:g}: {bones} bones"
        shots.append(shot(source, sequence.faces, paint, f"{words}, core triangles", options=view, camera=camera))
        shots.append(shot(posed, sequence.faces, CLAY, f"{words}, E {error:.3g} %", options=view, camera=camera))
        compared += [
            Compared(f"eps {tolerance:g}: bones", row.bones, bones, "Table 1", why=why),
            Compared(
                f"eps {tolerance:g}: E, flexible bones, NNLS",
                row.errors["flexible", "nnls"][0],
                error,
                "Table 1",
                "%",
                why=why,
            ),
        ]
    text = f"The {found.name}: source, and for two values of eps its core triangles and its skin without corrections."
    return Shown(text, (panels(shots, 5),), tuple(compared))
