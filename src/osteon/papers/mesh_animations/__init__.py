"""Figures 1 to 18 and table 1 of Skinning Mesh Animations (James and Twigg, 2005)."""

from __future__ import annotations

from osteon.papers.entries import Entry


def _figure(number: int, title: str, maker: str, shows: str) -> Entry:
    return Entry("figure", number, title, shows, f"mesh_animations.{maker}")


ENTRIES: tuple[Entry, ...] = (
    _figure(
        1, "Stampede", "stampede:stampede",
        "ten thousand lit instances of skinned animations, distant ones simplified.",
    ),
    _figure(
        2, "Core triangles of a hand", "clusters:hand_cores",
        "one of 27 poses of a hand, its 17 bones in colours.",
    ),
    _figure(
        3, "Rotations of triangles", "rotations:triangle_motions",
        "a sketch of the deformation of a triangle as a stretch and then a rotation.",
    ),
    _figure(
        4, "Mean shift", "rotations:mean_shift_of_points",
        "points of the plane in clusters, and the climbs of the points to the modes of their density.",
    ),
    _figure(
        5, "Number of bones against eps", "clusters:bones_against_tolerance",
        "the number of bones of the horse falls as the tolerance grows.",
    ),
    _figure(
        6, "Bones and weights of several subjects", "clusters:bones_and_weights",
        "rest poses, core triangles and TSVD weights of eight models.",
    ),
    _figure(
        7, "Sorted vertex weights", "weights:sorted_weights",
        "weights of the chicken by TSVD, which may be negative, and by NNLS.",
    ),
    _figure(
        8, "Over-fitted weights", "weights:overfitted_colors",
        "core triangles, and bone colours mixed by NNLS and by TSVD weights.",
    ),
    _figure(
        9, "Corrections in the rest pose", "corrections:corrections_at_rest",
        "a sketch of a displacement that is added to the rest pose before the skin moves it.",
    ),
    _figure(
        10, "One displacement correction", "corrections:one_correction",
        "the camel in a frame, its skin, and its skin with one column, which removes most of the error.",
    ),
    _figure(
        11, "Over-fitting impedes corrections", "corrections:overfitting",
        "the chicken with seven columns: NNLS weights look right, TSVD weights have a spike.",
    ),
    _figure(
        12, "Errors against the number of bones", "corrections:errors_against_bones",
        "E and the error of normals of the horse, at rank 0 and 5.",
    ),
    _figure(
        13, "Progressive approximation", "corrections:errors_against_rank",
        "the chicken by rank: four skins, and principal components, which need rank 37 for what rank 7 reaches.",
    ),
    _figure(
        14, "Simplification", "uses:simplified",
        "the horse with 16,843 and with 2,100 triangles, at rest and posed.",
    ),
    _figure(
        15, "Rest-pose editing", "uses:edited",
        "a mesh at rest, the same with an edit, and the edit in a frame of the animation.",
    ),
    _figure(
        16, "An animation with few bones", "clusters:animation_without_bones",
        "a horse of cloth that collapses; its core triangles are sparse.",
    ),
    _figure(
        17, "A flag with more bones", "clusters:flag_with_more_bones",
        "a flag that 32 bones follow badly and 100 bones well.",
    ),
    _figure(
        18, "Collision", "uses:collisions",
        "bounding volumes of near-rigid parts, and collisions that drive a simulation.",
    ),
    Entry(
        "table", 1, "Statistics of all models", "size, time, bones, errors and compression of 13 skinned animations.",
        "mesh_animations.table:table_1",
    ),
)  # fmt: skip
