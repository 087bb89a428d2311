"""What one server knows: its scene, dropped files, the worker and its jobs, and the tabs that look on."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from osteon.core.errors import OptionError, OsteonError
from osteon.core.options import SkinOptions
from osteon.io.skeletons import SKELETON_SUFFIXES
from osteon.view import posing, tasks
from osteon.view.jobs import Job, Worker
from osteon.view.pose_request import PoseRequest
from osteon.view.pose_subject import Given
from osteon.view.scene import Entry, Scene
from osteon.view.uploads import Dropped, Uploads

__all__ = ["Busy", "Session", "Unknown"]

Work = Callable[[Job], Awaitable[dict[str, Any]]]


class Busy(OsteonError):
    """Another fit is running."""


class Unknown(OsteonError):
    """There is no such model or job."""


def _nothing() -> None:
    """What happens without tabs, unless somebody says otherwise."""


@dataclass(slots=True)
class Session:
    """The state of a server. What lies in the folder of the scene belongs to it."""

    scene: Scene
    uploads: Uploads
    patience: float = 5.0  # seconds without any tab after which the worker ends
    on_idle: Callable[[], None] = _nothing  # called then
    worker: Worker = field(default_factory=Worker)
    jobs: dict[str, Job] = field(default_factory=dict)
    skeletons: dict[str, str] = field(default_factory=dict)  # files that were dropped, by entry
    running: Job | None = None
    tabs: int = 0
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    background: set[asyncio.Task[None]] = field(default_factory=set)

    @staticmethod
    def of(scene: Scene, patience: float = 5.0, on_idle: Callable[[], None] = _nothing) -> Session:
        return Session(scene, Uploads(scene.folder / "dropped"), patience, on_idle)

    def entry(self, entry_id: str) -> Entry:
        found = self.scene.entries.get(entry_id)
        if found is None:
            raise Unknown(f"there is no model '{entry_id[:40]}' here; load the page again")
        return found

    def job(self, job_id: str) -> Job:
        found = self.jobs.get(job_id)
        if found is None:
            raise Unknown(f"there is no job '{job_id[:40]}' here; it belonged to an earlier start of the server")
        return found

    def _check_free(self) -> None:
        if self.running is not None:
            raise Busy("a fit is running; wait for it or cancel it, then try again")

    async def open(self, drop: Dropped) -> Entry:
        """Let the worker read dropped files; they become an entry of the scene."""
        self._check_free()
        entry_id, inputs = self.scene.new_id(), drop.inputs()
        pack = self.scene.pack_of(entry_id)
        found = await self.worker.run(tasks.open_files, inputs, str(pack))
        is_sequence = found["kind"] == "sequence"
        kind: Literal["model", "sequence"] = "sequence" if is_sequence else "model"
        entry = Entry(entry_id, str(found["name"]), kind, pack, inputs if is_sequence else (), inputs=inputs)
        self.scene.add(entry)
        return entry

    def fit(self, entry: Entry, options: SkinOptions) -> Job:
        """Skin the source of an entry; the result becomes another entry."""
        source = _source_of(entry)
        entry_id = self.scene.new_id()
        pack, model = self.scene.pack_of(entry_id), self.scene.folder / f"{entry_id}.npz"

        async def work(job: Job) -> dict[str, Any]:
            found = await self.worker.run(tasks.fit_source, source, options, str(pack), str(model), job=job)
            self.scene.add(Entry(entry_id, str(found["name"]), "model", pack, source, model))
            return {"done": entry_id, "error_percent": found["error_percent"]}

        return self._start(work)

    def find_clusters(self, entry: Entry) -> Job:
        """Find the near-rigid triangles of the source of an entry."""
        source, out = _source_of(entry), self.clusters_of(entry)

        async def work(job: Job) -> dict[str, Any]:
            if not out.is_file():
                await self.worker.run(tasks.cluster_source, source, str(out), job=job)
            return {"done": entry.id}

        return self._start(work)

    def clusters_of(self, entry: Entry) -> Path:
        return self.scene.folder / f"{entry.id}.clusters"

    async def save(self, entry: Entry, suffix: str) -> Path:
        """A file of the model that a fit made."""
        if entry.model is None:
            raise OptionError(f"'{entry.name}' was not fitted here; its file is where it was")
        self._check_free()
        out = self.scene.folder / f"{entry.id}-saved{suffix}"
        if not out.is_file():
            await self.worker.run(tasks.save_as, str(entry.model), str(out))
        return out

    def start_posing(self, entry: Entry) -> Job:
        """Prepare the mesh of an entry for posing; the end of the job tells its skeleton and how to repeat it."""
        given = self.given(entry)

        async def work(job: Job) -> dict[str, Any]:
            about = await self.worker.run(posing.start_posing, given, job=job)
            skeleton = given.skeleton if about["skeleton"] else None
            about["note"] = self.uploads.hide_folders(about["note"])
            about["command"] = {"mesh": self._told(entry.inputs[0]) if entry.inputs else "MESH"}
            about["command"]["skeleton"] = None if skeleton is None else self._told(skeleton)
            return {"done": entry.id, "about": about}

        return self._start(work)

    async def give_skeleton(self, entry: Entry, drop: Dropped) -> None:
        """Pose an entry by a dropped skeleton from now on."""
        self._check_free()
        (file,) = drop.files.values()
        await self.worker.run(posing.check_skeleton, Given(str(entry.pack), str(file)))
        self.skeletons[entry.id] = str(file)

    async def pose(self, entry: Entry, task: posing.PoseTask, request: PoseRequest) -> bytes:
        """What a task of posing writes."""
        self._check_free()
        out = self.scene.folder / f"{entry.id}-{secrets.token_hex(6)}.pose"
        try:
            await self.worker.run(task, self.given(entry), request, str(out))
            return await asyncio.to_thread(out.read_bytes)
        finally:
            out.unlink(missing_ok=True)

    def given(self, entry: Entry) -> Given:
        """What an entry is posed by: a dropped skeleton, the one it was opened with, or that of its own file."""
        named = self.skeletons.get(entry.id, entry.skeleton)
        if named is not None:
            return Given(str(entry.pack), named)
        own = entry.inputs[0] if len(entry.inputs) == 1 else ""
        return Given(str(entry.pack), own, implied=True) if _may_have_rig(own) else Given(str(entry.pack))

    def _told(self, file: str) -> str:
        """A file as a person knows it: dropped ones by their name only."""
        return Path(file).name if Path(file).is_relative_to(self.uploads.folder) else file

    def _start(self, work: Work) -> Job:
        """Run `work` as a job; what it returns is the job's last message."""
        self._check_free()
        job = self.running = Job(f"j{len(self.jobs) + 1}")
        self.jobs[job.id] = job
        self._later(self._carry_out(job, work))
        return job

    async def _carry_out(self, job: Job, work: Work) -> None:
        try:
            last = await work(job)
        except OsteonError as error:
            last = {"cancelled": True} if job.cancelled else {"error": self.uploads.hide_folders(str(error))}
        self.running = None
        job.tell(last)

    def cancel(self, job: Job) -> None:
        """Stop a job, also in the midst of its work."""
        if not job.ended:
            job.cancelled = True
            self.worker.stop(job)

    async def tab(self) -> AsyncGenerator[dict[str, Any], None]:
        """Counts as a tab for as long as somebody listens. There is nothing to hear."""
        self.tabs += 1
        try:
            await self.closing.wait()
        finally:
            self.tabs -= 1
            if not self.tabs and not self.closing.is_set():
                self._later(self._end_if_idle())
        yield {"closing": True}

    async def _end_if_idle(self) -> None:
        await asyncio.sleep(self.patience)
        if not self.tabs:
            self.end_worker()
            self.on_idle()

    def end_worker(self) -> None:
        """End the worker and what it does."""
        if self.running is not None:
            self.running.cancelled = True
        self.worker.stop()

    def close(self) -> None:
        """End all streams and the worker."""
        self.closing.set()
        self.end_worker()
        for task in self.background:
            task.cancel()

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self.background.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(self.background.discard)


def _may_have_rig(file: str) -> bool:
    return Path(file).suffix.lower() in set(SKELETON_SUFFIXES) - {".json"}


def _source_of(entry: Entry) -> tuple[str, ...]:
    if not entry.sequence:
        raise OptionError(f"'{entry.name}' has no source to work on; open the sequence it was made from")
    return entry.sequence
