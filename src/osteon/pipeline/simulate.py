"""Poses of flesh into a folder: a mesh each and `poses.json`, which lists those that exist.

The list grows with every pose that is done, so a run that was stopped goes on where it ended: a pose that is listed
with the same key is not computed again. The key is a sum over all that a shape depends on: solid, skeleton, material,
turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.errors import FileFormatError, OsteonError
from osteon.core.kinematics import JointLimit, hinge_axes
from osteon.core.progress import Progress, report_progress
from osteon.elastic.body import IN_BALANCE, ElasticBody, PosedBody
from osteon.elastic.pose_workers import PoseTask, pose_many
from osteon.elastic.sweep import PlannedPose
from osteon.io.formats.format_types import FrameWriter
from osteon.io.poses.pose_list import LIST_NAME, ListedPose, PoseList, read_pose_list, write_pose_list
from osteon.io.poses.pose_set import mesh_files, pose_writer
from osteon.io.save.atomic import atomic_file
from osteon.io.save.marks import is_ours
from osteon.io.save.output_batch import named_path

__all__ = ["Simulation", "SimulationPlan", "check_pose_folder", "simulate_poses"]

#: Changes with whatever changes shapes without being an option; poses of before are computed again.
METHOD = "osteon elastic 1"


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """What is computed, and how it is written."""

    poses: Sequence[PlannedPose]
    limits: tuple[JointLimit, ...] = ()  # of joints that were swept
    load_steps: int = 1
    suffix: str = ".obj"  # of meshes
    facts: Mapping[str, Any] = field(default_factory=dict)  # about the simulation, for the list


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a folder holds now."""

    folder: Path
    poses: tuple[ListedPose, ...]
    computed: int  # the others were there

    @property
    def worst_imbalance(self) -> float:
        return max(float(pose.facts["imbalance"]) for pose in self.poses)

    @property
    def restless(self) -> list[str]:
        """Poses whose forces are not in balance."""
        return [pose.name for pose in self.poses if not pose.facts["imbalance"] <= IN_BALANCE]

    @property
    def inverted(self) -> dict[str, int]:
        """Elements turned inside out, by pose, where there are any."""
        return {pose.name: int(pose.facts["inverted"]) for pose in self.poses if pose.facts["inverted"]}


def check_pose_folder(folder: Path) -> None:
    """Refuse a folder that holds a file that Osteon did not write; what a killed run left is no such file."""
    if folder.exists() and not folder.is_dir():
        raise FileFormatError(f"{folder}: is a file, expected a folder or a new name")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() or not (named_path(path) != path or is_ours(path)):
            raise FileFormatError(f"{folder}: holds '{path.name}', which Osteon did not write; name an empty folder")


def simulate_poses(
    body: ElasticBody, plan: SimulationPlan, folder: Path, *, jobs: int = 0, progress: Progress | None = None
) -> Simulation:
    """Compute what is missing, write it as it comes, and leave nothing of other plans behind."""
    book = _Book.of(body, plan, folder)
    book.write_rest()
    numbers = [p for p in range(len(plan.poses)) if p not in book.listed]
    tasks = [PoseTask(p, plan.poses[p].turns, plan.poses[p].shift, plan.load_steps) for p in numbers]
    report_progress(progress, "poses", 0.0)
    for count, done in enumerate(pose_many(body, tasks, jobs), 1):
        book.write_pose(done.number, done.posed)
        report_progress(progress, "poses", count / len(tasks))
    book.write_list()
    book.remove_others()
    return Simulation(folder, tuple(book.listed[p] for p in sorted(book.listed)), len(tasks))


@dataclass(slots=True)
class _Book:
    """The folder while it fills."""

    plan: SimulationPlan
    folder: Path
    body: ElasticBody
    keys: list[str]  # of each pose
    before: PoseList | None  # what the folder listed when the run began
    listed: dict[int, ListedPose]  # by number, those that exist
    writer: FrameWriter  # of their meshes
    rest: dict[str, bytes]  # files of the rest pose

    @staticmethod
    def of(body: ElasticBody, plan: SimulationPlan, folder: Path) -> _Book:
        whole = _body_key(body, plan)
        keys = [_pose_key(whole, pose) for pose in plan.poses]
        before = _list_of(folder)
        there = {pose.facts.get("key"): pose for pose in before.poses} if before is not None else {}
        listed: dict[int, ListedPose] = {}
        for p, (key, pose) in enumerate(zip(keys, plan.poses, strict=True)):
            known = there.get(key)
            file = f"{pose.name}{plan.suffix}"
            if known is not None and known.file == file and (folder / file).is_file():
                listed[p] = ListedPose(pose.name, file, pose.kind, pose.turns, pose.shift, known.facts)
        surface = body.solid.surface
        rest = mesh_files(surface, "rest", plan.suffix)
        return _Book(plan, folder, body, keys, before, listed, pose_writer(surface, plan.suffix), rest)

    def write_rest(self) -> None:
        for name, data in self.rest.items():
            _write(self.folder / name, data)
        if self.listed:
            self.write_list()

    def write_pose(self, p: int, posed: PosedBody) -> None:
        """The mesh, then the list that names it."""
        pose = self.plan.poses[p]
        file = f"{pose.name}{self.plan.suffix}"
        _write(self.folder / file, self.writer.frame(posed.surface.astype(np.float32)))
        facts = {"key": self.keys[p], **_facts(posed)}
        self.listed[p] = ListedPose(pose.name, file, pose.kind, pose.turns, pose.shift, facts)
        self.write_list()

    def write_list(self) -> None:
        skeleton = self.body.skeleton
        number = {name: j for j, name in enumerate(skeleton.names)}
        hinges = {number[joint]: axis for joint, axis in hinge_axes(self.plan.limits).items()}
        there = tuple(self.listed[p] for p in sorted(self.listed))
        facts = {**self.plan.facts, "poses": len(self.plan.poses), "done": len(there)}
        rest = f"rest{self.plan.suffix}"
        write_pose_list(PoseList(rest, skeleton, there, hinges, self.plan.limits, facts=facts), self.folder / LIST_NAME)

    def remove_others(self) -> None:
        """Meshes that were listed before and are not any more, and what killed runs left."""
        now = {pose.file for pose in self.listed.values()} | set(self.rest)
        old = {self.before.rest, *(pose.file for pose in self.before.poses)} - now if self.before else set()
        for path in self.folder.iterdir():
            if named_path(path) != path or (path.name in old and is_ours(path)):
                path.unlink()


def _write(path: Path, data: bytes) -> None:
    with atomic_file(path) as temporary:
        temporary.write_bytes(data)


def _list_of(folder: Path) -> PoseList | None:
    """The list that is there; none if it cannot be read, for then nothing of it can be used."""
    path = folder / LIST_NAME
    try:
        return read_pose_list(path) if path.is_file() else None
    except OsteonError:
        return None


def _facts(posed: PosedBody) -> dict[str, Any]:
    """How a pose came out; nothing that differs between two runs."""
    return {
        "steps": posed.newton_steps,
        "load_steps": posed.load_steps,
        "imbalance": float(f"{posed.equilibrium.imbalance:.3g}"),
        "energy": float(f"{posed.equilibrium.energy:.6g}"),
        "inverted": posed.inverted,
        "least_dilation": float(f"{posed.least_dilation:.4g}"),
    }


def _body_key(body: ElasticBody, plan: SimulationPlan) -> bytes:
    """Of all that shapes depend on, but the pose."""
    solid, skeleton = body.solid, body.skeleton
    arrays = (solid.points, solid.tets, solid.fill, solid.corners, solid.weights, skeleton.joints, skeleton.bones)
    found = hashlib.sha256(f"{METHOD} {body.material} {plan.load_steps} {skeleton.root}".encode())
    for array in (*arrays, body.held):
        found.update(str(array.shape).encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


def _pose_key(body_key: bytes, pose: PlannedPose) -> str:
    found = hashlib.sha256(body_key)
    for j in sorted(pose.turns):
        found.update(f"{j} {np.round(pose.turns[j], 12).tolist()}".encode())
    found.update(str(pose.shift).encode())
    return found.hexdigest()[:16]
