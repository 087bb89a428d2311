"""Figures 1 to 7 and both tables of Progressive Skinning for Character Animation."""

from __future__ import annotations

from osteon.papers.entries import Entry


def _figure(number: int, title: str, maker: str, shows: str) -> Entry:
    return Entry("figure", number, title, shows, f"progressive_skinning.{maker}")


ENTRIES: tuple[Entry, ...] = (
    _figure(
        1, "Reduced skeletons", "levels:reduced_skeletons",
        "a character with its rig, and the same skin moved by fewer and fewer bones.",
    ),
    _figure(2, "Character and rig", "levels:character", "the textured soldier and its rig in the bind pose."),
    Entry(
        "table", 1, "Operations of interpolation",
        "operations that interpolate scale, translation and rotation of a bone.",
        "progressive_skinning.costs:table_1",
    ),
    _figure(
        3, "A progressive hierarchy", "levels:hierarchy",
        "a walk with four key bones of the legs, and the matrices that all other bones inherit.",
    ),
    Entry(
        "table", 2, "Operations of blending",
        "operations of the graphics card for one to four bones per vertex.",
        "progressive_skinning.costs:table_2",
    ),
    _figure(
        4, "Blend hierarchy", "levels:blend_hierarchy",
        "a diagram of how weights are redistributed as the number of blends falls from four to one.",
    ),
    _figure(5, "A crowd", "levels:crowd", "sixteen instances of the soldier."),
    _figure(
        6, "Frame rate", "costs:frame_rate",
        "the frame rate of the crowd over active bones and blends, as a surface.",
    ),
    _figure(
        7, "Error by active bones", "costs:error_by_bones",
        "the squared error of the crowd's animations, in percent of the largest, over active bones.",
    ),
)  # fmt: skip
