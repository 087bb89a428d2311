"""Simulated poses in a folder: one mesh per pose, and `poses.json`, which lists those that are done.

The list grows with every pose, so a run that was stopped continues where it ended: a pose that is listed with the same
key, and whose file has the listed checksum, is not computed again. The key is a hash of everything that the shape
depends on: solid, skeleton, material, joint rotations.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from osteon.core.errors import FileFormatError, OsteonError
from osteon.core.kinematics import JointLimit, hinge_axes
from osteon.core.mesh import Mesh
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.progress import Progress, report_progress
from osteon.elastic.body import IN_BALANCE, ElasticBody, PosedBody
from osteon.elastic.pose_workers import PoseTask, pose_many
from osteon.elastic.sweep import PlannedPose
from osteon.io.formats.format_types import FrameWriter
from osteon.io.load.sequences import load_sequence
from osteon.io.poses.pose_list import LIST_NAME, ListedPose, PoseList, pose_list_text, read_pose_list
from osteon.io.poses.pose_set import mesh_files, pose_writer
from osteon.io.save.atomic import atomic_file, is_temporary

#: Changed whenever the method computes other shapes; poses with another value are computed again.
METHOD = "osteon elastic 1"
#: Keys of the list: its own checksum, computed with NO_SUM in its place, and those of files that are not listed poses.
SUM, SUMS, NO_SUM = "sha256", "files", "0" * 64


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """The poses to compute, and the format of their files."""

    poses: Sequence[PlannedPose]
    limits: tuple[JointLimit, ...] = ()  # of joints that were swept
    load_steps: int = 1
    suffix: str = ".obj"  # of meshes
    facts: Mapping[str, Any] = field(default_factory=dict)  # about the simulation, for the list


@dataclass(frozen=True, slots=True)
class Simulation:
    """Contents of the folder after a run."""

    folder: Path
    poses: tuple[ListedPose, ...]
    computed: int  # by this run; the others existed

    @property
    def worst_imbalance(self) -> float:
        return max(float(pose.facts["imbalance"]) for pose in self.poses)

    @property
    def restless(self) -> list[str]:
        """Poses whose forces are not in balance."""
        return [pose.name for pose in self.poses if not pose.facts["imbalance"] <= IN_BALANCE]

    @property
    def inverted(self) -> dict[str, int]:
        """Numbers of inverted elements, by pose, for poses that have any."""
        return {pose.name: int(pose.facts["inverted"]) for pose in self.poses if pose.facts["inverted"]}


def is_simulation(folder: Path) -> bool:
    """Whether a folder can be continued: it is new, empty, or holds the list of a simulation."""
    if not folder.exists():
        return True
    if not folder.is_dir():
        raise FileFormatError(f"{folder}: is a file, expected a folder or a new name")
    if all(is_temporary(path.name) for path in folder.iterdir()):
        return True
    listed = _read_list(folder)
    return listed is not None and bool(listed.facts)


def refuse_changed(paths: Sequence[Path]) -> None:
    """Refuse to replace files that the simulation did not write as they are now."""
    if paths:
        raise FileFormatError(
            f"{paths[0]}: was changed since the simulation wrote it, or is not part of it; move it elsewhere"
        )


def simulate_poses(
    body: ElasticBody,
    plan: SimulationPlan,
    folder: Path,
    *,
    jobs: int = 0,
    check_changed: Callable[[Sequence[Path]], None] = refuse_changed,
    progress: Progress | None = None,
    watch: PoseWatch | None = None,
) -> Simulation:
    """Compute the poses that are missing, write each when it is done, and remove those of earlier plans.

    `check_changed` raises an error if files that were edited by hand, or are not part of the simulation, must not be
    replaced. `watch` receives the expected cost before the first pose, and each pose when it is done.
    """
    book = _Book.of(body, plan, folder)
    check_changed(book.changed())
    book.write_rest()
    numbers = [p for p in range(len(plan.poses)) if p not in book.listed]
    tasks = [PoseTask(p, plan.poses[p].joint_rotations, plan.poses[p].shift, plan.load_steps) for p in numbers]
    report_progress(progress, "poses", 0.0)
    if watch is not None and tasks:
        watch.expect(SimulationCost(len(tasks), min(available_threads(jobs), len(tasks)), seconds_per_pose(body)))
    for count, done in enumerate(pose_many(body, tasks, jobs), 1):
        book.write_pose(done.number, done.posed)
        if watch is not None:
            watch.finish(plan.poses[done.number].name, done.posed, count)
        report_progress(progress, "poses", count / len(tasks))
    book.finish()
    return Simulation(folder, tuple(book.listed[p] for p in sorted(book.listed)), len(tasks))


@dataclass(frozen=True, slots=True)
class SimulationCost:
    """An estimate, made before the first pose."""

    poses: int  # that are computed
    processes: int
    seconds_per_pose: float

    @property
    def seconds(self) -> float:
        return self.seconds_per_pose * -(-self.poses // self.processes)


class PoseWatch(Protocol):
    """Receives the events of a simulation."""

    def expect(self, cost: SimulationCost) -> None: ...

    def finish(self, name: str, posed: PosedBody, count: int) -> None: ...


#: Newton steps of a pose, on average over the sweeps of both hands (`osteon bench elastic`).
STEPS_PER_POSE = 12


def seconds_per_pose(body: ElasticBody) -> float:
    """An estimate: one step of Newton's method is measured, a pose takes about a dozen."""
    started = time.perf_counter()
    with single_threaded_blas():
        body.system.factor(body.system.stiffness(body.solid.points, body.material))
    return STEPS_PER_POSE * (time.perf_counter() - started)


@dataclass(slots=True)
class _Book:
    """The folder of poses during a run.

    Before a file is written, its checksum is in the list. So a run that continues after a crash can tell files of the
    simulation from files that were edited by hand.
    """

    plan: SimulationPlan
    folder: Path
    body: ElasticBody
    keys: list[str]  # of each pose
    sums: dict[str, list[str]]  # SHA-256 of files that the simulation wrote, or is about to write
    changed_list: bool  # poses.json was edited, or was not written by a simulation
    writer: FrameWriter  # of the meshes of poses
    rest: dict[str, bytes]  # files of the rest pose
    listed: dict[int, ListedPose] = field(default_factory=dict)  # by number, those that are done

    @staticmethod
    def of(body: ElasticBody, plan: SimulationPlan, folder: Path) -> _Book:
        whole = _body_key(body, plan)
        keys = [_pose_key(whole, pose) for pose in plan.poses]
        surface = body.solid.surface
        path = folder / LIST_NAME
        before = _read_list(folder)
        changed_list = path.exists() and (before is None or not _is_unchanged(path, before))
        sums = {} if before is None else _sums(before, folder, surface)
        rest = mesh_files(surface, "rest", plan.suffix)
        book = _Book(plan, folder, body, keys, sums, changed_list, pose_writer(surface, plan.suffix), rest)
        known = {} if before is None else {pose.facts.get("key"): pose for pose in before.poses}
        for p, (key, pose) in enumerate(zip(keys, plan.poses, strict=True)):
            found, file = known.get(key), f"{pose.name}{plan.suffix}"
            if found is not None and found.file == file and book._is_whole(file):
                facts = {**found.facts, **_size_and_sum((folder / file).read_bytes())}
                book.listed[p] = ListedPose(pose.name, file, pose.kind, pose.joint_rotations, pose.shift, facts)
        return book

    def changed(self) -> list[Path]:
        """Files that would be replaced although the simulation did not write them as they are now."""
        names = {f"{pose.name}{self.plan.suffix}" for pose in self.plan.poses} | set(self.rest)
        files = [self.folder / name for name in sorted(names - {pose.file for pose in self.listed.values()})]
        surface = self.body.solid.surface
        found = [path for path in files if path.is_file() and not self._is_whole(path.name)]
        found = [path for path in found if path.name not in self.sums or _holds_mesh_of(path, surface)]
        found = [path for path in found if self.rest.get(path.name) != path.read_bytes()]
        return [self.folder / LIST_NAME] * self.changed_list + found

    def write_rest(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write_list()
        for name, data in self.rest.items():
            self._write(name, data)

    def write_pose(self, p: int, posed: PosedBody) -> None:
        """Write the mesh, and add it to the list."""
        pose = self.plan.poses[p]
        file, data = f"{pose.name}{self.plan.suffix}", self.writer.frame(posed.surface.astype(np.float32))
        self._write(file, data)
        facts = {"key": self.keys[p], **_facts(posed), **_size_and_sum(data)}
        self.listed[p] = ListedPose(pose.name, file, pose.kind, pose.joint_rotations, pose.shift, facts)
        self.write_list()

    def write_list(self) -> None:
        skeleton = self.body.skeleton
        number = {name: j for j, name in enumerate(skeleton.names)}
        hinges = {number[joint]: axis for joint, axis in hinge_axes(self.plan.limits).items()}
        there = tuple(self.listed[p] for p in sorted(self.listed))
        files = {pose.file for pose in there}
        others = {name: sums for name, sums in sorted(self.sums.items()) if name not in files}
        facts = {**self.plan.facts, "poses": len(self.plan.poses), "done": len(there), SUMS: others, SUM: NO_SUM}
        rest = f"rest{self.plan.suffix}"
        text = pose_list_text(PoseList(rest, skeleton, there, hinges, self.plan.limits, facts=facts))
        self._replace(LIST_NAME, text.replace(NO_SUM, _sum_of(text.encode()), 1).encode())

    def finish(self) -> None:
        """Remove files of earlier plans, and check that no file of this one has been removed."""
        now = {pose.file for pose in self.listed.values()} | set(self.rest)
        for name in sorted(set(self.sums) - now):
            if self._is_whole(name):
                (self.folder / name).unlink()
            del self.sums[name]
        self.write_list()
        missing = [name for name in sorted(now) if not (self.folder / name).is_file()]
        if missing:
            raise self._vanished(missing[0])

    def _write(self, name: str, data: bytes) -> None:
        if self._is_whole(name) and (self.folder / name).read_bytes() == data:
            return
        self.sums[name] = [*self.sums.get(name, [])[-1:], _sum_of(data)]
        self.write_list()
        self._replace(name, data)
        self.sums[name] = [_sum_of(data)]

    def _replace(self, name: str, data: bytes) -> None:
        if not self.folder.is_dir():
            raise self._vanished(name)
        with atomic_file(self.folder / name) as temporary:
            temporary.write_bytes(data)

    def _is_whole(self, name: str) -> bool:
        """Whether a file is as the simulation wrote it."""
        path = self.folder / name
        return path.is_file() and _sum_of(path.read_bytes()) in self.sums.get(name, [])

    def _vanished(self, name: str) -> FileFormatError:
        return FileFormatError(f"{self.folder / name}: was removed during the simulation; run the same command again")


def _read_list(folder: Path) -> PoseList | None:
    """The list in a folder; None if it is missing or cannot be read."""
    path = folder / LIST_NAME
    try:
        return read_pose_list(path) if path.is_file() else None
    except OsteonError:
        return None


def _is_unchanged(path: Path, listed: PoseList) -> bool:
    """Whether poses.json is as a simulation wrote it. Earlier versions of Osteon wrote no checksum."""
    found = listed.facts.get(SUM)
    if found is None:
        return bool(listed.facts)
    text = path.read_bytes().replace(str(found).encode(), NO_SUM.encode(), 1)
    return _sum_of(text) == str(found)


def _sums(listed: PoseList, folder: Path, surface: Mesh) -> dict[str, list[str]]:
    """Checksums of the files that a list names. Without a checksum, a file counts if it holds the right mesh."""
    stored = listed.facts.get(SUMS)
    sums = {str(name): list(map(str, found)) for name, found in stored.items()} if isinstance(stored, dict) else {}
    for pose in listed.poses:
        path = folder / pose.file
        if "sha256" in pose.facts:
            sums[pose.file] = [str(pose.facts["sha256"])]
        else:
            sums[pose.file] = [_sum_of(path.read_bytes())] if _holds_mesh_of(path, surface) else []
    return sums


def _holds_mesh_of(path: Path, surface: Mesh) -> bool:
    """Whether a file can be read and holds the vertices and triangles of a surface; False for a truncated file."""
    try:
        found = load_sequence(path)
    except (OsteonError, OSError):
        return False
    return found.n_vertices == surface.n_vertices and bool(np.array_equal(found.faces, surface.faces))


def _size_and_sum(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": _sum_of(data)}


def _sum_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _facts(posed: PosedBody) -> dict[str, Any]:
    """Facts about a computed pose; none that differ between two runs."""
    return {
        "steps": posed.newton_steps,
        "load_steps": posed.load_steps,
        "imbalance": float(f"{posed.equilibrium.imbalance:.3g}"),
        "energy": float(f"{posed.equilibrium.energy:.6g}"),
        "inverted": posed.inverted,
        "least_dilation": float(f"{posed.least_dilation:.4g}"),
    }


def _body_key(body: ElasticBody, plan: SimulationPlan) -> bytes:
    """Hash of everything that shapes depend on, except the pose."""
    solid, skeleton = body.solid, body.skeleton
    arrays = (solid.points, solid.tets, solid.fill, solid.corners, solid.weights, skeleton.joints, skeleton.bones)
    found = hashlib.sha256(f"{METHOD} {body.material} {plan.load_steps} {skeleton.root}".encode())
    for array in (*arrays, body.held):
        found.update(str(array.shape).encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


def _pose_key(body_key: bytes, pose: PlannedPose) -> str:
    found = hashlib.sha256(body_key)
    for j in sorted(pose.joint_rotations):
        found.update(f"{j} {np.round(pose.joint_rotations[j], 12).tolist()}".encode())
    found.update(str(pose.shift).encode())
    return found.hexdigest()[:16]
