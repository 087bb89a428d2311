"""Figures 3 to 9 and Table 1 of Mesh Approximation for Animated Characters.

Figure 1 sketches defects of SSD, and figure 2 the steps of the system.
"""

from __future__ import annotations

from osteon.papers.entries import Entry


def _figure(number: int, title: str, maker: str, shows: str) -> Entry:
    return Entry("figure", number, title, shows, f"mesh_approximation.{maker}")


ENTRIES: tuple[Entry, ...] = (
    _figure(
        3, "Regularisation parameter", "meshes:regularisation",
        "mean deviation of Animation Space over the regularisation parameter: first it falls, then it rises.",
    ),
    _figure(
        4, "Recovered skeletons", "meshes:recovered",
        "poses of a horse, rigid sections with the recovered skeleton, the skeleton, and poses by Animation Space.",
    ),
    _figure(
        5, "Geometric deviation of training poses", "meshes:training_deviation",
        "the deviation of three models in poses that they were fitted to; one scale per row.",
    ),
    _figure(
        6, "Geometric deviation of unseen poses", "meshes:unseen_deviation",
        "the same in poses that are not among the training poses.",
    ),
    _figure(
        7, "Normal deviation of training poses", "meshes:training_normals",
        "the angle between normals of the models and of the horse in training poses.",
    ),
    _figure(8, "Normal deviation of unseen poses", "meshes:unseen_normals", "the same in unseen poses."),
    Entry(
        "table", 1, "Tests of the user experiment",
        "tests between the mean ratings of each two models, by 19 users.",
        "mesh_approximation.raters:table_1",
    ),
    _figure(9, "Ratings", "raters:box_plot", "a box and whisker plot of the ratings by 19 users."),
)  # fmt: skip
