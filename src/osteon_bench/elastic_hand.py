"""The measured hand as flesh: its joints, their ranges, and all poses of the benchmarks.

Joints of `hand.tgf` by number: 3, 4 are the thumb's, 6, 7, 8 the index finger's, 10, 11, 12 the middle finger's. All
bend towards the palm, which faces z.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.kinematics import JointLimit
from osteon.core.sticks import StickSkeleton
from osteon.elastic.body import ElasticBody, PosedBody
from osteon.elastic.options import FleshOptions, SweepOptions
from osteon.elastic.pose_workers import PoseTask, pose_many
from osteon.elastic.solid_files import load_flesh, make_body
from osteon.elastic.sweep import PlannedPose, plan_sweep
from osteon.io.skeletons import load_skeleton
from osteon_bench.run import BenchRun

#: Joint, the end of its bone, and its bend in degrees.
JOINTS = (
    *(("3", "4", 55.0), ("4", "5", 70.0)),
    *(("6", "7", 80.0), ("7", "8", 80.0), ("8", "9", 70.0)),
    *(("10", "11", 80.0), ("11", "12", 80.0), ("12", "13", 70.0)),
)
MIDDLE = ("10", "11", "12")
#: Six poses per joint, one per pair of neighbours, ten random ones.
HAND_SWEEP = SweepOptions(sweep=True, each=6, validate=10)
PALM = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class HandCase:
    """Flesh, the ranges of its joints, and the poses of a sweep."""

    name: str
    body: ElasticBody
    limits: tuple[JointLimit, ...]
    poses: list[PlannedPose]

    @property
    def skeleton(self) -> StickSkeleton:
        return self.body.skeleton


def load_hand(run: BenchRun) -> HandCase | None:
    """The hand beside the folder of sequences; None, and reported, if it is missing."""
    folder = run.data.parent / "meshes"
    files = [folder / name for name in ("hand.mesh", "hand.tgf")]
    for file in files:
        if not file.is_file():
            run.report_missing(f"'{file}' is missing; the hand is omitted. meshes/ is beside the folder of --data")
    if not all(file.is_file() for file in files):
        return None
    return _hand_of(*files)


def _hand_of(mesh: Path, sticks: Path) -> HandCase:
    skeleton, options = load_skeleton(sticks), FleshOptions()
    body = make_body(load_flesh(mesh, options), skeleton, options)
    place = dict(zip(skeleton.names, skeleton.joints, strict=True))
    limits = []
    for joint, end, degrees in JOINTS:
        x, y, z = np.cross(place[end] - place[joint], PALM).tolist()
        limits.append(JointLimit(joint, (x, y, z), 0.0, degrees))
    return HandCase("hand", body, tuple(limits), plan_sweep(skeleton, tuple(limits), HAND_SWEEP))


def pose_plan(run: BenchRun, case: HandCase) -> list[PosedBody]:
    """All poses of a case, in their order."""
    tasks = [PoseTask(p, pose.joint_rotations) for p, pose in enumerate(case.poses)]
    found: dict[int, PosedBody] = {}
    for done in pose_many(case.body, tasks, run.threads):
        found[done.number] = done.posed
        run.report(f"{case.name}: {len(found)} of {len(tasks)} poses")
    return [found[p] for p in range(len(tasks))]
