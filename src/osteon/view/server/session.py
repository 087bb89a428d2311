"""The state of one server: its collection, uploads, the worker and its jobs, and the open tabs."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from osteon.core.errors import OptionError, OsteonError
from osteon.core.skin_options import SkinOptions
from osteon.io.skeletons import SKELETON_SUFFIXES
from osteon.pipeline.options import RigOptions
from osteon.view.jobs import posing, tasks
from osteon.view.jobs.posable_mesh import PoseFiles
from osteon.view.jobs.pose_request import PoseRequest
from osteon.view.jobs.tasks import reading_limits
from osteon.view.jobs.worker import PageJob, TaskError, Worker, WorkerBroke
from osteon.view.server.cleanup_process import CleanupProcess
from osteon.view.server.collection import Collection, Item, Peers
from osteon.view.server.uploads import Dropped, Uploads

Work = Callable[[PageJob], Awaitable[dict[str, Any]]]

#: Seconds after which a job is cancelled that no page has followed.
FIRST_FOLLOWER = 30.0


class Busy(OsteonError):
    """Another fit is running."""


class Unknown(OsteonError):
    """There is no such model or job."""


def _nothing() -> None:
    """The default of `on_idle`."""


@dataclass(slots=True)
class Session:
    """The state of a server. It owns all files in the folder of the collection."""

    collection: Collection
    uploads: Uploads
    worker: Worker
    patience: float = 5.0  # seconds without any tab, or without a page that follows a job, until these end
    on_idle: Callable[[], None] = _nothing  # called after these seconds without any tab
    jobs: dict[str, PageJob] = field(default_factory=dict)
    skeletons: dict[str, str] = field(default_factory=dict)  # uploaded skeletons, by item
    running: PageJob | None = None
    refits: int = 0
    tabs: int = 0
    visited: threading.Event = field(default_factory=threading.Event)  # set by the first tab
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    background: set[asyncio.Task[None]] = field(default_factory=set)

    @staticmethod
    def of(
        collection: Collection,
        patience: float = 5.0,
        on_idle: Callable[[], None] = _nothing,
        cleanup: CleanupProcess | None = None,
    ) -> Session:
        folder = collection.folder
        worker = Worker(folder / "scratch", cleanup)
        return Session(collection, Uploads(folder / "dropped"), worker, patience, on_idle)

    def item(self, item_id: str) -> Item:
        found = self.collection.items.get(item_id)
        if found is None:
            raise Unknown(f"there is no model '{item_id[:40]}' here; load the page again")
        return found

    def job(self, job_id: str) -> PageJob:
        found = self.jobs.get(job_id)
        if found is None:
            raise Unknown(f"there is no job '{job_id[:40]}' here; it belonged to an earlier start of the server")
        return found

    def _check_free(self) -> None:
        if self.running is not None:
            raise Busy("a fit is running; wait for it or cancel it, then try again")

    def unlisted_job(self) -> PageJob:
        """A job that no page follows: it ends with its request."""
        return PageJob("")

    async def open(self, drop: Dropped, job: PageJob) -> Item:
        """Read uploaded files in the worker; they become an item of the collection."""
        self._check_free()
        item_id, inputs = self.collection.new_id(), drop.inputs()
        pack = self.collection.pack_of(item_id)
        with _removed_on_error(pack):
            found = await self._read(drop, job, tasks.open_files, inputs, str(pack))
        is_sequence = found.get("kind") == "sequence"
        kind: Literal["model", "sequence"] = "sequence" if is_sequence else "model"
        item = Item(item_id, str(found.get("name", "")), kind, pack, inputs if is_sequence else (), inputs=inputs)
        self.collection.add(item)
        return item

    async def _read(self, drop: Dropped, job: PageJob, task: tasks.Task, *arguments: Any) -> dict[str, Any]:
        """Read uploaded files in the worker, so that a file that crashes its reader does not end the server."""
        name = next(iter(drop.files.values())).name
        try:
            found = await self.worker.run(task, *arguments, job=job, limits=reading_limits(drop.size))
        except WorkerBroke as error:
            how = str(error).partition(";")[0]
            raise TaskError(f"{name}: cannot be read, it may be damaged ({how}); export it again") from error
        if not isinstance(found, dict):
            raise TaskError(f"{name}: cannot be read, its reader returned no result; export it again")
        return found

    def fit(self, item: Item, options: SkinOptions) -> PageJob:
        """Skin the source of an item; the result becomes another item."""
        source = _source_of(item)
        item_id = self.collection.new_id()
        pack, model = self.collection.pack_of(item_id), self.collection.folder / f"{item_id}.npz"

        async def work(job: PageJob) -> dict[str, Any]:
            with _removed_on_error(pack, model):
                found = await self.worker.run(tasks.fit_source, source, options, str(pack), str(model), job=job)
            label = str(found["name"])
            peers = Peers(item.peers.group if item.peers else item.id, label=label.partition(": ")[2])
            self.collection.add(Item(item_id, label, "model", pack, source, model, peers=peers))
            return {"done": item_id, "error_percent": found["error_percent"]}

        return self._start(work)

    def edit(self, item: Item, strokes: dict[str, Any]) -> PageJob:
        """Store strokes of the page in the rest pose of a model; the result becomes another item."""
        from osteon.apply.edit.strokes import strokes_from_json

        file = _model_file_of(item)
        edit = strokes_from_json(strokes)
        item_id = self.collection.new_id()
        pack, model = self.collection.pack_of(item_id), self.collection.folder / f"{item_id}.npz"

        async def work(job: PageJob) -> dict[str, Any]:
            with _removed_on_error(pack, model):
                await self.worker.run(tasks.edit_model, file, edit, str(pack), str(model), job=job)
            name = f"{item.name.partition(':')[0]}: edited"
            self.collection.add(Item(item_id, name, "model", pack, (), model))
            return {"done": item_id}

        return self._start(work)

    def refit(self, item: Item, tree: str, options: RigOptions) -> PageJob:
        """Fit an edited tree to the source of a model; the result becomes another model of that source."""
        source, before = _source_of(item), _model_file_of(item)
        item_id = self.collection.new_id()
        pack, model = self.collection.pack_of(item_id), self.collection.folder / f"{item_id}.npz"
        file = self.collection.folder / f"{item_id}.tree.json"

        async def work(job: PageJob) -> dict[str, Any]:
            self.refits += 1
            label = f"refit {self.refits}"
            try:
                with _removed_on_error(pack, model):
                    await asyncio.to_thread(file.write_text, tree, "utf-8")
                    files = tasks.RefitFiles(str(file), before, str(pack), str(model))
                    found = await self.worker.run(tasks.refit_tree, source, files, options, job=job)
            except OsteonError as error:
                raise TaskError(str(error).replace(str(file), "the edited tree")) from error
            finally:
                file.unlink(missing_ok=True)
            peers = Peers(item.peers.group if item.peers else item.id, label=label, about=str(found["about"]))
            self.collection.add(Item(item_id, f"{found['name']}: {label}", "model", pack, source, model, peers=peers))
            return {"done": item_id, **{key: found[key] for key in ("error_percent", "before_percent")}}

        return self._start(work)

    def source_names(self) -> dict[str, str]:
        """The sources of items as a command line names them, where each is one name."""
        shown = self.collection.shown
        return {item.id: self._known_as(item.sequence[0]) for item in shown if len(item.sequence) == 1}

    def find_clusters(self, item: Item) -> PageJob:
        """Find the near-rigid triangles of the source of an item."""
        source, out = _source_of(item), self.clusters_of(item)

        async def work(job: PageJob) -> dict[str, Any]:
            if not out.is_file():
                with _removed_on_error(out):
                    await self.worker.run(tasks.cluster_source, source, str(out), job=job)
            return {"done": item.id}

        return self._start(work)

    def clusters_of(self, item: Item) -> Path:
        return self.collection.folder / f"{item.id}.clusters"

    async def save(self, item: Item, suffix: str, job: PageJob) -> Path:
        """A file of the model that a fit made."""
        if item.model is None:
            raise OptionError(f"'{item.name}' was not fitted here; use its own file")
        self._check_free()
        out = self.collection.folder / f"{item.id}-saved{suffix}"
        if not out.is_file():
            with _removed_on_error(out):
                await self.worker.run(tasks.save_as, str(item.model), str(out), job=job)
        return out

    def start_posing(self, item: Item) -> PageJob:
        """Prepare the mesh of an item for posing; the job ends with its skeleton and a command for it."""
        files = self.pose_files(item)

        async def work(job: PageJob) -> dict[str, Any]:
            about = await self.worker.run(posing.start_posing, files, job=job)
            skeleton = files.skeleton if about["skeleton"] else None
            about["note"] = self.uploads.hide_folders(about["note"])
            about["command"] = {"mesh": self._known_as(item.inputs[0]) if item.inputs else "MESH"}
            about["command"]["skeleton"] = None if skeleton is None else self._known_as(skeleton)
            return {"done": item.id, "about": about}

        return self._start(work)

    async def give_skeleton(self, item: Item, drop: Dropped, job: PageJob) -> None:
        """Pose an item with an uploaded skeleton from now on."""
        self._check_free()
        (file,) = drop.files.values()
        await self._read(drop, job, posing.check_skeleton, PoseFiles(str(item.pack), str(file)))
        self.skeletons[item.id] = str(file)

    async def pose(self, item: Item, task: posing.PoseTask, request: PoseRequest) -> bytes:
        """The file that a posing task writes."""
        self._check_free()
        out = self.collection.folder / f"{item.id}-{secrets.token_hex(6)}.pose"
        try:
            await self.worker.run(task, self.pose_files(item), request, str(out))
            return await asyncio.to_thread(out.read_bytes)
        finally:
            out.unlink(missing_ok=True)

    def pose_files(self, item: Item) -> PoseFiles:
        """The files to pose an item with: an uploaded skeleton, the named one, or the one in its file."""
        named = self.skeletons.get(item.id, item.skeleton)
        if named is not None:
            return PoseFiles(str(item.pack), named)
        file = item.inputs[0] if len(item.inputs) == 1 else ""
        if Path(file).suffix.lower() not in set(SKELETON_SUFFIXES) - {".json"}:
            return PoseFiles(str(item.pack))
        return PoseFiles(str(item.pack), file, implied=True, own=item.kind == "model")

    def _known_as(self, file: str) -> str:
        """The name of a file for people; uploaded files without their folder."""
        return Path(file).name if Path(file).is_relative_to(self.uploads.folder) else file

    def _start(self, work: Work) -> PageJob:
        """Run `work` as a job; what it returns is the job's last message."""
        self._check_free()
        job = self.running = PageJob(f"j{len(self.jobs) + 1}")
        self.jobs[job.id] = job
        self._in_background(self._carry_out(job, work))
        self._in_background(self._cancel_if_alone(job, FIRST_FOLLOWER))
        return job

    async def _carry_out(self, job: PageJob, work: Work) -> None:
        try:
            last = await work(job)
        except OsteonError as error:
            last = {"cancelled": True} if job.cancelled else {"error": self.uploads.hide_folders(str(error))}
        except (LookupError, TypeError, ValueError):  # the worker returned something unexpected
            last = {"error": "the worker returned an invalid result; try again"}
        self.running = None
        job.add(last)

    async def follow(self, job: PageJob) -> AsyncGenerator[dict[str, Any], None]:
        """The messages of a job, which is cancelled when no page follows it any more: a closed page may not do so."""
        job.followers += 1
        try:
            async for message in job.follow():
                yield message
        finally:
            job.followers -= 1
            if not self.closing.is_set():
                self._in_background(self._cancel_if_alone(job, self.patience))

    async def _cancel_if_alone(self, job: PageJob, patience: float) -> None:
        if not job.ended and not job.followers:
            await asyncio.sleep(patience)
            if not job.followers:
                self.cancel(job)

    def cancel(self, job: PageJob) -> None:
        """Stop a job at once."""
        if not job.ended:
            job.cancelled = True
            self.worker.stop(job)

    async def tab(self) -> AsyncGenerator[dict[str, Any], None]:
        """Counts as an open tab while the stream is read; it has no messages until the server closes."""
        self.tabs += 1
        self.visited.set()
        try:
            await self.closing.wait()
        finally:
            self.tabs -= 1
            if not self.tabs and not self.closing.is_set():
                self._in_background(self._end_if_idle())
        yield {"closing": True}

    async def _end_if_idle(self) -> None:
        await asyncio.sleep(self.patience)
        if not self.tabs:
            self.end_worker()
            self.on_idle()

    def end_worker(self) -> None:
        """End the worker and its task."""
        if self.running is not None:
            self.running.cancelled = True
        self.worker.stop()

    def close(self) -> None:
        """End all streams and the worker."""
        self.closing.set()
        self.end_worker()
        for task in self.background:
            task.cancel()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.background.add(task)  # the event loop keeps only a weak reference
        task.add_done_callback(self.background.discard)


@contextmanager
def _removed_on_error(*files: Path) -> Iterator[None]:
    """Remove files that the worker had started to write when it ended."""
    try:
        yield
    except BaseException:
        for file in files:
            file.unlink(missing_ok=True)
        raise


def _model_file_of(item: Item) -> str:
    """The file of a model: that of a fit, or the one that it was opened from."""
    if item.model is not None:
        return str(item.model)
    if item.kind != "model" or len(item.inputs) != 1:
        raise OptionError(f"'{item.name}' was not opened from a file of a model; save the strokes and use osteon edit")
    return item.inputs[0]


def _source_of(item: Item) -> tuple[str, ...]:
    if not item.sequence:
        raise OptionError(f"'{item.name}' has no source to work on; open the sequence it was made from")
    return item.sequence
