"""Figures 1 to 7 of EigenSkin (Kry, James and Pai, 2002)."""

from __future__ import annotations

from osteon.papers.entries import Entry


def _figure(number: int, title: str, maker: str, shows: str) -> Entry:
    return Entry("figure", number, title, shows, f"eigenskin.{maker}")


ENTRIES: tuple[Entry, ...] = (
    _figure(
        1, "EigenSkin against blended bones", "comparison:unseen_pose",
        "a simulated hand in a pose outside of the training data, blended bones, EigenSkin with one column per "
        "support, and a hand that a glove drives.",
    ),
    _figure(
        2, "A displacement of the rest pose", "comparison:mapped_back",
        "a sketch of the error of a vertex, which is mapped back to the rest pose.",
    ),
    _figure(
        3, "Joint supports", "columns:joint_supports",
        "the vertices that three joints of the thumb and one of the index finger displace.",
    ),
    _figure(
        4, "Training poses", "training:training_poses",
        "some of the simulated poses of thumb and index finger.",
    ),
    _figure(
        5, "Eigendisplacements", "columns:eigendisplacements_of_thumb",
        "the first four eigendisplacements of the joint at the root of the thumb, as colours, and their singular "
        "values.",
    ),
    _figure(
        6, "Skeleton", "training:skeleton", "the bones inside the hand that drive the simulation.",
    ),
    _figure(
        7, "Zero to five eigendisplacements", "comparison:more_columns",
        "the approximation (green) over the simulated pose (skin) with 0 to 5 columns of the root of the thumb.",
    ),
)  # fmt: skip
