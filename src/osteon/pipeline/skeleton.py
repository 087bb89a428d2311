"""From a mesh sequence to a skeleton that moves it: sections - joints - tree - articulated fit - names - measure.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, section 3.1 and figure 2.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Skeleton
from osteon.core.compile_kernels import compile_kernels
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.options import takes_options
from osteon.core.parallel import single_threaded_blas
from osteon.core.progress import FitReport, Progress, Stopwatch, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.topology import triangle_areas, weld_vertices
from osteon.fit.anatomy import standard_names
from osteon.fit.clustering.cluster import Clustering
from osteon.fit.clustering.core_bones import fit_core_bones
from osteon.fit.kernel_modules import RIG_KERNELS
from osteon.fit.mirror import MirrorPlane, find_mirror_plane
from osteon.fit.naming import mirror_pairs, name_joints, sparse_weights
from osteon.fit.problem import pose_problem
from osteon.fit.skeleton.articulated import ArticulatedOptions, Articulation, LocalWeights, fit_articulated
from osteon.fit.skeleton.joint_tree import (
    JointTree,
    Neighborhood,
    find_tree,
    joint_costs,
    meet_sections,
    mirror_tree,
    orient_joints,
    tree_of_parents,
)
from osteon.fit.skeleton.local_skin import LocalFit, ownership_costs
from osteon.fit.skeleton.pair_joints import measure_pairs
from osteon.fit.skeleton.reference_pose import find_reference_pose
from osteon.fit.skeleton.sections import SectionOptions, Sections, find_sections, first_count
from osteon.fit.skeleton.sides import Sides, find_sides, sides_of_joints
from osteon.fit.skeleton.surface_graph import surface_graph
from osteon.fit.skin.bones import complete_bones, seed_bones
from osteon.fit.skin.influences import Influences
from osteon.io.skeletons.section_tree import SectionJoint, SectionTree
from osteon.measure.closest_point import SurfaceBoxes, closest_points, depth_outside
from osteon.pipeline.options import RigOptions
from osteon.pipeline.presets import cluster_sample
from osteon.pipeline.skin import SkinFit, at_play_size, build_model, check_sequence, measure_fit
from osteon.pipeline.stages import SkinTask, Solution

#: With fewer frames than this joints are ambiguous.
FEW_FRAMES = 4
#: Least number of vertices per bone; with fewer, bones are guesses.
VERTICES_A_BONE = 4
#: Joints farther outside the body than this, of the diagonal, are moved inside, in STEPS_IN steps.
OUTSIDE, STEPS_IN = 0.01, 11
#: Rounds after joints were moved inside.
AGAIN_ROUNDS = 8
#: Vertices of the sample for initial sections.
SAMPLE = 4_000
#: Numbers of seeds of further starts.
SEEDS = (50, 80, 120)
#: Regularisation of weights of the articulated fit towards those of the free sections, of the mean motion.
PULL = 0.003
#: Costs of weights far from their bones in the articulated fit, of those in the search for sections.
LOCAL = 0.01
#: Rounds that sections have after their tree was edited.
EDITED_ROUNDS = 6
#: Joints that rotate by less, in degrees, are hardly determined; so are all by fewer poses that differ by this.
LITTLE_ROTATION, SCARCE_FRAMES, ALIKE = 8.0, 8, 0.01
#: A bone is a guess if no vertex has this weight.
OWN = 0.5
#: Joints that a warning names.
LISTED = 6


@dataclass(frozen=True, slots=True, repr=False)
class RigFit:
    """A skinned character with its recovered skeleton, its quality, and the ends of its bones."""

    fit: SkinFit
    ends: Float64  # (b,3) in the rest pose
    free_error_percent: float  # E of the sections, each with its own motion
    tree: SectionTree  # the joints over their sections, to be saved and edited
    sliding: np.ndarray  # (b,) joints that translate against their parent

    def __repr__(self) -> str:
        roots = sum(parent < 0 for parent in self.skeleton.parents.tolist())
        return f"RigFit({self.fit!r}, {len(self.ends)} joints, {roots} of them roots)"

    @property
    def model(self) -> SkinnedModel:
        return self.fit.model

    @property
    def skeleton(self) -> Skeleton:
        found = self.fit.model.skeleton
        assert found is not None
        return found

    def to_json(self) -> dict[str, Any]:
        """The skeleton in the rest pose: names, parents (-1 at the root), positions, and ends of bones."""
        skeleton = self.skeleton
        return {
            "names": list(skeleton.names),
            "parents": skeleton.parents.tolist(),
            "positions": skeleton.world_from_joint[:, :, 3].tolist(),
            "ends": self.ends.tolist(),
            "sliding": [name for name, slides in zip(skeleton.names, self.sliding.tolist(), strict=True) if slides],
        }


@takes_options(RigOptions)
def rig_sequence(
    sequence: MeshSequence,
    *,
    options: RigOptions | None = None,
    tree: SectionTree | None = None,
    progress: Progress | None = None,
) -> RigFit:
    """Find a skeleton in a sequence, and a skin for it; with an edited `tree`, fit that."""
    options = options or RigOptions()
    if tree is not None:
        _check_tree(tree, sequence, options)
    skinning = SkinOptions(
        bones=options.bones,
        bone_type="rigid",
        influences=options.influences,
        seed=options.seed,
        threads=options.threads,
    )
    compile_kernels(RIG_KERNELS, progress)
    watch, started = Stopwatch(), time.perf_counter()
    n_degenerate = check_sequence(sequence, skinning)
    if options.root is not None and options.root >= sequence.n_vertices:
        raise OptionError(f"root: vertex {options.root} asked for, but there are {sequence.n_vertices}")
    kept = np.arange(sequence.n_frames, dtype=np.int32)
    sequence, scaled = at_play_size(sequence, kept)
    with single_threaded_blas():
        with watch.stage("prepare"):
            vertices, welded = weld_vertices(sequence)
            problem = pose_problem(sequence, vertices)
        task = SkinTask(sequence, problem, vertices, welded, skinning, watch, progress)
        recovery = _Recovery(task, options, tree)
        found = recovery.solve()
        solution = replace(found.solution, warnings=(*scaled, *recovery.warnings()))
        model = build_model(sequence, task, solution)
    watch.seconds["fit"] = time.perf_counter() - started
    fit = measure_fit(sequence, model, solution, task, n_degenerate, kept)
    return RigFit(fit, found.ends, found.free_error_percent, found.tree, found.sliding)


def _check_tree(tree: SectionTree, sequence: MeshSequence, options: RigOptions) -> None:
    """Refuse a tree of another mesh, and options that it decides."""
    if len(tree.bones) != sequence.n_vertices:
        raise OptionError(
            f"--tree: its sections have {len(tree.bones)} vertices, but '{sequence.name}' has {sequence.n_vertices}; "
            "use the sequence that the tree was saved from"
        )
    for name, given in (("--bones", options.bones), ("--root", options.root), ("--symmetric", options.symmetric)):
        if given not in (0, None, False) or (name == "--root" and given is not None):
            raise OptionError(f"{name}: the tree of --tree decides this; omit it, or edit the tree")


@dataclass(frozen=True, slots=True)
class _Recovered:
    """The result of a recovery."""

    solution: Solution
    ends: Float64  # (b,3) in the rest pose
    free_error_percent: float
    tree: SectionTree
    sliding: np.ndarray


class _Recovery:
    """The recovery of the skeleton of one sequence."""

    def __init__(self, task: SkinTask, options: RigOptions, edited: SectionTree | None) -> None:
        self.task, self.options, self.problem, self.edited = task, options, task.problem, edited
        self.points = self.problem.points[:, :3]
        self.diagonal = float(np.linalg.norm(np.ptp(self.points, axis=0)))
        self.mesh = task.sequence.mesh
        rest, faces = self.mesh.rest.astype(np.float64), self.mesh.faces
        corners = np.repeat(triangle_areas(rest, faces) / 3, 3)
        areas = np.bincount(faces.reshape(-1), corners, len(rest)).astype(np.float64)
        normals = vertex_normals(rest, faces)
        self.plane = find_mirror_plane(rest, normals, areas)
        self.areas = np.bincount(task.welded_of_vertex, areas, self.problem.n_vertices).astype(np.float64)
        welded = task.welded_of_vertex[faces]
        self.graph = surface_graph(self.problem, welded)
        plane = None if self.plane is None else self._local(self.plane)
        self.reference = find_reference_pose(self.problem, welded, plane)
        self.n_bones = 0
        self.doubts: tuple[str, ...] = ()
        if options.symmetric and self.plane is None:
            raise GeometryError(
                f"--symmetric: the rest pose of '{task.sequence.name}' is not its own mirror image; choose another "
                "with --rest, or omit --symmetric"
            )

    def solve(self) -> _Recovered:
        """Bones with weights and a skeleton, from a search for sections or from an edited tree."""
        task, problem = self.task, self.problem
        clustering = None
        if self.edited is None:
            clustering = cluster_sample(task)
            with task.watch.stage("sections"):
                sections = self._sections(clustering)
            report_progress(task.progress, "joints", 0.0, problem.error_percent(sections.influences.errors))
            with task.watch.stage("joints"):
                tree, sides = self._tree(sections)
        else:
            with task.watch.stage("sections"):
                sections = self._edited_sections(self.edited)
            with task.watch.stage("joints"):
                tree, sides = self._edited_tree(self.edited, sections)
        free = problem.error_percent(sections.influences.errors)
        transforms, influences = _in_order(sections, tree.order)
        found_sections, joints, rotations = influences, tree.places, transforms[..., :3]
        stages: tuple[FitReport, ...] = () if clustering is None else (clustering.report,)
        if self.options.form == "articulated":
            with task.watch.stage("articulate"):
                joints, rotations, transforms, influences, report = self._articulate(tree, transforms, influences)
            stages = (*stages, report)
        self.n_bones = len(joints)
        weights = influences.dense(self.n_bones)
        placed = orient_joints(joints, tree.parents, rotations, self.points, weights, self.graph)
        skeleton, ends = self._skeleton(
            tree.parents, placed.world_from_joint, placed.ends, influences, sides, transforms
        )
        self.doubts = self._joint_warnings(tree, weights, skeleton.names)
        solution = Solution(
            problem.to_input(transforms),
            influences,
            clustering.near_rigid_fraction if clustering else 1.0,
            clustering.tolerance if clustering else 0.0,
            np.empty(0, np.int32),
            stages,
            bone_type="rigid",
            names=skeleton.names,
            skeleton=skeleton,
        )
        sliding = tree.sliding & (self.options.form == "articulated")
        return _Recovered(solution, ends, free, self._stored(skeleton, found_sections), sliding)

    def _sections(self, clustering: Clustering) -> Sections:
        """Near-rigid sections, from splitting and from the clusters of mean shift."""
        task, problem, options = self.task, self.problem, self.options
        n_first = min(first_count(clustering.n_bones, options.bones), problem.n_vertices)
        coarse = problem.sampled(SAMPLE, options.seed)
        starts = [seed_bones(coarse, n_first, task.threads)]
        if clustering.n_bones:
            core = problem.from_input(fit_core_bones(task.sequence, clustering.labels, "rigid"))
            starts.append(complete_bones(coarse, core, n_first, task.threads))
        counts = SEEDS if not options.bones else SEEDS[:1] if n_first < SEEDS[0] else ()
        few_enough = [count for count in counts if VERTICES_A_BONE * count < coarse.n_vertices]
        starts += [seed_bones(coarse, count, task.threads) for count in few_enough]

        def on_round(fraction: float, error_percent: float) -> None:
            report_progress(task.progress, "sections", 0.1 + 0.8 * fraction, error_percent)

        report_progress(task.progress, "sections", 0.0)
        requested = SectionOptions(options.bones, options.influences, options.seed, task.threads)
        return find_sections(problem, self.graph, starts, options=requested, on_round=on_round)

    def _edited_sections(self, edited: SectionTree) -> Sections:
        """The stored sections after the edits."""
        weights = edited.dense(self.mesh.rest.astype(np.float64))[self.task.vertices]
        fit = LocalFit(self.problem, self.graph, self.options.influences, self.task.threads)
        skin = fit.run(fit.of_weights(weights), EDITED_ROUNDS)
        return Sections(skin.transforms, skin.influences)

    def _tree(self, sections: Sections) -> tuple[JointTree, Sides]:
        """The tree of least cost, and the sides of its joints."""
        weights = sections.influences.dense(sections.transforms.shape[1])
        pairs = measure_pairs(self.points, sections.transforms, weights)
        masses = self.areas @ weights
        centers = weights.T @ (self.areas[:, None] * self.points) / np.maximum(masses, 1e-12)[:, None]
        root = -1
        if self.options.root is not None:
            root = int(weights[self.task.welded_of_vertex[self.options.root]].argmax())
        meeting = meet_sections(self.graph, weights)
        costs = joint_costs(pairs, meeting, self.diagonal)
        sides = self._sides(weights, meeting)
        tree = self._inside(find_tree(pairs, costs, centers, masses, self.diagonal, sides=sides, root=root))
        sides = sides.ordered(tree.order)
        if not self.options.symmetric or self.plane is None:
            return tree, sides
        _, influences = _in_order(sections, tree.order)
        mirrored = self._pairs(influences)
        partner = dict(mirrored) | {right: left for left, right in mirrored}
        symmetric = mirror_tree(tree, partner, self._local(self.plane))
        moved = np.array([int(np.flatnonzero(tree.order == section)[0]) for section in symmetric.order])
        return symmetric, sides.ordered(moved)

    def _edited_tree(self, edited: SectionTree, sections: Sections) -> tuple[JointTree, Sides]:
        """The tree as it was edited: its parents, and its positions where they were moved."""
        weights = sections.influences.dense(sections.transforms.shape[1])
        pairs = measure_pairs(self.points, sections.transforms, weights)
        masses = weights.sum(axis=0)
        centers = weights.T @ self.points / np.maximum(masses, 1e-12)[:, None]
        order = np.arange(len(masses))
        tree = self._inside(tree_of_parents(pairs, order, edited.parents, centers, self.diagonal))
        moved = np.array([joint.moved for joint in edited.joints])
        wanted = self.problem.rest_from_input(np.array([joint.position for joint in edited.joints]))
        tree = replace(
            tree,
            places=np.where(moved[:, None], wanted, tree.places),
            slack=np.where(moved, 0.0, tree.slack),
            sliding=tree.sliding & ~moved,
        )
        return tree, self._sides(weights, meet_sections(self.graph, weights))

    def _sides(self, weights: Float64, meeting: Neighborhood) -> Sides:
        pose = self.reference
        return find_sides(pose.plane, pose.points, self.areas, weights, meeting.spans, self.diagonal)

    def _local(self, plane: MirrorPlane) -> MirrorPlane:
        """The plane in problem units."""
        offset = plane.offset - float(plane.normal @ self.problem.rest_center)
        return MirrorPlane(plane.normal, offset / self.problem.rest_scale)

    def _stored(self, skeleton: Skeleton, influences: Influences) -> SectionTree:
        """The tree and its sections for the input's vertices, to be saved and edited."""
        places = skeleton.world_from_joint[:, :, 3].astype(np.float64)
        joints = tuple(
            SectionJoint(name, int(parent), tuple(place), (j,))
            for j, (name, parent, place) in enumerate(
                zip(skeleton.names, skeleton.parents.tolist(), places.tolist(), strict=True)
            )
        )
        rows = self.task.welded_of_vertex
        return SectionTree(joints, influences.bones[rows], influences.weights[rows], places)

    def _inside(self, tree: JointTree) -> JointTree:
        """The tree with joints outside the body moved inside, towards the boundaries of their sections."""
        faces = self.task.welded_of_vertex[self.mesh.faces]
        surface = SurfaceBoxes.of(self.points, faces)

        def outside(places: Float64) -> np.ndarray:
            distances = closest_points(surface, places).distances
            return np.asarray(depth_outside(places, self.points, faces, distances) > OUTSIDE * self.diagonal)

        places, boundaries = tree.places.copy(), tree.boundaries.copy()
        away = outside(boundaries)
        boundaries[away] = closest_points(surface, boundaries[away]).points
        for part in np.linspace(0, 1, STEPS_IN):
            away = outside(places)
            if not away.any():
                break
            places[away] = tree.places[away] + part * (boundaries[away] - tree.places[away])
        return replace(tree, places=places, boundaries=boundaries)

    def _articulate(
        self, tree: JointTree, transforms: Float64, influences: Influences
    ) -> tuple[Float64, Float64, Float64, Influences, FitReport]:
        """Joints, rotations, transforms, weights and report of the articulated fit."""
        task, options = self.task, self.options
        began = time.perf_counter()
        start = Articulation(
            tree.parents, tree.places, np.ascontiguousarray(transforms[..., :3]), transforms[:, 0, :, 3].copy()
        )
        requested = ArticulatedOptions(influences=options.influences, seed=options.seed, threads=task.threads)

        def on_round(fraction: float, error: float) -> None:
            report_progress(task.progress, "articulate", fraction, error)

        wanted = influences.dense(len(tree.parents))
        costs = LOCAL * self.graph.bone_costs(wanted, self.problem.n_frames)
        ends = np.setdiff1d(np.arange(len(tree.parents)), tree.parents)
        costs += ownership_costs(self.graph, wanted, ends, self.problem.n_frames)
        local = LocalWeights(costs, wanted, PULL * self.problem.motion**2 / self.problem.n_vertices)
        fit = fit_articulated(self.problem, tree, start, influences, local=local, options=requested, on_round=on_round)
        moved = self._inside(replace(tree, places=fit.articulation.joints))
        if not np.array_equal(
            moved.places, fit.articulation.joints
        ):  # some joints are outside the body: refit with these fixed inside
            left = (moved.places != fit.articulation.joints).any(axis=1)
            held = replace(moved, slack=np.where(left, 0.0, tree.slack))
            start = replace(fit.articulation, joints=moved.places)
            short = replace(requested, rounds=AGAIN_ROUNDS, thorough=0)
            fit = fit_articulated(
                self.problem, held, start, fit.influences, local=local, options=short, on_round=on_round
            )
        report = FitReport(
            "articulate",
            time.perf_counter() - began,
            iterations=len(fit.history),
            converged=fit.stopped_by == "tolerance",
            stopped_by=fit.stopped_by,
            history=fit.history,
            seed=options.seed,
        )
        found = fit.articulation
        return found.joints, found.rotations, found.transforms(), fit.influences, report

    def _pairs(self, influences: Influences) -> list[tuple[int, int]]:
        """Left and right bone of each pair."""
        if self.plane is None:
            return []
        skin = influences.to_skin().take(self.task.welded_of_vertex)
        return mirror_pairs(self.mesh, sparse_weights(skin, int(influences.bones.max()) + 1))

    def _skeleton(
        self, parents: Int64, frames: Float64, ends: Float64, influences: Influences, sides: Sides, transforms: Float64
    ) -> tuple[Skeleton, Float64]:
        """Named joints in input units, and the ends of their bones."""
        world = frames.copy()
        world[..., 3] = self.problem.rest_to_input(frames[..., 3])
        tips = self.problem.rest_to_input(ends)
        if self.edited is not None:
            names: tuple[str, ...] = tuple(joint.name for joint in self.edited.joints)
        else:
            words = ["_R", "", "_L"]
            side = sides.side
            if self.reference.plane is not None:
                away = self.reference.plane.distances(self.reference.joints(frames[..., 3], transforms)) / self.diagonal
                side = sides_of_joints(side, parents, away)
            suffixes = [words[int(s) + 1] for s in side]
            if not sides.known:
                for left, right in self._pairs(influences):
                    suffixes[left], suffixes[right] = "_L", "_R"
            names = name_joints(world[..., 3], tips, parents, suffixes, taken=self.mesh.name)
        names = standard_names(names, self.options.names)
        return Skeleton(names, parents.astype(np.int32), world.astype(np.float32)), tips

    def _joint_warnings(self, tree: JointTree, weights: Float64, names: tuple[str, ...]) -> tuple[str, ...]:
        """Warnings about joints that slide, that the poses hardly determine, and that no vertex mainly follows."""
        out = []
        articulated = self.options.form == "articulated"
        sliding = [names[b] for b in np.flatnonzero(tree.sliding)]
        if sliding and articulated:
            out.append(f"{_listed(sliding)} slide in the input, so these joints translate as well as rotate")
        still = [names[b] for b in range(1, len(names)) if tree.angles[b] < LITTLE_ROTATION]
        if still:
            out.append(
                f"{_listed(still)} rotate by less than {LITTLE_ROTATION:g} degrees, which hardly determines where they "
                "are; add poses that bend them, or merge them with --save-tree and --tree"
            )
        shared = [names[b] for b in np.flatnonzero(weights.max(axis=0) < OWN)]
        if shared:
            out.append(
                f"no vertex mainly follows {_listed(shared)}, which are uncertain; check them, or merge them with "
                "--save-tree and --tree"
            )
        return tuple(out)

    def warnings(self) -> tuple[str, ...]:
        """Warnings about the input."""
        out = []
        n_frames = self.problem.n_frames
        if n_frames < FEW_FRAMES:
            out.append(f"{n_frames} poses hardly determine where bodies bend; expect missing or inaccurate joints")
        elif (distinct := self._distinct_poses()) < SCARCE_FRAMES:
            out.append(
                f"the {n_frames} frames show only {distinct} distinct poses; joints that they do not bend are missing "
                "or inaccurate; add clips or frames"
            )
        if self.n_bones == 1:
            out.append("the whole moves as one rigid body: one bone, no joint")
        if self.options.bones and self.n_bones * VERTICES_A_BONE > self.problem.n_vertices:
            out.append(
                f"{self.n_bones} bones for {self.problem.n_vertices} vertices: several are guesses; set fewer bones"
            )
        return (*out, *self.doubts)

    def _distinct_poses(self) -> int:
        """The number of poses that differ by ALIKE of the diagonal, RMS over vertices; at most SCARCE_FRAMES."""
        poses = self.problem.targets.reshape(self.problem.n_vertices, -1, 3)
        known: list[int] = []
        for f in range(self.problem.n_frames):
            apart = [np.sqrt(((poses[:, f] - poses[:, g]) ** 2).sum(axis=1).mean()) for g in known]
            if all(distance > ALIKE * self.diagonal for distance in apart):
                known.append(f)
            if len(known) == SCARCE_FRAMES:
                break
        return len(known)


def _listed(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _in_order(sections: Sections, order: Int64) -> tuple[Float64, Influences]:
    """Transforms and influences of reordered sections."""
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    found = sections.influences
    return sections.transforms[:, order], Influences(place_of[found.bones], found.weights, found.errors)
