"""EigenSkin from a rig and meshes of known poses: a character whose displacements follow its joints, and its errors.

Stages: poses of the rig's bones - weights, if requested - EigenSkin of training poses - errors on these and on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from osteon.core.animation import Animation, BoneTrack, Clip, bone_type_of
from osteon.core.arrays import Float64, FloatArray, Int32, Int64
from osteon.core.character import Character, Displacement, Skeleton
from osteon.core.compile_kernels import compile_kernels
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.normals import angles_between
from osteon.core.options import takes_options
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.progress import Progress, Stopwatch, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.normals import rest_normals, unit_vectors
from osteon.deform.pose import ColumnMotion, blends_of, pose_points
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.fit.eigenskin.fit_eigenskin import EigenSkinFit, KnownPoses, fit_eigenskin
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.eigenskin.rest_displacements import PoseNormals
from osteon.fit.eigenskin.stick_rig import rig_of_sticks
from osteon.fit.kernel_modules import EIGENSKIN_KERNELS
from osteon.io.poses.pose_set import PoseSet
from osteon.io.skeletons.rig import printable_names
from osteon.pipeline.known_poses.mesh_matching import placed_pose_set, vertices_at_rest
from osteon.pipeline.known_poses.pose_checks import PoseDoubt, check_poses, frame_shift
from osteon.pipeline.known_poses.rig_poses import RigPoses, without_clip
from osteon.pipeline.known_poses.target_poses import without_targets

# Conversion of meshes in poses of a stick skeleton to poses of a rig: joints match by name, vertices by position.
#
# The rotation of joint j is relative to its parent, in the axes of the rest pose, so it also applies to the rig's joint
# of that name (`deform/pose_skeleton.py`). Other joints of the rig, such as helpers, follow their parents.
#
# A rig may repeat a vertex at a seam of its texture; each copy corresponds to the vertex of the poses at the same
# place.

#: Part of the diagonal by which joints of rig and poses may be apart at rest.
SAME_JOINT = 1e-2


def poses_of_rig(character: Character, poses: PoseSet, chosen: Sequence[int] | Int32) -> KnownPoses:
    """The chosen poses, as poses of the character's bones."""
    skeleton = character.skeleton
    if skeleton is None or not len(skeleton.names):
        raise GeometryError(
            f"'{character.mesh.name}': its bones have no skeleton; find one with osteon rig, or name a mesh"
        )
    some = poses.take(chosen)
    joints = _joints(skeleton, some, character.mesh)
    rotations = np.tile(np.eye(3), (some.n_poses, len(skeleton.names), 1, 1))
    hinges = np.zeros((len(skeleton.names), 3))
    for theirs, ours in joints.items():
        rotations[:, ours], hinges[ours] = some.turns[:, theirs], some.hinges[theirs]
    transforms = transforms_of_joint_rotations(skeleton, rotations, some.shifts)
    vertices = _vertices(character.mesh, some.mesh)
    return KnownPoses(np.ascontiguousarray(some.frames[:, vertices]), transforms, some.names, hinges)


def _joints(skeleton: Skeleton, poses: PoseSet, mesh: Mesh) -> dict[int, int]:
    """The rig's joint of each joint of the poses; refuses poses that rotate others, or have joints elsewhere."""
    number = {name: j for j, name in enumerate(printable_names(skeleton.names))}
    places = skeleton.world_from_joint[..., 3].astype(np.float64)
    found = {j: number[name] for j, name in enumerate(poses.skeleton.names) if name in number}
    turned = poses.turned().any(axis=0)
    for j in np.flatnonzero(turned).tolist():
        name = poses.skeleton.names[j]
        if j not in found:
            known = ", ".join(list(number)[:12])
            raise GeometryError(f"poses: they rotate joint '{name}', which '{mesh.name}' does not have; it has {known}")
        away = float(np.linalg.norm(places[found[j]] - poses.skeleton.joints[j])) / mesh.diagonal
        if away > SAME_JOINT:
            raise GeometryError(
                f"poses: joint '{name}' rests {100 * away:.0f} % of the diagonal away from that of '{mesh.name}'; "
                "use the rig that the poses were made with"
            )
    return found


def _vertices(rig: Mesh, poses: Mesh) -> Int64:
    """(v,) the vertex of the poses for each vertex of the rig."""
    same = vertices_at_rest(rig, poses)
    if same is None:
        apart = cKDTree(poses.rest).query(rig.rest)[0]
        raise GeometryError(
            f"poses: of {poses.n_vertices} vertices none rests where vertex {int(apart.argmax())} of the "
            f"{rig.n_vertices} of '{rig.name}' does; rig and poses must be one mesh at rest, in any units and axes"
        )
    return same


#: Frame rate of clips of poses.
POSES_A_SECOND = 4.0


@dataclass(frozen=True, slots=True, repr=False)
class LearnedSkin:
    """A character with displacements fitted to poses."""

    model: SkinnedModel  # with the clips of its rig, or the poses
    fit: EigenSkinFit
    training: PoseErrors
    validation: PoseErrors | None  # None without validation poses
    seconds: dict[str, float]
    options: EigenSkinOptions
    notes: tuple[str, ...]
    doubts: tuple[PoseDoubt, ...]  # poses that do not fit their meshes
    poses: tuple[KnownPoses, KnownPoses | None]  # to learn from, and to validate with
    plain: Character  # before, without displacements that follow joints

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
    poses: PoseSet | RigPoses,
    *,
    options: EigenSkinOptions | None = None,
    progress: Progress | None = None,
) -> LearnedSkin:
    """Fit displacements of the rig to the poses; those marked `validate` only measure the result."""
    options = options or EigenSkinOptions()
    compile_kernels(EIGENSKIN_KERNELS, progress)
    watch = Stopwatch()
    if isinstance(poses, RigPoses):
        rig = without_targets(rig, poses.used_targets)
    character = replace(
        rig.character, displacements=tuple(d for d in rig.character.displacements if d.kind != EigenSkin.kind)
    )
    with single_threaded_blas():
        with watch.stage("poses"):
            found = poses if isinstance(poses, RigPoses) else rig_poses_of(character, poses)
            training, validation = found.of_kind("train", "pair"), found.of_kind("validate")
            if training is None:
                raise GeometryError(f"'{rig.name}': all poses are for validation; none is left for training")
        with watch.stage("check"):
            late = frame_shift(character, found, threads=options.threads) if len(found.clip) else 0
            doubts = () if late else check_poses(character, found, threads=options.threads, progress=progress)
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
    animation = _animation_of(rig, character, training, validation)
    notes = (*found.notes, *_doubts(doubts, late), *_notes(rig, fit, options))
    seconds = watch.seconds | {"total": sum(watch.seconds.values())}
    model, known = SkinnedModel(character, animation), (training, validation)
    return LearnedSkin(model, fit, seen, unseen, seconds, options, notes, doubts, known, plain)


def rig_poses_of(character: Character, poses: PoseSet) -> RigPoses:
    """All poses of a set as poses of the character's bones, in its units and axes."""
    placed, notes = placed_pose_set(character.mesh, poses)
    return without_clip(poses_of_rig(character, placed, range(poses.n_poses)), poses.kinds, notes)


#: Doubtful poses that get a note each.
NOTED = 8


def _doubts(doubts: tuple[PoseDoubt, ...], late: int) -> list[str]:
    """Notes about poses that do not fit their meshes; they are learned as they were given."""
    if late:
        when = "later" if late > 0 else "earlier"
        return [
            f"the meshes fit the clip {abs(late)} frame{'s' if abs(late) > 1 else ''} {when}: other frame? "
            f"(add {late:+d} to --offset)"
        ]
    more = len(doubts) - NOTED
    return [*(doubt.note for doubt in doubts[:NOTED]), *([f"and {more} poses more (--json lists all)"] * (more > 0))]


def _refitted(character: Character, poses: KnownPoses, options: EigenSkinOptions) -> Character:
    """The rig with the linear blend weights that are closest to the poses."""
    from osteon.fit.problem import InputTransforms, pose_problem
    from osteon.fit.skin.influences import select_influences

    if character.deformer.kind != LinearBlend.kind:
        kind = character.deformer.kind.replace("_", " ")
        raise OptionError(f"refit_weights: fits weights of linear blending, and '{character.mesh.name}' has {kind}")
    mesh = character.mesh
    still = mesh.rest[None].astype(np.float32)
    sequence = MeshSequence(np.concatenate([still, poses.frames]), mesh.faces, mesh.rest)
    problem = pose_problem(sequence)
    at_rest = np.zeros((1, *poses.transforms.shape[1:]))
    at_rest[..., :3] = np.eye(3)
    transforms = problem.from_input(InputTransforms(np.concatenate([at_rest, poses.transforms])))
    threads = available_threads(options.threads)
    found = select_influences(problem, transforms, options.influences, thorough=True, threads=threads)
    return replace(character, deformer=LinearBlend(found.to_skin()))


def _still(names: Sequence[str]) -> Animation:
    """All bones at rest, in one frame."""
    transforms = np.zeros((1, len(names), 3, 4), np.float32)
    transforms[..., :3] = np.eye(3)
    return Animation(BoneTrack(transforms, "rigid", tuple(names)), (Clip("rest", 0, 1, POSES_A_SECOND),))


def _animation_of(
    rig: SkinnedModel, character: Character, training: KnownPoses, validation: KnownPoses | None
) -> Animation:
    """The clips of the rig; for a rig without animation the poses, those for validation as a separate clip."""
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
    """Notes for the user."""
    notes = []
    if rig.rank:
        notes.append(f"the rig's {rig.rank} morph targets or corrections are kept and added")
    if fit.omitted:
        more = f", '{fit.omitted[0]}' first," if len(fit.omitted) > 1 else f" ('{fit.omitted[0]}')"
        notes.append(f"{len(fit.omitted)} poses{more} move several joints, which the paper does not use; omitted")
    if fit.observed.bounded:
        notes.append(
            f"{fit.observed.bounded} blends nearly collapse (singular values down to {fit.observed.flattest:.2g}); "
            "displacements there are bounded, and some poses are not reproduced"
        )
    return tuple(notes)


# The share of the skin's error that EigenSkin removes in each pose, and the most that its columns could remove.
#
#     removed = 1 - rms / rms of the skin alone
#     limit:    the same with the coefficients that are best for each pose, instead of those that follow its joints
#
# RMS is over the vertices of the surface, those that belong to a triangle. Shading is the angle between the normals
# that players show (`deform/normals.py`) and those of the pose, mean and 95th percentile over normals.


@dataclass(frozen=True, slots=True)
class PoseErrors:
    """RMS distances in some poses, in units of the input."""

    names: tuple[str, ...]
    skin: Float64  # (p,) of the rig's own skin
    corrected: Float64  # (p,) with EigenSkin
    best: Float64  # (p,) with the same columns and the best coefficients
    diagonal: float
    shading_skin: (
        Float64  # (p,2) degrees of the rig's own skin, mean and 95th percentile; (0,2) of a mesh without faces
    )
    shading: Float64  # (p,2) with EigenSkin

    @property
    def removed(self) -> Float64:
        """(p,) the share of the skin's error that is removed; 0 where it has none."""
        return _share(self.skin, self.corrected)

    @property
    def limit(self) -> Float64:
        """(p,) the share that the best coefficients remove."""
        return _share(self.skin, self.best)

    def to_json(self) -> dict[str, object]:
        rows = zip(self.names, self.skin, self.corrected, 100 * self.removed, 100 * self.limit, strict=True)
        keys = ("pose", "rms_skin", "rms", "removed_percent", "limit_percent")
        poses: list[dict[str, object]] = [dict(zip(keys, (row[0], *map(float, row[1:])), strict=True)) for row in rows]
        for pose, before, after in zip(poses, self.shading_skin, self.shading, strict=False):
            pose |= {"shading_skin_degrees": float(before[0]), "shading_degrees": float(after[0])}
        return {
            "poses": poses,
            "rms_skin": float(self.skin.mean()),
            "rms": float(self.corrected.mean()),
            "rms_percent_of_diagonal": float(100 * self.corrected.mean() / self.diagonal),
            "removed_percent": {"mean": float(100 * self.removed.mean()), "least": float(100 * self.removed.min())},
            "limit_percent": {"mean": float(100 * self.limit.mean()), "least": float(100 * self.limit.min())},
            "shading_skin_degrees": _degrees(self.shading_skin),
            "shading_degrees": _degrees(self.shading),
        }


def measure_poses(
    skins: tuple[Character, Character], poses: KnownPoses, displacement: EigenSkin, *, threads: int = 0
) -> PoseErrors:
    """Errors of the original rig and of the result in known poses."""
    plain, corrected = (replace(skin, displacements=()) for skin in skins)
    surface = np.unique(plain.mesh.faces).astype(np.int64)
    rest = plain.mesh.rest.astype(np.float64)[None]
    animation = Animation(BoneTrack(poses.transforms.astype(np.float32), bone_type_of(poses.transforms)))
    moved_by = [ColumnMotion(displacement.by_vertex(), displacement.position_coefficients(animation))]
    before = pose_points(plain.deformer, rest, poses.transforms, threads=threads)
    after = pose_points(corrected.deformer, rest, poses.transforms, threads=threads, moved_by=moved_by)
    own = pose_points(corrected.deformer, rest, poses.transforms, threads=threads)
    best = [
        _best(corrected, poses.transforms[p], displacement, poses.frames[p] - own[p].astype(np.float64), surface)
        for p in range(len(poses.names))
    ]
    errors = [_rms(poses.frames - shown.astype(np.float64), surface) for shown in (before, after)]
    shading = _shading((plain, replace(corrected, displacements=(displacement,))), poses, animation)
    return PoseErrors(poses.names, errors[0], errors[1], np.array(best), plain.mesh.diagonal, *shading)


def _shading(skins: tuple[Character, Character], poses: KnownPoses, animation: Animation) -> tuple[Float64, Float64]:
    """(p,2) mean and 95th percentile of each skin, degrees."""
    mesh = skins[0].mesh
    if not len(mesh.faces):
        return np.zeros((0, 2)), np.zeros((0, 2))
    rest, wanted, place = rest_normals(mesh), PoseNormals.of(mesh), mesh.vertex_of_normal
    found = np.empty((2, len(poses.names), 2))
    for i, skin in enumerate(skins):
        moved = [_normal_columns(one, animation) for one in skin.displacements if one.normal_basis is not None]
        for p, (frame, bones) in enumerate(zip(poses.frames, poses.transforms, strict=True)):
            normals = rest + sum((q[p] @ columns).reshape(rest.shape) for q, columns in moved)
            linear = blends_of(skin.deformer, bones)[..., :3][place]
            shown, true = unit_vectors(np.einsum("nij,nj->ni", linear, normals)), wanted.at(frame)
            angles = angles_between(shown.astype(np.float64), true)[true.any(axis=1)]
            found[i, p] = angles.mean(), np.percentile(angles, 95)
    return found[0], found[1]


def _normal_columns(displacement: Displacement, animation: Animation) -> tuple[Float64, Float64]:
    """(p,r) coefficients of the columns that move normals, and these (r,3n)."""
    assert displacement.normal_basis is not None
    used = np.flatnonzero(displacement.normal_basis.any(axis=(1, 2)))
    columns = displacement.normal_basis[used].astype(np.float64).reshape(len(used), -1)
    return displacement.coefficients(animation)[:, used].astype(np.float64), columns


def _degrees(found: Float64) -> dict[str, float] | None:
    """Mean over poses of the mean and of the 95th percentile."""
    return {"mean": float(found[:, 0].mean()), "p95": float(found[:, 1].mean())} if len(found) else None


def _best(skin: Character, bones: Float64, displacement: EigenSkin, missing: Float64, surface: Int64) -> float:
    """RMS of the residual of the skin's error (v,3) in a pose with the best coefficients."""
    linear = blends_of(skin.deformer, bones, surface)[..., :3]
    columns = displacement.basis[: displacement.rank, surface].astype(np.float64)
    moved = np.einsum("vij,rvj->rvi", linear, columns, optimize=True).reshape(len(columns), -1)
    wanted = missing[surface].reshape(-1)
    gram = moved @ moved.T
    gram[np.diag_indices(len(gram))] += 1e-12 * max(float(np.trace(gram)), 1e-300)
    q = np.linalg.solve(gram, moved @ wanted)
    return float(np.sqrt(np.square(wanted - q @ moved).sum() / max(len(surface), 1)))


def _rms(off: FloatArray, surface: Int64) -> Float64:
    """(p,)"""
    chosen = off[:, surface]
    return np.asarray(np.sqrt(np.einsum("pvi,pvi->p", chosen, chosen) / max(len(surface), 1)))


def _share(whole: Float64, left: Float64) -> Float64:
    return np.asarray(np.where(whole > 0, 1 - left / np.where(whole > 0, whole, 1.0), 0.0))
