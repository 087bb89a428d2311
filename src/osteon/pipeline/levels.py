"""Levels of a skinned, animated model: bones and blends searched, meshes simplified, levels chosen and measured.

A level has one tolerance, an RMS distance. The request sets it: an error or a size on the screen directly,
bones or triangles by the error that they cause. Everything else is then as coarse as it allows:

    requested              mesh at most      bones and blends at most
    error e, size 1 / e    e / 2             sqrt(e^2 - mesh^2)
    bones, of RMS e        e                 these bones, blends of RMS e alone
    triangles, of RMS e    these triangles   e

Unless triangles are requested, meshes are simplified in steps of a third without being fitted, which is quick; chosen
ones are simplified again and fitted. No level has more of anything than the one before it.

Notes. Soldier, 11,376 triangles, one thread: a level that is fitted takes 3 to 6 s, one that is not 0.3 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.options import check_used, drop_unused, takes_options
from osteon.core.progress import Progress, Stopwatch, report_progress
from osteon.io import SaveOptions, save_model
from osteon.io.save.atomic import scratch_folder
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.mesh.simplify import MeshLevel, SimplifyOptions, simplify_model
from osteon.lod.model_levels import CoarseMesh, Level, ModelLevels, with_slots
from osteon.lod.options import LodOptions
from osteon.lod.search.fit_blends import fit_blends
from osteon.lod.search.level_errors import SkinErrors, skin_errors
from osteon.lod.search.skin_motion import read_skin_motion
from osteon.pipeline.level_measures import SkinMeasure, measure_level_skin, measure_models

#: Candidate meshes: fraction of the previous one's triangles, number of meshes, and least number of triangles to go on.
STEP, STEPS, FEWEST = 2**-0.5, 14, 32
#: Poses in which a candidate mesh is measured.
MEASURED = 12
#: Part of a tolerance that a mesh may use: an error of the outline is more visible than one of the motion.
MESH_PART = 0.5
DEFAULT_OPTIONS = LodOptions()


@dataclass(frozen=True, slots=True, repr=False)
class LevelsFit:
    """A model with its levels and their errors."""

    levels: ModelLevels
    errors: SkinErrors
    meshes: tuple[MeshLevel, ...]  # the coarse ones of the levels
    offered: tuple[MeshOffer, ...]  # of which they were chosen
    reached: bool  # whether every level has as few triangles as was requested
    notes: tuple[str, ...]
    seconds: dict[str, float]
    options: LodOptions

    def __repr__(self) -> str:
        reached = "all bounds reached" if self.reached else "some bounds not reached"
        return f"LevelsFit('{self.levels.model.name}': {len(self.meshes)} coarse meshes, {reached})"


@takes_options(LodOptions)
def fit_levels(
    model: SkinnedModel, *, options: LodOptions = DEFAULT_OPTIONS, progress: Progress | None = None
) -> LevelsFit:
    """All levels of a model; the returned model has its slots sorted and is otherwise unchanged."""
    watch, moving = Stopwatch(), model.n_frames > 1
    check_used(options, listed=options.is_list, moving=moving)
    if not len(model.faces):
        raise GeometryError(f"'{model.name}' has no triangles, so it cannot be shown")
    found = fit_progressive(model, form=options.form, progress=progress)
    watch.seconds |= {report.stage: report.seconds for report in found.reports}
    model = SkinnedModel(with_slots(model.character, found.skin.blends.skin), model.animation)
    with watch.stage("errors"):
        errors = skin_errors(model, found.skin)
    with watch.stage("meshes"):
        requested = _requested_meshes(model, options, progress)
        offered = tuple(map(MeshOffer.of, requested)) if requested else _candidate_meshes(model, options, progress)
        chosen = _Choice(model, options, errors, offered, moving).all()
        used = sorted({level.mesh for level in chosen} - {0})
        meshes = (
            tuple(requested[n - 1] for n in used)
            if requested
            else _fitted(model, [offered[n - 1] for n in used], options)
        )
    with watch.stage("blends of meshes"):
        coarse = tuple(map(_coarse, meshes))
    with watch.stage("measure"):
        levels = ModelLevels(model, found.skin, tuple(_numbered(level, used, meshes) for level in chosen), coarse)
        levels = _measured(levels, meshes, options, progress)
    reached = all(mesh.reached for mesh in requested)
    notes = _notes(levels, meshes, reached, moving)
    return LevelsFit(levels, errors, meshes, offered, reached, notes, watch.seconds, options)


@dataclass(frozen=True, slots=True)
class MeshOffer:
    """A candidate mesh of a level."""

    triangles: int
    rms: float  # in units of the model

    @staticmethod
    def of(level: MeshLevel) -> MeshOffer:
        return MeshOffer(level.n_triangles, level.error.rms)


def _requested_meshes(model: SkinnedModel, options: LodOptions, progress: Progress | None) -> tuple[MeshLevel, ...]:
    """Meshes with the requested numbers of triangles; none if no numbers are requested."""
    whole = len(model.faces)
    counts = [count for count in options.counts(whole) if count < whole] if options.by == "triangles" else []
    if not counts:
        return ()
    fit = SimplifyOptions(threads=options.threads)
    return simplify_model(model, triangles=counts, options=fit, progress=progress).levels


def _candidate_meshes(model: SkinnedModel, options: LodOptions, progress: Progress | None) -> tuple[MeshOffer, ...]:
    """Candidate meshes from fine to coarse, not fitted; none if the mesh is kept."""
    whole = len(model.faces)
    sizes = [round(whole * STEP**i) for i in range(1, STEPS + 1)]
    counts = [count for count in sizes if FEWEST <= count < whole]
    if options.keep_mesh or options.by == "triangles" or not counts:
        return ()
    rough = SimplifyOptions(fit=False, measured=MEASURED, threads=options.threads)
    found = map(MeshOffer.of, simplify_model(model, triangles=counts, options=rough, progress=progress).levels)
    by_count = {offer.triangles: offer for offer in found if offer.triangles < whole}
    return tuple(by_count[count] for count in sorted(by_count, reverse=True))


def _fitted(model: SkinnedModel, chosen: Sequence[MeshOffer], options: LodOptions) -> tuple[MeshLevel, ...]:
    """The meshes that were chosen, fitted to the source."""
    if not chosen:
        return ()
    counts, fit = [offer.triangles for offer in chosen], SimplifyOptions(threads=options.threads)
    return simplify_model(model, triangles=counts, options=fit).levels


def _numbered(level: Level, used: Sequence[int], meshes: Sequence[MeshLevel]) -> Level:
    """The level with its mesh numbered among those that are used."""
    if not level.mesh:
        return level
    number = used.index(level.mesh)
    return replace(level, mesh=number + 1, triangles=meshes[number].n_triangles)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The choice of bones, blends and meshes for the levels."""

    model: SkinnedModel
    options: LodOptions
    errors: SkinErrors
    offered: Sequence[MeshOffer]
    moving: bool

    def all(self) -> list[Level]:
        """From the model itself to the coarsest; mesh numbers are those of the candidates."""
        levels = [Level(self.errors.n_bones, self.errors.n_blends, 0, len(self.model.faces))]
        requested = {"bones": self._by_bones, "triangles": self._by_triangles}.get(self.options.by, self._by_error)
        for number in range(self.options.n_coarser):
            levels.append(requested(number, levels[-1]))
        return levels

    def _mesh_rms(self, mesh: int) -> float:
        return 0.0 if mesh == 0 else self.offered[mesh - 1].rms / (self.model.diagonal or 1.0)

    def _mesh_within(self, tolerance: float, before: Level) -> int:
        """The coarsest mesh within a tolerance, no finer than the one before."""
        within = [m for m in range(1, len(self.offered) + 1) if self._mesh_rms(m) <= tolerance]
        return max([before.mesh, *within])

    def _level(self, bones: int, blends: int, mesh: int) -> Level:
        triangles = len(self.model.faces) if mesh == 0 else self.offered[mesh - 1].triangles
        return Level(bones, blends, mesh, triangles)

    def _skin_within(self, tolerance: float, before: Level) -> tuple[int, int]:
        most = (before.bones, before.blends)
        return self.errors.cheapest(tolerance, most) if self.moving else most

    def _by_error(self, number: int, before: Level) -> Level:
        tolerance = self.options.tolerances()[number]
        mesh = self._mesh_within(MESH_PART * tolerance, before)
        left = np.sqrt(max(0.0, tolerance**2 - self._mesh_rms(mesh) ** 2))
        return self._level(*self._skin_within(float(left), before), mesh)

    def _by_bones(self, number: int, before: Level) -> Level:
        bones = self.options.counts(self.errors.n_bones)[number]
        if bones > self.errors.n_bones:
            raise OptionError(f"bones: asked for {bones}, but the model uses {self.errors.n_bones}")
        tolerance = float(self.errors.worst_rms[bones, -1])
        blends = min(before.blends, self.errors.fewest_blends(tolerance))
        return self._level(bones, blends, self._mesh_within(tolerance, before))

    def _by_triangles(self, number: int, before: Level) -> Level:
        count, whole = self.options.counts(len(self.model.faces))[number], len(self.model.faces)
        if count >= whole:
            return before
        requested = [c for c in self.options.counts(whole) if c < whole]
        mesh = requested.index(count) + 1
        if before.triangles == self.offered[mesh - 1].triangles:
            return before
        return self._level(*self._skin_within(self._mesh_rms(mesh), before), mesh)


def _coarse(level: MeshLevel) -> CoarseMesh:
    """A coarser mesh with its slots sorted."""
    blends = fit_blends(read_skin_motion(level.model), level.model.skin)
    return CoarseMesh(with_slots(level.model.character, blends.skin), blends)


def _measured(
    levels: ModelLevels, meshes: Sequence[MeshLevel], options: LodOptions, progress: Progress | None
) -> ModelLevels:
    """The levels with their errors."""
    found: list[Level] = []
    for level in levels.levels:
        report_progress(progress, "measure", len(found) / len(levels.levels))
        if level == levels.levels[0]:
            found.append(level)
            continue
        skin = measure_level_skin(levels, level, threads=options.threads)
        found.append(_with_errors(level, skin, meshes, levels.model.diagonal or 1.0))
    report_progress(progress, "measure", 1.0)
    return replace(levels, levels=tuple(found))


def _with_errors(level: Level, skin: SkinMeasure, meshes: Sequence[MeshLevel], size: float) -> Level:
    """The level with its distances; those of bones and blends and of the mesh add up."""
    mesh = meshes[level.mesh - 1].error if level.mesh else None
    mesh_rms, mesh_worst = (0.0, 0.0) if mesh is None else (mesh.rms / size, mesh.worst.distance / size)
    rms = float(np.hypot(skin.rms / size, mesh_rms))
    return replace(
        level,
        error_percent=skin.error_percent,
        rms_percent=100 * rms,
        worst_percent=100 * (skin.worst / size + mesh_worst),
        pixels=1 / rms if rms > 0 else 0.0,
        mesh_rms_percent=100 * mesh_rms,
        mesh_worst_percent=100 * mesh_worst,
    )


def _notes(levels: ModelLevels, meshes: Sequence[MeshLevel], reached: bool, moving: bool) -> tuple[str, ...]:
    """Notes for the user."""
    notes = []
    if not moving:
        notes.append("the model has one frame, so the effect of its bones is unknown: levels differ in their mesh only")
    for number, (one, other) in enumerate(pairwise(levels.levels), 1):
        if _equal(one, other):
            notes.append(f"level {number} equals the previous one: nothing more can be removed within its error")
    if not reached:
        least = min(mesh.n_triangles for mesh in meshes)
        notes.append(f"borders, seams and shells allow no fewer than {least:,} triangles")
    gone = max((mesh.shells_gone for mesh in meshes), default=0)
    if gone:
        notes.append(f"the coarsest mesh omits {gone} small parts")
    return tuple(notes)


def _equal(one: Level, other: Level) -> bool:
    return (one.bones, one.blends, one.mesh) == (other.bones, other.blends, other.mesh)


# Single levels as separate models: the level of a number, its distance from the source, and the size of its file.


@dataclass(frozen=True, slots=True)
class BakedLevel:
    """A single level as a model, with its errors."""

    level: Level
    model: SkinnedModel
    error_percent: float  # E of bones and blends, in percent of the motion
    rms_percent: float  # root mean square distance in the worst clip, of the body's size; including that of the mesh
    worst_percent: float


def bake_found(found: LevelsFit, level: Level) -> BakedLevel:
    """A single level, measured against the model, with one order of bones for all clips and a shared rest pose."""
    levels = found.levels
    baked, source = levels.baked(level), levels.mesh_model(level.mesh)
    skin, size = measure_models(source, baked), levels.model.diagonal or 1.0
    rms = float(np.hypot(100 * skin.rms / size, level.mesh_rms_percent))
    worst = 100 * skin.worst / size + level.mesh_worst_percent
    return BakedLevel(level, baked, skin.error_percent, rms, worst)


def level_at(found: LevelsFit, share: float) -> Level:
    """The level whose error is a fraction 0 … 1 of the largest one of bones and blends, on the model's own mesh."""
    point = found.errors.curve_of_all().at(share)
    return Level(round(point.bones), round(point.blends), 0, len(found.levels.model.faces))


def stored_fit(levels: ModelLevels, options: LodOptions) -> LevelsFit:
    """Levels that were read from a file, as a result of `fit_levels`."""
    return LevelsFit(levels, skin_errors(levels.model, levels.skin), (), (), True, (), {}, options)


def file_sizes(levels: ModelLevels, options: SaveOptions) -> tuple[int, ...]:
    """Bytes of every level alone, as a .glb."""
    used = drop_unused(options, written=".glb")
    with scratch_folder() as folder:
        path = folder / "level.glb"
        sizes = []
        for level in levels.levels:
            save_model(levels.baked(level), path, options=used)
            sizes.append(path.stat().st_size)
    return tuple(sizes)
