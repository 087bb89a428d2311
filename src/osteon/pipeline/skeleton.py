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
from osteon.fit.clustering.core_bones import fit_core_bones
from osteon.fit.kernel_modules import RIG_KERNELS
from osteon.fit.mirror import MirrorPlane, find_mirror_plane
from osteon.fit.naming import mirror_pairs, name_joints, sparse_weights
from osteon.fit.problem import pose_problem
from osteon.fit.skeleton.articulated import ArticulatedOptions, Articulation, LocalWeights, fit_articulated
from osteon.fit.skeleton.joint_tree import JointTree, find_tree, joint_costs, meet_sections, mirror_tree, orient_joints
from osteon.fit.skeleton.sides import find_sides
from osteon.fit.skeleton.pair_joints import measure_pairs
from osteon.fit.skeleton.sections import SectionOptions, Sections, find_sections, first_count
from osteon.fit.skeleton.surface_graph import surface_graph
from osteon.fit.skin.bones import complete_bones, seed_bones
from osteon.fit.skin.influences import Influences
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


@dataclass(frozen=True, slots=True, repr=False)
class RigFit:
    """A skinned character with its recovered skeleton, its quality, and the ends of its bones."""

    fit: SkinFit
    ends: Float64  # (b,3) in the rest pose
    free_error_percent: float  # E of the sections, each with its own motion

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
        }


@takes_options(RigOptions)
def rig_sequence(
    sequence: MeshSequence, *, options: RigOptions | None = None, progress: Progress | None = None
) -> RigFit:
    """Find a skeleton in a sequence, and a skin for it."""
    options = options or RigOptions()
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
        recovery = _Recovery(task, options)
        solution, ends, free = recovery.solve()
        solution = replace(solution, warnings=(*scaled, *recovery.warnings()))
        model = build_model(sequence, task, solution)
    watch.seconds["fit"] = time.perf_counter() - started
    return RigFit(measure_fit(sequence, model, solution, task, n_degenerate, kept), ends, free)


class _Recovery:
    """The recovery of the skeleton of one sequence."""

    def __init__(self, task: SkinTask, options: RigOptions) -> None:
        self.task, self.options, self.problem = task, options, task.problem
        self.points = self.problem.points[:, :3]
        self.diagonal = float(np.linalg.norm(np.ptp(self.points, axis=0)))
        self.mesh = task.sequence.mesh
        rest, faces = self.mesh.rest.astype(np.float64), self.mesh.faces
        corners = np.repeat(triangle_areas(rest, faces) / 3, 3)
        areas = np.bincount(faces.reshape(-1), corners, len(rest)).astype(np.float64)
        self.plane = find_mirror_plane(rest, vertex_normals(rest, faces), areas)
        self.areas = np.bincount(task.welded_of_vertex, areas, self.problem.n_vertices)
        self.n_bones = 0
        self.graph = surface_graph(self.problem, task.welded_of_vertex[faces])
        if options.symmetric and self.plane is None:
            raise GeometryError(
                f"--symmetric: the rest pose of '{task.sequence.name}' is not its own mirror image; choose another "
                "with --rest, or omit --symmetric"
            )

    def solve(self) -> tuple[Solution, Float64, float]:
        """Bones with weights and a skeleton, the ends of its bones, and E % of the free sections."""
        task, problem = self.task, self.problem
        clustering = cluster_sample(task)
        with task.watch.stage("sections"):
            sections = self._sections(clustering)
        free = problem.error_percent(sections.influences.errors)
        report_progress(task.progress, "joints", 0.0, free)
        with task.watch.stage("joints"):
            tree = self._tree(sections)
        transforms, influences = _in_order(sections, tree.order)
        joints, rotations = tree.places, transforms[..., :3]
        stages: tuple[FitReport, ...] = (clustering.report,)
        if self.options.form == "articulated":
            with task.watch.stage("articulate"):
                joints, rotations, transforms, influences, report = self._articulate(tree, transforms, influences)
            stages = (*stages, report)
        self.n_bones = len(joints)
        weights = influences.dense(self.n_bones)
        placed = orient_joints(joints, tree.parents, rotations, self.points, weights, self.graph)
        skeleton, ends = self._skeleton(tree.parents, placed.world_from_joint, placed.ends, influences)
        solution = Solution(
            problem.to_input(transforms),
            influences,
            clustering.near_rigid_fraction,
            clustering.tolerance,
            np.empty(0, np.int32),
            stages,
            bone_type="rigid",
            names=skeleton.names,
            skeleton=skeleton,
        )
        return solution, ends, free

    def _sections(self, clustering: Any) -> Sections:
        """Near-rigid sections, from splitting and from the clusters of mean shift."""
        task, problem, options = self.task, self.problem, self.options
        n_first = min(first_count(clustering.n_bones, options.bones), problem.n_vertices)
        coarse = problem.sampled(SAMPLE, options.seed)
        starts = [seed_bones(coarse, n_first, task.threads)]
        if not options.bones:
            for count in (50, 80, 120):
                if 4 * count < coarse.n_vertices:
                    starts.append(seed_bones(coarse, count, task.threads))
        if clustering.n_bones:
            core = problem.from_input(fit_core_bones(task.sequence, clustering.labels, "rigid"))
            starts.append(complete_bones(coarse, core, n_first, task.threads))

        def on_round(count: int, error_percent: float) -> None:
            wanted = max(options.bones, 2)
            gone = (n_first - count) / max(1, n_first - wanted)
            report_progress(task.progress, "sections", min(0.9, 0.2 + 0.7 * gone), error_percent)

        report_progress(task.progress, "sections", 0.0)
        requested = SectionOptions(options.bones, options.influences, options.seed, task.threads)
        return find_sections(problem, self.graph, starts, options=requested, on_round=on_round)

    def _tree(self, sections: Sections) -> JointTree:
        weights = sections.influences.dense(sections.transforms.shape[1])
        pairs = measure_pairs(self.points, sections.transforms, weights)
        masses = self.areas @ weights
        centers = weights.T @ (self.areas[:, None] * self.points) / np.maximum(masses, 1e-12)[:, None]
        root = -1
        if self.options.root is not None:
            root = int(weights[self.task.welded_of_vertex[self.options.root]].argmax())
        self.meeting = meet_sections(self.graph, weights)
        spans = self.graph.distances([np.flatnonzero(weights.argmax(axis=1) == b) for b in range(weights.shape[1])])
        owner = weights.argmax(axis=1)
        far = np.stack([spans[owner == b].mean(axis=0) if (owner == b).any() else spans.max(axis=0) for b in range(weights.shape[1])])
        import os
        plane = self.loose_plane()
        local_plane = None if plane is None else MirrorPlane(plane.normal, (plane.offset - float(plane.normal @ self.problem.rest_center)) / self.problem.rest_scale)
        self.sides = find_sides(local_plane, self.points, self.areas, weights, far, self.diagonal)
        if os.environ.get('DBG'): print('    sides', plane, ''.join('R.L'[x+1] for x in self.sides.side), self.sides.partner.tolist())
        costs = joint_costs(pairs, self.meeting, self.diagonal)
        tree = self._inside(find_tree(pairs, costs, centers, masses, self.diagonal, sides=self.sides, root=root))
        if not self.options.symmetric or self.plane is None:
            return tree
        _, influences = _in_order(sections, tree.order)
        local = MirrorPlane(
            self.plane.normal,
            (self.plane.offset - float(self.plane.normal @ self.problem.rest_center)) / self.problem.rest_scale,
        )
        mirrored = self._pairs(influences)
        return mirror_tree(tree, dict(mirrored) | {right: left for left, right in mirrored}, local)

    def loose_plane(self):
        rest, faces = self.mesh.rest.astype(np.float64), self.mesh.faces
        corners = np.repeat(triangle_areas(rest, faces) / 3, 3)
        areas = np.bincount(faces.reshape(-1), corners, len(rest)).astype(np.float64)
        return find_mirror_plane(rest, vertex_normals(rest, faces), areas, near=0.015, most=0.6)

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
        import os
        pull = float(os.environ.get('PULL', '0.1'))
        strength = pull * self.problem.motion**2 / self.problem.n_vertices
        if os.environ.get('NOLOC'): local = None
        else: local = LocalWeights(self.graph.bone_costs(wanted, self.problem.n_frames), wanted, strength)
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
        self, parents: Int64, frames: Float64, ends: Float64, influences: Influences
    ) -> tuple[Skeleton, Float64]:
        """Named joints in input units, and the ends of their bones."""
        world = frames.copy()
        world[..., 3] = self.problem.rest_to_input(frames[..., 3])
        tips = self.problem.rest_to_input(ends)
        sides = [""] * len(parents)
        for left, right in self._pairs(influences):
            sides[left], sides[right] = "_L", "_R"
        names = name_joints(world[..., 3], tips, parents, sides, taken=self.mesh.name)
        return Skeleton(names, parents.astype(np.int32), world.astype(np.float32)), tips

    def warnings(self) -> tuple[str, ...]:
        """Warnings about the input."""
        out = []
        n_frames = self.problem.n_frames
        if n_frames < FEW_FRAMES:
            out.append(f"{n_frames} poses hardly determine where bodies bend; expect missing or inaccurate joints")
        if self.n_bones == 1:
            out.append("the whole moves as one rigid body: one bone, no joint")
        if self.options.bones and self.n_bones * VERTICES_A_BONE > self.problem.n_vertices:
            out.append(
                f"{self.n_bones} bones for {self.problem.n_vertices} vertices: several are guesses; set fewer bones"
            )
        return tuple(out)


def _in_order(sections: Sections, order: Int64) -> tuple[Float64, Influences]:
    """Transforms and influences of reordered sections."""
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    found = sections.influences
    return sections.transforms[:, order], Influences(place_of[found.bones], found.weights, found.errors)
