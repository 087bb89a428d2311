"""Figures 1 to 18 and table 1 of Skinning Mesh Animations (James and Twigg, 2005)."""

from __future__ import annotations

from osteon.papers.entries import Entry

_CLUSTERS, _WEIGHTS = "mesh_animations.clusters", "mesh_animations.weights"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "figure", 2, "Core triangles of a hand", "one of 27 poses of a hand, its 17 bones in colours.",
        f"{_CLUSTERS}:hand_cores",
    ),
    Entry(
        "figure", 5, "Number of bones against eps",
        "the number of bones of the horse falls as the tolerance grows.", f"{_CLUSTERS}:bones_against_tolerance",
    ),
    Entry(
        "figure", 7, "Sorted vertex weights", "weights of the chicken by TSVD, which may be negative, and by NNLS.",
        f"{_WEIGHTS}:sorted_weights",
    ),
    Entry(
        "figure", 8, "Over-fitted weights", "core triangles, and bone colours mixed by NNLS and by TSVD weights.",
        f"{_WEIGHTS}:overfitted_colors",
    ),
    Entry(
        "table", 1, "Statistics of all models", "size, time, bones, errors and compression of 13 skinned animations.",
        "mesh_animations.table:table_1",
    ),
)  # fmt: skip
