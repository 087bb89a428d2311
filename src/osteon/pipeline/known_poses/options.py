"""Options of poses that are frames of a sequence."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.options import check_options, need, option

#: Of options that are for sequences.
FOR_SEQUENCES = need(clip_poses=True, reason="is for a sequence of meshes, and POSES is none")


@dataclass(frozen=True, slots=True)
class ClipPoseOptions:
    """Which frames of a sequence are poses.

    Conditions that `needs` may refer to: `clip_poses` (POSES is a sequence of a clip).
    """

    frames: int = option(
        40,
        help="Frames of a sequence to learn from at most: those that differ most.",
        flags=("--frames",),
        minimum=2,
        maximum=1000,
        needs=(FOR_SEQUENCES,),
    )
    validate: int = option(
        5,
        help="Other frames of a sequence that only measure the result.",
        flags=("--validate",),
        minimum=0,
        maximum=1000,
        needs=(FOR_SEQUENCES,),
    )
    offset: int = option(
        0,
        help="Frame of the clip, counted from 0, that the first frame of the sequence shows.",
        flags=("--offset",),
        minimum=-(10**6),
        maximum=10**6,
        needs=(FOR_SEQUENCES,),
    )

    def __post_init__(self) -> None:
        check_options(self)
