"""More bones are never clearly worse: each time their number doubles, the error falls or stays where it was."""

from __future__ import annotations

from itertools import pairwise

import pytest

from osteon.core.animation import BoneType
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.pipeline.skin import skin_sequence
from osteon.synth.cloth import ClothOptions, make_cloth
from osteon_bench.subjects import JointedOptions, make_jointed

#: A fit ends where it ends: by this part, and by so many percent of the motion, it may miss a better one.
SLACK, FLOOR = 1.05, 0.05


def _walker() -> MeshSequence:
    model = make_jointed(3, JointedOptions(joints=10, frames=16, influences=4, vertices=30))
    return MeshSequence(pose_frames(model), model.faces, model.rest)


SUBJECTS = {"cloth": lambda: make_cloth(ClothOptions(frames=16, columns=20, rows=12)), "character": _walker}


@pytest.mark.parametrize("bone_type", ["rigid", "scaled", "flexible"])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_more_bones_are_never_clearly_worse(subject: str, bone_type: BoneType) -> None:
    sequence = SUBJECTS[subject]()
    fits = [skin_sequence(sequence, options=SkinOptions(bones=n, bone_type=bone_type)) for n in (5, 10, 20, 40)]
    errors = [fit.report.error_percent for fit in fits]
    assert all(more <= SLACK * fewer + FLOOR for fewer, more in pairwise(errors)), errors
