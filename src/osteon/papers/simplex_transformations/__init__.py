"""Figures 1 to 5 and 8 to 20, and Table 1, of Shape Deformation Using a Skeleton to Drive Simplex Transformations.

Figures 6 and 7 are sketches of a bone's transformation, without a result.
"""

from __future__ import annotations

from osteon.papers.entries import Entry


def _figure(number: int, title: str, maker: str, shows: str) -> Entry:
    return Entry("figure", number, title, shows, f"simplex_transformations.{maker}")


ENTRIES: tuple[Entry, ...] = (
    _figure(
        1, "Control domains in the plane", "segments:domain_of_cartoon",
        "a flat cartoon character, its skeleton, and the bone that controls each triangle.",
    ),
    _figure(
        2, "Control domains of a character", "segments:domain_of_dinopet",
        "the skeleton of the Dinopet, and the bone that controls each triangle.",
    ),
    _figure(
        3, "Control domains of a woman", "segments:domain_of_woman",
        "the skeleton of a woman, and the bone that controls each triangle.",
    ),
    Entry(
        "table", 1, "Times",
        "seconds of the BSP tree, segmentation, Cholesky factorisation and back substitution for five models.",
        "simplex_transformations.table:table_1",
    ),
    _figure(
        4, "A sharp feature", "segments:sharp_feature",
        "a joint that is not at a sharp feature, the segments that follow, and the boundary after a graph cut.",
    ),
    _figure(
        5, "One boundary cut again", "segments:one_leg",
        "a leg with misplaced joints: its segments, and the boundaries at knee and toes, cut one after the other.",
    ),
    _figure(
        8, "A deformed cartoon character", "poses:deformed_cartoon",
        "a moved 2D skeleton, and the character of figure 1 deformed by it.",
    ),
    _figure(
        9, "How distortion spreads", "poses:distortion",
        "change of area and of angles of the triangles of figure 8; lighter is less.",
    ),
    _figure(10, "Skeletons", "poses:skeletons", "the skeleton of the Dinopet at rest and in poses."),
    _figure(11, "Dinopet", "poses:dinopet", "the Dinopet and its deformed poses."),
    _figure(12, "Armadillo", "poses:armadillo", "the Armadillo and its deformed poses."),
    _figure(13, "Horse", "poses:horse", "a horse and its deformed poses."),
    _figure(14, "Female", "poses:female", "a woman and her deformed poses."),
    _figure(15, "Palm", "poses:palm", "a hand and its deformed poses."),
    _figure(
        16, "Deformation without translation", "poses:without_translation",
        "a deformed skeleton and the Dinopet, without and with the translation term of the energy.",
    ),
    _figure(
        17, "Simplex transformations and SSD", "poses:against_ssd",
        "one pose by both methods, and details where the leg meets the body.",
    ),
    _figure(
        18, "A control line", "control:one_line",
        "one line in the Armadillo, which rotates the upper part of the body and enlarges it 2.5 times.",
    ),
    _figure(
        19, "A twisted neck", "control:twist",
        "two control lines in the Dinopet's neck and head, and the neck twisted by 90 degrees.",
    ),
    _figure(
        20, "Pinned vertices", "control:moon",
        "a flat moon, and the moon after some of its vertices are moved.",
    ),
)  # fmt: skip
