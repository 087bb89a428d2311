"""A rig and meshes of known poses in, a character whose displacements follow its joints out, and how good it is.

rig - poses of its bones - weights, if wanted - EigenSkin of poses to learn from - measures on these and on others
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.animation import Animation, BoneTrack
from osteon.core.character import Character
from osteon.core.clips import Clip
from osteon.core.compile_kernels import compile_kernels
from osteon.core.eigenskin_options import EigenSkinOptions
from osteon.core.errors import GeometryError, OptionError
from osteon.core.fit_report import Stopwatch
from osteon.core.mesh import Mesh
from osteon.core.model import PLAIN_DEFORMER, SkinnedModel
from osteon.core.option_hints import takes_options
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.linear_blend import LinearBlend
from osteon.fit.eigenskin.fit_eigenskin import EigenSkinFit, KnownPoses, fit_eigenskin
from osteon.fit.eigenskin.stick_rig import rig_of_sticks
from osteon.fit.kernel_modules import EIGENSKIN_KERNELS
from osteon.io.poses.pose_set import PoseSet
from osteon.pipeline.eigenskin_measures import PoseErrors, measure_poses
from osteon.pipeline.rig_poses import poses_of_rig

__all__ = ["LearnedSkin", "learn_eigenskin", "rig_of_mesh"]

#: Frames a second of clips that show poses.
POSES_A_SECOND = 4.0


@dataclass(frozen=True, slots=True, repr=False)
class LearnedSkin:
    """A character that learned from poses."""

    model: SkinnedModel  # plays the clips of its rig, or the poses
    fit: EigenSkinFit
    training: PoseErrors
    validation: PoseErrors | None  # None where no pose was kept to judge by
    seconds: dict[str, float]
    options: EigenSkinOptions
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"LearnedSkin('{self.model.name}': {self.model.n_vertices:,} vertices, {self.model.n_bones} bones; "
            f"{len(self.displacement.basis)} eigendisplacements from {len(self.training.names)} poses)"
        )

    @property
    def displacement(self) -> EigenSkin:
        return self.fit.displacement


def rig_of_mesh(mesh: Mesh, sticks: StickSkeleton, options: EigenSkinOptions) -> SkinnedModel:
    """A mesh on a stick skeleton as a rig at rest."""
    character = rig_of_sticks(mesh, sticks, options)
    assert character.skeleton is not None
    return SkinnedModel(character, _still(character.skeleton.names))


@takes_options(EigenSkinOptions)
def learn_eigenskin(
    rig: SkinnedModel,
    poses: PoseSet,
    *,
    options: EigenSkinOptions | None = None,
    progress: Progress | None = None,
) -> LearnedSkin:
    """The rig with displacements learned from the poses; those marked `validate` only judge it."""
    options = options or EigenSkinOptions()
    compile_kernels(EIGENSKIN_KERNELS, progress)
    watch = Stopwatch()
    character = replace(
        rig.character, displacements=tuple(d for d in rig.character.displacements if d.kind != EigenSkin.kind)
    )
    learned, judged = poses.of_kind("train", "pair"), poses.of_kind("validate")
    if not len(learned):
        raise GeometryError(f"'{poses.mesh.name}': all poses are kept to judge by; none is left to learn from")
    with single_threaded_blas():
        with watch.stage("poses"):
            training = poses_of_rig(character, poses, learned)
            validation = poses_of_rig(character, poses, judged) if len(judged) else None
        plain = character
        if options.refit_weights:
            with watch.stage("weights"):
                report_progress(progress, "weights", 0.0)
                character = _refitted(character, training, options)
        with watch.stage("fit"):
            fit = fit_eigenskin(character, training, options=options, progress=progress)
        character = replace(character, displacements=(*character.displacements, fit.displacement))
        with watch.stage("measure"):
            report_progress(progress, "measure", 0.0)
            skins = (plain, character)
            seen = measure_poses(skins, training, fit.displacement, threads=options.threads)
            unseen = (
                None
                if validation is None
                else measure_poses(skins, validation, fit.displacement, threads=options.threads)
            )
    animation = _played(rig, character, training, validation)
    notes = _notes(rig, fit, options)
    seconds = watch.seconds | {"total": sum(watch.seconds.values())}
    return LearnedSkin(SkinnedModel(character, animation), fit, seen, unseen, seconds, options, notes)


def _refitted(character: Character, poses: KnownPoses, options: EigenSkinOptions) -> Character:
    """The rig with weights that come as close to the poses as linear blending can."""
    from osteon.fit.problem import pose_problem
    from osteon.fit.skin.influences import select_influences

    if character.deformer.kind != PLAIN_DEFORMER:
        kind = character.deformer.kind.replace("_", " ")
        raise OptionError(f"refit_weights: fits weights of linear blending, and '{character.mesh.name}' has {kind}")
    mesh = character.mesh
    still = mesh.rest[None].astype(np.float32)
    sequence = MeshSequence(np.concatenate([still, poses.frames]), mesh.faces, mesh.rest)
    problem = pose_problem(sequence)
    at_rest = np.zeros((1, *poses.transforms.shape[1:]))
    at_rest[..., :3] = np.eye(3)
    transforms = problem.from_world(np.concatenate([at_rest, poses.transforms]))
    threads = available_threads(options.threads)
    found = select_influences(problem, transforms, options.influences, thorough=True, threads=threads)
    return replace(character, deformer=LinearBlend(found.to_skin()))


def _still(names: Sequence[str]) -> Animation:
    """All bones at rest, in one frame."""
    transforms = np.zeros((1, len(names), 3, 4), np.float32)
    transforms[..., :3] = np.eye(3)
    return Animation(BoneTrack(transforms, "rigid", tuple(names)), (Clip("rest", 0, 1, POSES_A_SECOND),))


def _played(rig: SkinnedModel, character: Character, training: KnownPoses, validation: KnownPoses | None) -> Animation:
    """The clips of the rig; of a rig that stands still the poses, those to judge by as a clip of their own."""
    stored = character.displacement("corrections")
    if rig.n_frames > 1 or stored is not None:
        return rig.animation
    shown = [("poses", training)] + ([] if validation is None else [("validation", validation)])
    transforms = np.concatenate([poses.transforms for _, poses in shown]).astype(np.float32)
    clips, start = [], 0
    for name, poses in shown:
        clips.append(Clip(name, start, start + len(poses.names), POSES_A_SECOND))
        start = clips[-1].stop
    return Animation(BoneTrack(transforms, "rigid", rig.track.names), tuple(clips))


def _notes(rig: SkinnedModel, fit: EigenSkinFit, options: EigenSkinOptions) -> tuple[str, ...]:
    """What a person should know."""
    notes = []
    if rig.rank:
        notes.append(f"the rig's {rig.rank} morph targets or corrections stay, and play on top")
    if fit.left_out:
        more = f", '{fit.left_out[0]}' first," if len(fit.left_out) > 1 else f" ('{fit.left_out[0]}')"
        notes.append(f"{len(fit.left_out)} poses{more} move several joints, which the paper has no use for; left out")
    if fit.observed.bounded:
        notes.append(
            f"{fit.observed.bounded} blends nearly collapse (singular values down to {fit.observed.flattest:.2g}); "
            "displacements there are bounded, and some poses are not met"
        )
    return tuple(notes)
