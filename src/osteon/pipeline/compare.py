"""Comparison of skinning models: all with the same bones and training poses, measured on unseen poses.

distinct poses - training poses - bones of all poses - every model on the training poses - all poses again - measures

Based on: Reid and Jacka, Mesh Approximation for Animated Characters, sections 3 and 4.1.

Differs from the paper: repeated poses count once, so that no training pose is among the unseen ones; training poses
are chosen to cover the motion.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.character import Character, Skeleton
from osteon.core.compile_kernels import compile_kernels
from osteon.core.errors import GeometryError
from osteon.core.options import takes_options
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.progress import Progress, Stopwatch, peak_memory_mb, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.topology import weld_vertices
from osteon.deform.pose import pose_character
from osteon.fit.kernel_modules import COMPARE_KERNELS
from osteon.fit.models.registry import Contestant, find_contestants
from osteon.fit.poses import (
    PoseDistances,
    check_count,
    check_pose_list,
    choose_training_poses,
    distinct_poses,
    pose_distances,
)
from osteon.fit.problem import FitProblem, InputTransforms, pose_problem
from osteon.fit.skeleton.articulated import fit_articulated_poses
from osteon.fit.skin.influences import Influences, select_influences
from osteon.io.metadata.baked import table_arrays
from osteon.measure.deviation import measure_deviation
from osteon.measure.distortion import measure_distortion
from osteon.pipeline.comparison import Comparison, ModelCost, ModelResult, PoseMeasures, place_frames
from osteon.pipeline.options import CompareOptions, RigOptions, check_strengths
from osteon.pipeline.skeleton import rig_sequence

#: Repetitions of timed posing; the fastest counts.
TIMED = 3


@takes_options(CompareOptions)
def compare_models(
    sequence: MeshSequence, *, options: CompareOptions | None = None, progress: Progress | None = None
) -> Comparison:
    """Fit the requested models to training poses, and measure them on these and on unseen poses."""
    options = options or CompareOptions()
    contestants = find_contestants(options.words)
    check_strengths(options, contestants)
    if sequence.n_triangles == 0:
        raise GeometryError(f"'{sequence.name}' has no triangles; give a mesh with faces")
    named = check_pose_list(options.frames, sequence.n_frames)
    compile_kernels(COMPARE_KERNELS, progress)
    watch = Stopwatch()
    with single_threaded_blas():
        with watch.stage("poses"):
            report_progress(progress, "poses", 0.0)
            distances = pose_distances(sequence)
            distinct, chosen = _choose_poses(distances, sequence.name, options.train, named)
            places = place_frames(sequence, distances, distinct)
        poses = sequence.take_frames(distinct)
        training = np.searchsorted(distinct, chosen).astype(np.int32)
        with watch.stage("bones"):
            bones = bones_for_comparison(poses, training, options, progress)
        results = []
        for i, (word, contestant) in enumerate(contestants.items()):
            report_progress(progress, f"fit {word}", i / len(contestants))
            with watch.stage(word):
                results.append(_compete(word, contestant, bones, distinct, options))
            report_progress(progress, f"fit {word}", (i + 1) / len(contestants))
    return Comparison(
        bones.sequence,
        sequence.n_frames,
        distinct,
        bones.training,
        bones.transforms.values,
        bones.skeleton,
        places,
        tuple(results),
        _notes(sequence, bones, distinct),
        watch.seconds | {"fit": sum(watch.seconds.values())},
        options,
        peak_memory_mb(),
    )


def _choose_poses(distances: PoseDistances, name: str, count: int, named: tuple[int, ...]) -> tuple[Int32, Int32]:
    """Frames that show distinct poses, and the training poses among them."""
    distinct = distinct_poses(distances, keep=named)
    if not named:
        return distinct, choose_training_poses(distances, distinct, count, name)
    repeated = [frame for frame in named if frame not in distinct]
    if repeated:
        raise GeometryError(f"poses: frame {repeated[0]} repeats a pose that is named before it; omit it")
    check_count(len(distinct), len(named), name)
    return distinct, np.sort(np.array(named, np.int32))


def _compete(
    word: str, contestant: Contestant, bones: ComparisonBones, distinct: Int32, options: CompareOptions
) -> ModelResult:
    """One model, fitted and measured."""
    started = time.perf_counter()
    trained = bones.problem.from_input(bones.transforms.take_frames(bones.training))
    threads = available_threads(options.threads)
    fit = contestant.fit(
        bones.problem,
        trained,
        bones.influences,
        skeleton=bones.skeleton,
        seed=options.seed,
        threads=threads,
        strengths=options.strengths,
    )
    fitted = time.perf_counter() - started
    added = () if fit.displacement is None else (fit.displacement.take(bones.welded_of_vertex),)
    model = Character(bones.sequence.mesh, fit.deformer.take(bones.welded_of_vertex), added)
    unseen = np.setdiff1d(np.arange(len(distinct), dtype=np.int32), bones.training)
    return ModelResult(
        word,
        contestant.title,
        model,
        _measure(bones, model, bones.training, distinct, options.threads),
        _measure(bones, model, unseen, distinct, options.threads),
        _cost(contestant, model, bones),
        fitted,
        fit.sweep,
        fit.strength,
    )


def _measure(bones: ComparisonBones, model: Character, poses: Int32, distinct: Int32, threads: int) -> PoseMeasures:
    """Errors of a model in some poses; frame numbers are those of the input."""
    sequence, transforms = bones.sequence, bones.transforms.values[poses]

    def approximate(start: int, stop: int) -> Float32:
        return pose_character(model, transforms[start:stop], threads=threads)

    source = sequence.source.take(poses)
    distortion = measure_distortion(source, sequence.faces, approximate)
    deviation = measure_deviation(source, sequence.faces, approximate, sequence.diagonal, threads=threads)
    return PoseMeasures(distinct[poses], distortion, deviation)


def _cost(contestant: Contestant, model: Character, bones: ComparisonBones) -> ModelCost:
    """Storage and time of a model; columns count by their non-zero entries."""
    deformer, arrays = model.deformer, model.deformer.arrays()
    slots = next((a.shape[1] for name, a in arrays.items() if name == "bones"), deformer.bone_weights().n_influences)
    entries = sum(int(np.any(one.basis, axis=2).sum()) for one in model.displacements)
    tables = [a for one in model.displacements for a in table_arrays(one).values()]
    stored = 3 * entries + sum(a.size for a in tables if a.dtype.kind == "f")
    quickest = np.inf
    for _ in range(TIMED):
        started = time.perf_counter()
        pose_character(model, bones.transforms.values, threads=1)
        quickest = min(quickest, time.perf_counter() - started)
    return ModelCost(
        int(slots),
        deformer.n_floats + stored,
        sum(int(array.nbytes) for array in (*arrays.values(), *tables)) + 16 * entries,  # with their columns
        contestant.multiply_adds(int(slots), entries / max(1, deformer.n_vertices)),
        1e9 * quickest / (bones.sequence.n_frames * deformer.n_vertices),
    )


def _notes(sequence: MeshSequence, bones: ComparisonBones, distinct: Int32) -> tuple[str, ...]:
    notes = []
    repeated = sequence.n_frames - len(distinct)
    if repeated:
        frames = "frame repeats a pose" if repeated == 1 else "frames repeat poses"
        notes.append(f"{repeated} of {sequence.n_frames} {frames} and were not used")
    known, n_poses = 3 * (len(bones.training) - 1), len(bones.training)
    if bones.n_bones - 1 > known:
        notes.append(
            f"{bones.n_bones} bones are more than {n_poses} training poses can tell apart (a vertex has "
            f"{known} numbers in addition to its first pose): train with more poses, or set {known + 1} bones or fewer"
        )
    return tuple(notes)


# The skeleton that all models of a comparison share: recovered from the training poses alone, then fitted to the
# others.
#
# In unseen poses its joints are fitted with the linear blend skin of the training poses, starting from the most similar
# training pose, rigidly aligned. No weight of any model depends on these poses.
#
# Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, section 3.1 and figure 2.


@dataclass(frozen=True, slots=True)
class ComparisonBones:
    """Bones of all poses, the linear blend skin that found them, and the problem that models are fitted to."""

    sequence: MeshSequence  # all poses; its rest pose is what the bones move
    transforms: InputTransforms  # of all poses
    skeleton: Skeleton  # joints in the rest pose; a bone each
    training: Int32  # (n,) poses
    problem: FitProblem  # of the training poses and the welded vertices
    influences: Influences  # of the welded vertices
    welded_of_vertex: Int32  # (v,)

    @property
    def n_bones(self) -> int:
        return self.transforms.n_bones


def bones_for_comparison(
    sequence: MeshSequence, training: Int32, options: CompareOptions, progress: Progress | None = None
) -> ComparisonBones:
    """Bones of an articulated skeleton for every frame of the sequence, learned from the frames in `training`."""
    requested = RigOptions(
        bones=options.bones, influences=options.influences, seed=options.seed, threads=options.threads
    )
    fit = rig_sequence(sequence.take_frames(training), options=requested, progress=progress)
    sequence = sequence.with_parts(rest=fit.model.rest)  # scaled to the size of the frames
    report_progress(progress, "bones", 0.0)
    vertices, welded_of_vertex = weld_vertices(sequence)
    problem = pose_problem(sequence, vertices, training)
    threads = available_threads(options.threads)
    trained = problem.from_input(fit.model.track)
    influences = select_influences(problem, trained, options.influences, thorough=True, threads=threads)
    transforms = np.empty((sequence.n_frames, *trained.shape[1:]))
    transforms[training] = fit.model.track.transforms
    unseen = np.setdiff1d(np.arange(sequence.n_frames, dtype=np.int32), training)
    if len(unseen):
        report_progress(progress, "bones", 0.2)
        others = pose_problem(sequence, vertices, unseen, still=True)
        start = _first_guess(pose_distances(sequence), trained, training, unseen)
        parents = fit.skeleton.parents.astype(np.int64)
        joints = others.rest_from_input(fit.skeleton.world_from_joint[:, :, 3])
        solved = fit_articulated_poses(others, parents, joints, influences, start, threads=threads)
        transforms[unseen] = others.to_input(solved.transforms()).values
    report_progress(progress, "bones", 1.0)
    return ComparisonBones(
        sequence, InputTransforms(transforms), fit.skeleton, training, problem, influences, welded_of_vertex
    )


def _first_guess(distances: PoseDistances, trained: Float64, training: Int32, unseen: Int32) -> Float64:
    """(n,b,3,4) for every unseen pose the bones of the most similar training pose, rotated into alignment.

    In problem units, in which every frame is centred.
    """
    out = np.empty((len(unseen), *trained.shape[1:]))
    for i, frame in enumerate(unseen):
        likest = int(distances.between(int(frame))[training].argmin())
        out[i] = distances.aligning_rotation(int(frame), int(training[likest])) @ trained[likest]
    return out
