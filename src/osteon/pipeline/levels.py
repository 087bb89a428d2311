"""Levels of a skinned, animated model: bones and blends searched, meshes simplified, levels chosen and measured.

A level has one tolerance, an RMS distance, and perhaps a size on the screen. The request sets it: an error or a size
directly, bones or triangles by the error that they cause. Everything else is then as coarse as it allows:

    requested              mesh at most      bones and blends at most         at that size
    error e                e / 2             sqrt(e^2 - mesh^2)
    size p                 1 / 2p            sqrt(1 / p^2 - mesh^2)           looks like the model
    bones, of RMS e        e                 these bones, blends of RMS e
    triangles, of RMS e    these triangles   e

A level is what its file shows. So it is baked, with one order of bones for all clips and a rest pose of its own, and
bones, blends and triangles are added until the baked level keeps the tolerance in every clip, and until its textured
pictures are those of the model at its size (`level_pictures`). Neither sees a finger that stays behind, so no vertex
may be farther than FARTHEST pixels at that size: the worst of bones and blends in all frames, plus the worst of the
mesh. The figures of a level are measured on the file, written and read back. No level has more of anything than the one
before it.

Meshes are candidates in steps of a twelfth of their triangles. The coarsest that serves is found by bisection, and only
those that are tried are made, without being fitted, which is quick; chosen ones are fitted if their error is a
noticeable part of the tolerance.

Notes. Soldier, 11,376 triangles, one thread: a level that is fitted takes 3 to 6 s, one that is not 0.3 s. Levels that
were chosen by the errors of the orders of single clips missed their tolerance when they were baked: 2.3 to 2.9 times on
CesiumMan, Fox and Soldier. Among about 20 pairs of bones and blends of falling error the cheapest that holds is found
by bisection (`cheapest_pair`).

Bones by visible area, Soldier, three blends, 95th percentile of FLIP at 100 pixels of 28, 24, 20 and 16 bones: in the
order of squared errors of vertices .065, .070, .077, .201; of areas .035, .040, .067, .097. With the errors of
vertices the search ended at 34 bones, with areas at 20, but then vertices of hands were off by 8.6, 4.8 and 3.6 pixels
at 400, 200 and 100. So vertices count by the square root of their area (`skin_motion`), pairs are those of falling
error so weighed, and the farthest vertex has a bound: 41, 32 and 25 bones instead of 29, 23 and 20, with vertices off
by 2.3, 2.6 and 2.3 pixels.
Meshes in steps of a twelfth instead of a third: CesiumMan 1,964, 1,800 and 1,514 triangles instead of 2,336, 2,336 and
1,652.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.options import check_used, drop_unused, takes_options
from osteon.core.progress import Progress, Stopwatch, report_progress
from osteon.io import SaveOptions, save_model
from osteon.io.save.atomic import scratch_folder
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.mesh.simplify import MeshLevel, MeshLevels, SimplifyOptions, simplify_model
from osteon.lod.model_levels import CoarseMesh, Level, ModelLevels, with_slots
from osteon.lod.options import FARTHEST, LodOptions
from osteon.lod.search.fit_blends import fit_blends
from osteon.lod.search.level_errors import SkinErrors, skin_errors
from osteon.lod.search.skin_motion import read_skin_motion
from osteon.measure.shading import stock_shown
from osteon.pipeline.cheapest_pair import cheapest_pair
from osteon.pipeline.level_measures import MeshError, measure_models, measure_shown, shown_by_players
from osteon.pipeline.level_pictures import MOST, LevelPictures

#: Candidate meshes: fraction of the previous one's triangles, number of meshes, and least number of triangles to go on.
STEP, STEPS, FEWEST = 2**-0.125, 56, 32
#: Poses in which a candidate mesh is measured.
MEASURED = 12
#: Part of a tolerance that a mesh may use: an error of the outline is more visible than one of the motion.
MESH_PART = 0.5
#: Parts of the largest distance of a vertex: what a mesh alone may use, and what is used while levels are searched, as
#: files are measured in more frames.
FARTHEST_MESH, FARTHEST_SEARCHED = 0.6, 0.92
#: Part of the difference between pictures that a mesh alone may make.
MESH_LOOK = 0.85 * MOST
#: A mesh is fitted to the model if its error is more than this part of the tolerance.
WORTH_FITTING = 0.15
#: Bones and blends are searched among pairs whose errors fall by this factor, of which there are so many.
SKIN_STEP, SKIN_STEPS = 0.8, 24
#: Frames in which the rest pose of a level is fitted while levels are searched.
SEARCHED_FRAMES = 32
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
    by_area = options.by == "pixels"
    found = fit_progressive(model, form=options.form, by_area=by_area, progress=progress)
    watch.seconds |= {report.stage: report.seconds for report in found.reports}
    model = SkinnedModel(with_slots(model.character, found.skin.blends.skin), model.animation)
    with watch.stage("errors"):
        errors = skin_errors(model, found.skin, by_area=by_area)
    with watch.stage("meshes"):
        meshes = MeshLadder.of(model, options, progress)
    with watch.stage("choice"):
        choice = LevelChoice(ModelLevels(model, found.skin, ()), options, errors, meshes, LevelPictures.of(model))
        chosen = choice.all(progress)
    with watch.stage("measure"):
        used = sorted({level.mesh for level in chosen} - {0})
        fits = tuple(meshes.fitted(number) for number in used)
        numbered = tuple(_numbered(level, used) for level in chosen)
        levels = ModelLevels(model, found.skin, numbered, tuple(fit.coarse for fit in fits))
        levels = _measured(levels, tuple(fit.mesh for fit in fits), choice, progress)
    reached = all(fit.mesh.reached for fit in fits)
    notes = _notes(levels, tuple(fit.mesh for fit in fits), reached, moving)
    offered = tuple(MeshOffer.of(each) for each in meshes.tried)
    return LevelsFit(levels, errors, tuple(fit.mesh for fit in fits), offered, reached, notes, watch.seconds, options)


@dataclass(frozen=True, slots=True)
class MeshOffer:
    """A candidate mesh of a level."""

    triangles: int
    rms: float  # in units of the model

    @staticmethod
    def of(level: MeshLevel) -> MeshOffer:
        return MeshOffer(level.n_triangles, level.error.rms)


@dataclass(frozen=True, slots=True)
class FittedMesh:
    """A mesh of the levels, fitted to the model."""

    mesh: MeshLevel
    coarse: CoarseMesh


@dataclass(frozen=True, slots=True)
class MeshLadder:
    """Simplified meshes from fine to coarse, numbered from 1; 0 is the model's own mesh. They are made when needed."""

    model: SkinnedModel
    counts: tuple[int, ...]  # of triangles, at most
    source: MeshLevels | None  # of which they are levels; None if there are no counts
    whole: bool  # whether they are fitted from the start, as the requested numbers of triangles are
    _rough: dict[int, MeshLevel] = field(default_factory=dict)
    _fitted: dict[int, FittedMesh] = field(default_factory=dict)

    @staticmethod
    def of(model: SkinnedModel, options: LodOptions, progress: Progress | None) -> MeshLadder:
        """The requested meshes, or candidates; none if the mesh is kept."""
        whole, requested = len(model.faces), options.by == "triangles"
        sizes = options.counts(whole) if requested else [round(whole * STEP**i) for i in range(1, STEPS + 1)]
        counts = [count for count in dict.fromkeys(sizes) if (1 if requested else FEWEST) <= count < whole]
        if options.keep_mesh or not counts:
            return MeshLadder(model, (), None, requested)
        rough = SimplifyOptions(threads=options.threads)
        rough = rough if requested else replace(rough, fit=False, measured=MEASURED)
        found = simplify_model(model, triangles=counts if requested else counts[-1:], options=rough, progress=progress)
        if requested:
            return MeshLadder(model, tuple(counts), found, True, dict(enumerate(found.levels, 1)))
        least = found.levels[0].n_triangles
        counts = [count for count in counts if count > least]
        return MeshLadder(model, (*counts, least), found, False, {len(counts) + 1: found.levels[0]})

    @property
    def tried(self) -> tuple[MeshLevel, ...]:
        """All meshes that were made, before they were fitted, from fine to coarse."""
        return tuple(self._rough[number] for number in sorted(self._rough))

    def rough(self, number: int) -> MeshLevel:
        """A mesh before it is fitted."""
        if number not in self._rough:
            assert self.source is not None  # there are counts
            self._rough[number] = self.source.level(self.counts[number - 1], fit=False, measured=MEASURED)
        return self._rough[number]

    def rms(self, number: int) -> float:
        """The error of a mesh as a part of the body's size; once it is fitted, of the fitted one."""
        known = self._fitted.get(number)
        mesh = known.mesh if known else self.rough(number) if number else None
        return 0.0 if mesh is None else mesh.error.rms / (self.model.diagonal or 1.0)

    def worst(self, number: int) -> float:
        """The largest distance of a mesh, likewise."""
        known = self._fitted.get(number)
        mesh = known.mesh if known else self.rough(number) if number else None
        return 0.0 if mesh is None else mesh.error.worst.distance / (self.model.diagonal or 1.0)

    def triangles(self, number: int) -> int:
        return self.rough(number).n_triangles if number else len(self.model.faces)

    def fitted(self, number: int, tolerance: float = 0.0) -> FittedMesh:
        """A mesh of the ladder, fitted when it is first needed, if that makes a difference within a tolerance."""
        if number not in self._fitted:
            mesh = self.rough(number)
            if self.source is not None and not self.whole and self.rms(number) > WORTH_FITTING * tolerance:
                mesh = self.source.level(mesh.n_triangles, fit=True, measured=SimplifyOptions().measured)
            blends = fit_blends(read_skin_motion(mesh.model), mesh.model.skin)
            coarse = CoarseMesh(with_slots(mesh.model.character, blends.skin), blends)
            self._fitted[number] = FittedMesh(mesh, coarse)
        return self._fitted[number]


def _numbered(level: Level, used: Sequence[int]) -> Level:
    """The level with its mesh numbered among those that are used."""
    return replace(level, mesh=used.index(level.mesh) + 1) if level.mesh else level


@dataclass(frozen=True, slots=True)
class LevelChoice:
    """The choice of bones, blends and meshes for the levels."""

    levels: ModelLevels  # the model and its orders, without levels
    options: LodOptions
    errors: SkinErrors
    meshes: MeshLadder
    pictures: LevelPictures

    @property
    def model(self) -> SkinnedModel:
        return self.levels.model

    def all(self, progress: Progress | None) -> list[Level]:
        """From the model itself to the coarsest; mesh numbers are those of the ladder."""
        found = [Level(self.errors.n_bones, self.errors.n_blends, 0, len(self.model.faces))]
        by = self.options.by
        requested = {"bones": self._by_bones, "triangles": self._by_triangles}.get(by, self._by_tolerance)
        for number in range(self.options.n_coarser):
            report_progress(progress, "choice", number / self.options.n_coarser)
            found.append(requested(number, found[-1]))
        report_progress(progress, "choice", 1.0)
        return found

    def _level(self, bones: int, blends: int, mesh: int) -> Level:
        return Level(bones, blends, mesh, self.meshes.triangles(mesh))

    def _mesh_within(self, tolerance: float, before: Level, pixels: float = 0.0) -> int:
        """The coarsest mesh within a tolerance that looks like the model at a size, no finer than the one before."""
        low, high = before.mesh, len(self.meshes.counts)
        while low < high:  # `low` serves, all after `high` do not
            middle = (low + high + 1) // 2
            serves = self.meshes.rms(middle) <= tolerance
            if serves and pixels:
                serves = self.meshes.worst(middle) * pixels <= FARTHEST_MESH * FARTHEST
            if serves and pixels:
                serves = self.pictures.alike(self.meshes.rough(middle).model, pixels, MESH_LOOK)
            low, high = (middle, high) if serves else (low, middle - 1)
        return low

    def _by_tolerance(self, number: int, before: Level) -> Level:
        """The level of an error or a size: coarser meshes first, as they save most."""
        tolerance = self.options.tolerances()[number]
        pixels = 1 / tolerance if self.options.by == "pixels" else 0.0
        mesh, back = self._mesh_within(MESH_PART * tolerance, before, pixels), 1
        while True:
            found = self._skin_for(mesh, tolerance, before, pixels)
            if found is not None or mesh <= before.mesh:
                return self._level(*(found or (before.bones, before.blends)), mesh)
            mesh, back = max(before.mesh, mesh - back), 2 * back

    def _skin_for(self, mesh: int, tolerance: float, before: Level, pixels: float) -> tuple[int, int] | None:
        """The cheapest bones and blends with which the baked level holds; None if none do."""
        most = (before.bones, before.blends)
        blends = self.meshes.fitted(mesh, tolerance).coarse.blends.n_blends if mesh else most[1]
        most = (most[0], min(most[1], blends))
        if self.meshes.worst(mesh) * pixels > FARTHEST_SEARCHED * FARTHEST:
            return None
        if not self.moving:
            return most if self._holds(most, mesh, tolerance, pixels) else None
        left = np.sqrt(max(0.0, tolerance**2 - self.meshes.rms(mesh) ** 2))
        pairs = [self.errors.cheapest(float(left * SKIN_STEP**i), most) for i in range(SKIN_STEPS)]
        return cheapest_pair(
            list(dict.fromkeys([*pairs, most])),
            lambda pair: self._near(self.baked(*pair, mesh), mesh, tolerance, pixels),
            lambda pair: self._holds(pair, mesh, tolerance, pixels),
        )

    @property
    def moving(self) -> bool:
        return self.model.n_frames > 1

    def baked(self, bones: int, blends: int, mesh: int) -> SkinnedModel:
        """A level as a model of its own, its rest pose fitted in fewer frames; mesh numbers are those of the ladder."""
        return self.levels.baked_on(self._coarse(mesh), bones, blends, SEARCHED_FRAMES)

    def _coarse(self, mesh: int) -> CoarseMesh | None:
        return self.meshes.fitted(mesh).coarse if mesh else None

    def _near(self, baked: SkinnedModel, mesh: int, tolerance: float, pixels: float) -> bool:
        """Whether the RMS of a baked level, and at a size on the screen every vertex of it, is near enough."""
        whole, size = self.levels.model_on(self._coarse(mesh)), self.model.diagonal or 1.0
        skin = measure_models(whole, baked, threads=self.options.threads)
        if np.hypot(skin.rms / size, self.meshes.rms(mesh)) > tolerance:
            return False
        return (skin.worst / size + self.meshes.worst(mesh)) * pixels <= FARTHEST_SEARCHED * FARTHEST

    def _holds(self, pair: tuple[int, int], mesh: int, tolerance: float, pixels: float) -> bool:
        """Whether a baked level keeps its tolerance, and looks like the model at its size."""
        baked = self.baked(*pair, mesh)
        return self._near(baked, mesh, tolerance, pixels) and (not pixels or self.pictures.alike(baked, pixels))

    def _by_bones(self, number: int, before: Level) -> Level:
        bones = self.options.counts(self.errors.n_bones)[number]
        if bones > self.errors.n_bones:
            raise OptionError(f"bones: asked for {bones}, but the model uses {self.errors.n_bones}")
        tolerance = float(self.errors.by_one_order[bones, -1])
        blends = min(before.blends, self.errors.fewest_blends(tolerance))
        return self._level(bones, blends, self._mesh_within(tolerance, before))

    def _by_triangles(self, number: int, before: Level) -> Level:
        count, whole = self.options.counts(len(self.model.faces))[number], len(self.model.faces)
        if count >= whole:
            return before
        requested = [c for c in self.options.counts(whole) if c < whole]
        mesh = requested.index(count) + 1
        if before.triangles == self.meshes.triangles(mesh):
            return before
        tolerance = float(np.sqrt(2)) * self.meshes.rms(mesh)
        found = self._skin_for(mesh, tolerance, before, 0.0)
        return self._level(*(found or (before.bones, before.blends)), mesh)


def _measured(
    levels: ModelLevels, meshes: Sequence[MeshLevel], choice: LevelChoice, progress: Progress | None
) -> ModelLevels:
    """The levels with the figures of their files."""
    found: list[Level] = []
    for number, level in enumerate(levels.levels):
        report_progress(progress, "measure", number / len(levels.levels))
        if number == 0 or _equal(level, levels.levels[0]):
            found.append(level)
            continue
        if not _equal(level, levels.levels[number - 1]):
            shown = shown_by_players(levels.baked(level))
            mesh = MeshError.of(meshes[level.mesh - 1].error) if level.mesh else None
            measured = _with_errors(levels, level, shown, mesh, choice.options.threads)
        pixels = 1 / choice.options.tolerances()[number - 1] if choice.options.by == "pixels" else 0.0
        if not pixels and measured.pixels:
            pixels = choice.pictures.largest_size(shown, measured.pixels)
        found.append(replace(measured, pixels=min(pixels, measured.pixels)))
    report_progress(progress, "measure", 1.0)
    return replace(levels, levels=tuple(found))


def _with_errors(levels: ModelLevels, level: Level, shown: SkinnedModel, mesh: MeshError | None, threads: int) -> Level:
    """The level with the distances of its file from the model."""
    size, model = levels.model.diagonal or 1.0, stock_shown(levels.model)
    found = measure_shown(model, stock_shown(levels.mesh_model(level.mesh)), shown, mesh, threads=threads)
    near = max(found.rms, found.worst / FARTHEST)  # a pixel at the largest size that the distances allow
    return replace(
        level,
        error_percent=found.error_percent,
        rms_percent=100 * found.rms / size,
        worst_percent=100 * found.worst / size,
        pixels=size / near if near > 0 else 0.0,
        mesh_rms_percent=0.0 if mesh is None else 100 * mesh.rms / size,
        mesh_worst_percent=0.0 if mesh is None else 100 * mesh.worst / size,
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
    baked, mesh = levels.baked(level), None
    if level.mesh:
        size = levels.model.diagonal
        mesh = MeshError(level.mesh_rms_percent / 100 * size, level.mesh_worst_percent / 100 * size)
    known = _with_errors(levels, level, shown_by_players(baked), mesh, found.options.threads)
    return BakedLevel(known, baked, known.error_percent, known.rms_percent, known.worst_percent)


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
