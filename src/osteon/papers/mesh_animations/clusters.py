"""Figures about bones: core triangles (2, 6), rotations of triangles (3), mean shift (4), bones against eps (5), and
animations without bones (16, 17)."""

from __future__ import annotations

from osteon.core.sequence import MeshSequence
from osteon.fit.clustering.cluster import Clustering, ClusterOptions, cluster_triangles
from osteon.papers.drawings import curves
from osteon.papers.entries import Compared, Shown
from osteon.papers.mesh_animations.printed import printed_row
from osteon.papers.panels import PANEL, core_colors, hand_view, panels, shot
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.report.charts import Axis, Mark, Series
from osteon.report.views import distinct_frames

#: The paper's choice of eps.
CHOSEN = 0.05
#: Of figure 5.
TOLERANCES, QUICK_TOLERANCES = (0.02, 0.035, 0.05, 0.07, 0.1, 0.15, 0.25, 0.5), (0.05, 0.1, 0.2)


def clusters_of(run: PaperRun, name: str, tolerance: float = CHOSEN) -> Clustering:
    """Core triangles of a subject; several figures share them."""
    from osteon.papers.mesh_animations.variants import variants_of

    return variants_of(run, name, tolerance).clustering


def hand_cores(run: PaperRun) -> Shown:
    """Figure 2: core triangles of the hand in one of its poses."""
    found, clustering = find_subject(run, "hands"), clusters_of(run, "hands")
    row = printed_row("hands")
    sequence = found.sequence
    frames = [int(f) for f in distinct_frames(sequence, 3)]
    view = PANEL if found.measured else hand_view()
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
    tolerances = QUICK_TOLERANCES if run.options.quick else TOLERANCES
    clusterings = [_at(run, found.sequence, tolerance) for tolerance in tolerances]
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


def _at(run: PaperRun, sequence: MeshSequence, tolerance: float) -> Clustering:
    if tolerance == CHOSEN:
        return clusters_of(run, "horse")
    options = ClusterOptions(tolerance=tolerance, threads=run.options.threads)
    return cluster_triangles(sequence, options=options, progress=run.progress)


def _why(measured: bool, name: str) -> str:
    from osteon.papers.mesh_animations.table import CONSTANTS

    return CONSTANTS if measured else f"The {name} takes the place of the paper's model."
