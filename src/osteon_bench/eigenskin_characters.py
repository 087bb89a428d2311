"""EigenSkin of characters whose poses are frames of a clip, as an artist has them: a walk, and a range of motion.

Truth is flesh simulated by `osteon simulate` (stable neo-Hookean, a lattice around the character's own mesh) in the
joint rotations of the clip; translations of joints against each other are left out of the clip, since flesh follows
rotations. The meshes are given as a sequence, frame by frame, with no rotations typed in.

- CesiumMan: its own walk of 48 frames. Learned are the 20 frames that differ most; unseen are frames between them.
- Soldier, whose mesh is open: a range of motion, the spine and the joints of an arm and a leg through their ranges one
  by one, about one and two axes, and neighbours together. Unseen are random poses of all of these joints at once,
  within 60 % of their ranges. Its fingers keep their rest pose and their bones are left out of the flesh: bones that
  thin need a lattice in which a pose takes minutes.

Notes, Soldier, share of the skin's error removed in unseen poses, on average and at worst. Without poses of neighbours
75.0, 46.0; with them 77.8, 48.1, and 85.5 on average with the best coefficients of the same columns. Four columns per
joint and pair and no limit per vertex: 82.6, 49.6; five of six poses 88 to 91, and the last one, in which the skin is
least off, 90.9 with the best coefficients: what is missing there is the interpolation between rotations about one and
two axes, where joints rotate about three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from osteon.core.animation import Animation, BoneTrack, Clip
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.deform.pose_skeleton import joint_rotations_of_transforms, transforms_of_joint_rotations
from osteon.elastic.joint_limits import guess_limits
from osteon.elastic.options import FleshOptions, SweepOptions
from osteon.elastic.solid_files import load_flesh, make_body
from osteon.elastic.sweep import PlannedPose, plan_sweep
from osteon.io import load_model
from osteon.io.poses.pose_set import PoseSet, load_pose_set
from osteon.io.skeletons import load_skeleton
from osteon.io.skeletons.rig import printable_names
from osteon.pipeline.eigenskin import learn_eigenskin
from osteon.pipeline.known_poses.clip_sequence import poses_of_sequence
from osteon.pipeline.known_poses.options import ClipPoseOptions
from osteon.pipeline.known_poses.pose_checks import check_poses
from osteon.pipeline.known_poses.rig_poses import RigPoses
from osteon.pipeline.simulate import SimulationPlan, simulate_poses
from osteon_bench.eigenskin_hands import pose_folder
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

#: Removed percent of the skin's error in unseen poses.
REMOVED = 85.0
#: Joints of Soldier that its range of motion rotates, and part of their ranges in random poses.
SOLDIER_JOINTS = ("Spine1", "LeftArm", "LeftForeArm", "LeftUpLeg", "LeftLeg")
RANDOM, PART = 6, 0.6
#: Rotations, in degrees, from which a wrong sign must be named; and poses in which it is tried.
WRONG, TRIED = 15.0, 12


@dataclass(frozen=True, slots=True)
class CharacterCase:
    """A character, a clip of rotations alone, and its flesh in the frames of the clip."""

    name: str
    rig: SkinnedModel  # with that clip
    sequence: MeshSequence
    judged: tuple[int, ...]  # frames that are not learned; (): chosen among the others


def character_rows(run: BenchRun) -> list[Row]:
    """Rows of both characters, in characters/ beside the folder of sequences."""
    rows: list[Row] = []
    for name, made in (("CesiumMan", walking), ("Soldier", range_of_motion)):
        path = run.data.parent / "characters" / f"{name}.glb"
        if not path.is_file():
            run.report_missing(
                f"'{path}' is missing; its poses are omitted. characters/ is beside the folder of --data"
            )
            continue
        rows += _rows_of(run, made(run, path))
    return rows


def _rows_of(run: BenchRun, case: CharacterCase) -> list[Row]:
    options = ClipPoseOptions(frames=20) if not case.judged else ClipPoseOptions(frames=1000, validate=0)
    poses = poses_of_sequence(case.rig, case.sequence, None, options)
    if case.judged:
        poses = replace(poses, kinds=tuple("validate" if f in case.judged else "train" for f in poses.frames))
    run.report(f"{case.name}: learning")
    learned = learn_eigenskin(case.rig, poses)
    found = learned.validation
    assert found is not None
    about = f"{case.name}, {len(learned.training.names)} frames of a clip, {len(found.names)} unseen"
    removed, limit = 100 * found.removed, 100 * found.limit
    return [
        at_least(about, "% of the skin's error removed in unseen frames", removed.mean(), REMOVED),
        figure(about, "the same in the worst frame", removed.min()),
        figure(about, "limit: % removed with the best coefficients", limit.mean()),
        figure(about, "RMS of the skin in unseen frames, % of the diagonal", 100 * found.skin.mean() / found.diagonal),
        figure(about, "RMS left, % of the diagonal", 100 * found.corrected.mean() / found.diagonal),
        at_most(about, "right poses that are doubted", len(learned.doubts), 0),
        *_sign_rows(about, case, poses),
    ]


def _sign_rows(about: str, case: CharacterCase, poses: RigPoses) -> list[Row]:
    """One joint of a pose the other way, of every pose in turn: whether pose and joint are named, and no other."""
    skeleton = case.rig.character.skeleton
    assert skeleton is not None
    names = printable_names(skeleton.names)
    rotations, shifts = joint_rotations_of_transforms(skeleton, poses.known.transforms)
    angles = np.degrees(np.arccos(np.clip((np.einsum("pjii->pj", rotations) - 1) / 2, -1, 1)))
    angles[:, skeleton.parents < 0] = 0
    cases = [(p, j) for p in range(len(angles)) for j in np.flatnonzero(angles[p] > WRONG).tolist()]
    chosen = [cases[i] for i in np.unique(np.linspace(0, len(cases) - 1, TRIED).astype(int))]
    named = others = 0
    for p, j in chosen:
        wrong = rotations[p].copy()
        wrong[j] = wrong[j].T
        transforms = poses.known.transforms.copy()
        transforms[p] = transforms_of_joint_rotations(skeleton, wrong[None], shifts[p][None])[0]
        given = replace(poses, known=replace(poses.known, transforms=transforms), frames=np.full(len(angles), -1))
        doubts = check_poses(case.rig.character, given)
        named += any((d.pose, d.cause, d.joint) == (poses.known.names[p], "wrong sign", names[j]) for d in doubts)
        others += sum(d.pose != poses.known.names[p] for d in doubts)
    return [
        at_least(about, f"% of {len(chosen)} wrong signs named, with pose and joint", 100 * named / len(chosen), 100.0),
        at_most(about, "other poses doubted meanwhile", others, 0),
    ]


def walking(run: BenchRun, path: Path) -> CharacterCase:
    """The clip of CesiumMan."""
    rig = load_model(path)
    skeleton = rig.character.skeleton
    assert skeleton is not None
    rotations, shifts = joint_rotations_of_transforms(skeleton, rig.track.transforms)
    names = printable_names(skeleton.names)
    sticks = load_skeleton(path)
    number = {name: j for j, name in enumerate(sticks.names)}
    planned = [
        PlannedPose(
            f"frame_{f:03d}",
            "train",
            {number[name]: rotations[f, j] for j, name in enumerate(names) if name in number},
            tuple(float(x) for x in shifts[f, 0]),  # type: ignore[arg-type]
        )
        for f in range(rig.n_frames)
    ]
    return _case(run, "CesiumMan walking", path, rig, sticks, planned, ())


def range_of_motion(run: BenchRun, path: Path) -> CharacterCase:
    """Soldier without the bones of its fingers."""
    rig = load_model(path)
    sticks = _without_fingers(load_skeleton(path))
    joints = tuple(f"mixamorig:{name}" for name in SOLDIER_JOINTS)
    limits = guess_limits(sticks)
    sweep = SweepOptions(sweep=True, joints=joints, each=4, validate=0)
    smaller = tuple(replace(limit, low=PART * limit.low, high=PART * limit.high) for limit in limits)
    random = replace(sweep, validate=RANDOM, each=1, pairs=False)
    planned = [pose for pose in plan_sweep(sticks, smaller, random) if pose.kind == "validate"]
    planned += plan_sweep(sticks, limits, sweep)
    judged = tuple(p for p, pose in enumerate(planned) if pose.kind == "validate")
    return _case(run, "Soldier's range of motion", path, rig, sticks, planned, judged)


def _case(
    run: BenchRun,
    name: str,
    path: Path,
    rig: SkinnedModel,
    sticks: StickSkeleton,
    planned: Sequence[PlannedPose],
    judged: tuple[int, ...],
) -> CharacterCase:
    """The rig with a clip of the planned poses, and its flesh in them."""
    options = FleshOptions()
    folder = pose_folder(path.stem)
    run.report(f"{name}: {len(planned)} poses in {folder}")
    body = make_body(load_flesh(path, options), sticks, options)
    simulate_poses(body, SimulationPlan(planned, suffix=".ply"), folder, jobs=run.threads)
    found = load_pose_set(folder)
    return CharacterCase(name, _posed(rig, sticks, planned), _sequence(found, planned), judged)


def _posed(rig: SkinnedModel, sticks: StickSkeleton, planned: Sequence[PlannedPose]) -> SkinnedModel:
    """The rig with one clip of the planned poses."""
    skeleton = rig.character.skeleton
    assert skeleton is not None
    number = {name: j for j, name in enumerate(printable_names(skeleton.names))}
    rotations = np.tile(np.eye(3), (len(planned), len(number), 1, 1))
    for p, pose in enumerate(planned):
        for j, matrix in pose.joint_rotations.items():
            if sticks.names[j] in number:
                rotations[p, number[sticks.names[j]]] = matrix
    shifts = np.array([pose.shift for pose in planned])
    transforms = transforms_of_joint_rotations(skeleton, rotations, shifts).astype(np.float32)
    track = BoneTrack(transforms, "rigid", rig.track.names)
    return SkinnedModel(rig.character, Animation(track, (Clip("motion", 0, len(planned), 30.0),)))


def _sequence(found: PoseSet, planned: Sequence[PlannedPose]) -> MeshSequence:
    """The meshes in the order of the clip."""
    order = [found.names.index(pose.name) for pose in planned]
    return MeshSequence(
        found.frames[order], found.mesh.faces, found.mesh.rest, clips=(Clip("motion", 0, len(order), 30.0),)
    )


def _without_fingers(sticks: StickSkeleton) -> StickSkeleton:
    kept = [j for j, name in enumerate(sticks.names) if not _is_finger(name)]
    ends = _hand_ends(sticks)
    kept = sorted({*kept, *ends})
    number = {j: i for i, j in enumerate(kept)}
    bones = [(number[a], number[b]) for a, b in sticks.bones.tolist() if a in number and b in number]
    return StickSkeleton(
        sticks.joints[kept],
        np.array(bones),
        tuple(sticks.names[j] for j in kept),
        number[sticks.root],
        name=sticks.name,
    )


def _is_finger(name: str) -> bool:
    return "Hand" in name and not name.endswith("Hand")


def _hand_ends(sticks: StickSkeleton) -> list[int]:
    """The first joint of each middle finger, where the bone of a hand ends."""
    return [j for j, name in enumerate(sticks.names) if name.endswith("HandMiddle1")]
