"""Skinning with an existing rig: the parts of it that match the sequence, and the stages that use them.

| the rig has                              | what is kept                 | what is found |
| --- | --- | --- |
| as many frames as the sequence           | joints and their motion      | weights, helpers |
| the same vertices, another motion or none | joints, its weights as start | motion, weights, helpers |

The paper preset finds weights only, as James and Twigg, Skinning Mesh Animations, 2005, section 5, for given bones:
influences by gamma, then one least-squares problem per vertex. Where the rig has no motion for the sequence, the joints
are first fitted with the rig's own weights, once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from osteon.core.animation import BoneType, bone_type_of, distinct_names, wider_type
from osteon.core.arrays import Float64, Int32
from osteon.core.character import BoneLimits, Skeleton, Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.options import change_options, check_used, drop_unused
from osteon.core.progress import FitReport, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import compose, invert
from osteon.deform.linear_blend import LinearBlend
from osteon.fit.problem import FitProblem, InputTransforms
from osteon.fit.skin.bones import bones_for_skin, place_bones, refit_bones
from osteon.fit.skin.helper_bones import HelperOptions, fit_helper_bones
from osteon.fit.skin.influences import Influences, better_of, select_influences
from osteon.fit.skin.refine import refine_skin
from osteon.fit.skin.weights import paper_influences
from osteon.io.two_nodes import orient_joints, project_on_tree
from osteon.pipeline.presets import cluster_sample, refine_options
from osteon.pipeline.rig_match import LONGER_EDGES, edge_length, match_vertices, take_vertices
from osteon.pipeline.stages import (
    SkinTask,
    Solution,
    correct_as_paper,
    correct_solution,
    correct_still_skin,
    shade_solution,
)

STIFF = "rigid joints are closer than joints that stretch, which also stretch their descendants; joints are rigid"
#: Alternations of solving for joints that stretch, and projecting them onto what their tree can represent.
TREE_ROUNDS = 6
#: Above this E % the rig probably does not belong to the sequence.
FAR_OFF = 50.0


def _brings_motion(sequence: MeshSequence, rig: SkinnedModel) -> bool:
    """Whether the rig provides the motion of every frame."""
    return rig.n_frames == sequence.n_frames and rig.n_frames > 1


def rig_circumstances(sequence: MeshSequence, rig: SkinnedModel) -> dict[str, Any]:
    """Properties of the rig that decide which options have an effect: `check_used(options, **…)`."""
    return {
        "rig": True,
        "motion": "kept" if _brings_motion(sequence, rig) else "found",
        "rest_pose": "rig" if _same_vertices(sequence, rig) else "sequence",
    }


def default_rig_options(sequence: MeshSequence, rig: SkinnedModel) -> SkinOptions:
    """Rigid joints, if their motion is fitted; no morph targets in addition to the rig's."""
    if not _brings_motion(sequence, rig):
        sequence, _ = on_rig_vertices(sequence, rig)
    return drop_unused(SkinOptions(bone_type="rigid", normal_rank=0), **rig_circumstances(sequence, rig))


def _same_vertices(sequence: MeshSequence, rig: SkinnedModel) -> bool:
    """Whether the rig's vertices are the sequence's, in the same order.

    Another order would lengthen the edges; another pose or unit does not.
    """
    if rig.n_vertices != sequence.n_vertices:
        return False
    if np.array_equal(rig.faces, sequence.faces):
        return True
    ours, theirs = (edge_length(points, sequence.faces) for points in (sequence.rest, rig.rest))
    return theirs < LONGER_EDGES * ours and ours < LONGER_EDGES * theirs


def on_rig_vertices(sequence: MeshSequence, rig: SkinnedModel) -> tuple[MeshSequence, tuple[str, ...]]:
    """The sequence on the vertices of the rig, and a note of it, where both are one mesh in another order or split.

    Any other sequence is returned unchanged.
    """
    if rig.n_vertices == sequence.n_vertices and np.array_equal(rig.faces, sequence.faces):
        return sequence, ()
    found = match_vertices(sequence, rig)
    if found is None or (len(found) == sequence.n_vertices and np.array_equal(found, np.arange(len(found)))):
        return sequence, ()
    note = (
        f"rig '{rig.name}' and the sequence are one mesh: its {rig.n_vertices:,} vertices were found among the "
        f"{sequence.n_vertices:,} of the sequence by position and texture coordinate"
    )
    return take_vertices(sequence, rig, found), (note,)


def posed_by_rig(sequence: MeshSequence, rig: SkinnedModel, options: SkinOptions) -> MeshSequence:
    """The sequence with the rest pose that the rig was bound in; refuses a rig that does not match."""
    if not _brings_motion(sequence, rig):
        sequence, _ = on_rig_vertices(sequence, rig)
    check_used(options, **rig_circumstances(sequence, rig))
    if rig.n_bones == 0:
        raise GeometryError(f"rig '{rig.name}': there are no joints")
    if not (_brings_motion(sequence, rig) or _same_vertices(sequence, rig)):
        order = " in another order" if rig.n_vertices == sequence.n_vertices else ""
        raise GeometryError(
            f"rig '{rig.name}' has {rig.n_frames} frames and {rig.n_vertices} vertices, but '{sequence.name}' has "
            f"{sequence.n_frames} and {sequence.n_vertices}{order}; a rig must share all frames or all vertices"
        )
    if not _same_vertices(sequence, rig):
        if not np.array_equal(sequence.rest, sequence.frame(0)):  # the joints are known for this pose only
            raise GeometryError(
                f"rig '{rig.name}' has another mesh, so the rest pose must be the first frame; omit --rest"
            )
        return sequence
    return sequence.with_parts(rest=rig.rest, asset=replace(sequence.asset, normals=rig.asset.normals))


def _rig_motion(sequence: MeshSequence, rig: SkinnedModel) -> tuple[InputTransforms, Skeleton | None]:
    """The joints' transforms from the sequence's rest pose, and the skeleton in that pose.

    The rest pose is the rig's bind pose, or else its first frame.
    """
    transforms, skeleton = InputTransforms.of(rig.track), rig.skeleton
    if _same_vertices(sequence, rig):
        return transforms, skeleton
    first = transforms.values[0]
    if (np.abs(np.linalg.det(first[:, :3, :3])) < 1e-9).any():
        raise GeometryError(f"rig '{rig.name}': a joint is flattened in the first frame, so nothing can be bound to it")
    if skeleton is not None and len(skeleton.names) == rig.n_bones:
        places = compose(first, skeleton.world_from_joint)
        skeleton = Skeleton(skeleton.names, skeleton.parents, places.astype(np.float32))
    return InputTransforms(compose(transforms.values, invert(first)[None])), skeleton


@dataclass(frozen=True, slots=True)
class _RigSkin:
    """Joints and helpers with their weights, in problem units."""

    transforms: Float64  # (f,j+h,3,4)
    influences: Influences
    bone_type: BoneType
    skeleton: Skeleton | None  # in the rest pose
    motion: InputTransforms | None = None  # of the joints, if the rig provides it
    rounds: int = 0


def fit_to_rig(task: SkinTask, rig: SkinnedModel) -> Solution:
    """Weights for the joints of a rig, and helper bones."""
    options, problem = task.options, task.problem
    clustering = cluster_sample(task)
    report_progress(task.progress, "rig", 0.0)
    with task.watch.stage("rig"):
        fit = (_keep_motion if _brings_motion(task.sequence, rig) else _find_motion)(task, rig)
    solved = problem.to_input(fit.transforms)
    keeps_motion = fit.motion is not None
    if fit.motion is not None:
        solved.values[:, : rig.n_bones] = fit.motion.values  # bit for bit
    names, skeleton = _with_helpers(rig.track.names, fit.skeleton, problem, fit.influences, solved)
    stretches = fit.bone_type != "rigid" and not keeps_motion and skeleton is not None
    solved, fit = _on_tree(task, fit, solved, skeleton, rig.n_bones if keeps_motion else 0)
    notes: tuple[str, ...] = ()
    if stretches and (stiff := _closer_rigid(task, rig, fit)) is not None:
        task = replace(task, options=change_options(options, bone_type="rigid"))
        solved, notes, stretches = problem.to_input(stiff.transforms), (STIFF,), False
        fit = stiff
    seconds = task.watch.seconds["rig"]
    report = FitReport("rig", seconds, iterations=fit.rounds, stopped_by="rounds", options={}, seed=options.seed)
    solution = Solution(
        solved,
        fit.influences,
        clustering.near_rigid_fraction,
        clustering.tolerance,
        np.empty(0, np.int32),
        (clustering.report, report),
        bone_type=fit.bone_type,
        names=names,
        skeleton=skeleton,
        keeps_motion=keeps_motion,
        warnings=(*notes, *_warnings(problem.error_percent(fit.influences.errors), keeps_motion)),
    )
    shaded = shade_solution(task, replace(solution, keeps_motion=keeps_motion or stretches))
    solution = replace(shaded, keeps_motion=keeps_motion)
    if not options.rank:
        return solution
    if options.preset == "paper":
        return correct_as_paper(task, solution)
    return correct_still_skin(task, solution) if keeps_motion or stretches else correct_solution(task, solution)


def _keep_motion(task: SkinTask, rig: SkinnedModel) -> _RigSkin:
    """Weights for joints with the rig's motion, and helpers."""
    options, problem, rounds = task.options, task.problem, 0

    def on_error(error_percent: float) -> None:
        nonlocal rounds
        rounds += 1
        report_progress(task.progress, "rig", 0.5, error_percent)

    motion, skeleton = _rig_motion(task.sequence, rig)
    joints = problem.from_input(motion)
    if options.preset == "paper":
        return _RigSkin(joints, _weigh(task, joints), bone_type_of(joints), skeleton, motion, 1)
    helpers = HelperOptions(options.influences, options.helpers, options.bone_type, options.stiffness, task.threads)
    transforms, influences = fit_helper_bones(problem, joints, helpers, on_error)
    if _same_vertices(task.sequence, rig):
        influences = better_of(_from_rig(task, rig, transforms), influences)
    bone_type = bone_type_of(joints)
    if options.helpers:
        bone_type = wider_type(bone_type, options.bone_type)
    return _RigSkin(transforms, influences, bone_type, skeleton, motion, rounds)


def _weigh(task: SkinTask, transforms: Float64, earlier: Influences | None = None) -> Influences:
    """Weights for given bones: the paper's, or forward selection."""
    if task.options.preset == "paper":
        return paper_influences(task.problem, transforms, task.options)
    return select_influences(task.problem, transforms, task.options.influences, earlier=earlier, threads=task.threads)


def _from_rig(task: SkinTask, rig: SkinnedModel, transforms: Float64) -> Influences:
    """Influences of a search that starts from the rig's own."""
    skin, n_vertices = rig.skin.take(task.vertices), len(task.vertices)
    order = np.argsort(-skin.weights, axis=1, kind="stable")
    bones = np.take_along_axis(skin.bones, order, axis=1).astype(np.int64)
    weights = np.take_along_axis(skin.weights, order, axis=1).astype(np.float64)
    known = Influences(bones, weights, np.zeros(n_vertices))
    return select_influences(task.problem, transforms, task.options.influences, earlier=known, threads=task.threads)


def _find_motion(task: SkinTask, rig: SkinnedModel) -> _RigSkin:
    """Joints fitted to the sequence, starting from the rig's weights, then refined with weights."""
    options, problem, threads = task.options, task.problem, task.threads
    start = bones_for_skin(problem, rig.skin.take(task.vertices), rig.n_bones, options)
    if options.preset == "paper":
        return _RigSkin(start, _weigh(task, start), options.bone_type, rig.skeleton, rounds=1)
    if options.helpers:
        found = select_influences(problem, start, options.influences, threads=threads)
        everywhere = np.ones(problem.n_vertices, np.bool_)
        while (missing := rig.n_bones + options.helpers - start.shape[1]) > 0:
            start = np.concatenate([start, place_bones(problem, found, missing, everywhere, threads)], axis=1)
            found = select_influences(problem, start, options.influences, threads=threads)
    # No relocation: a joint that restarts elsewhere is no longer the rig's.
    refine = replace(refine_options(options), moves=0, smooth=0.0)
    fit = refine_skin(problem, [start], options=refine, progress=task.progress)
    return _RigSkin(fit.transforms, fit.influences, options.bone_type, rig.skeleton)


def _warnings(error: float, keeps_motion: bool) -> tuple[str, ...]:
    if error < FAR_OFF:
        return ()
    what = "motion" if keeps_motion else "joints"
    return (f"the rig's {what} leave E at {error:.0f} %: does the rig belong to this sequence, in the same units?",)


def _with_helpers(
    joints: tuple[str, ...],
    skeleton: Skeleton | None,
    problem: FitProblem,
    influences: Influences,
    solved: InputTransforms,
) -> tuple[tuple[str, ...], Skeleton | None]:
    """Names of all bones, and the rig's tree with each helper as a child of the joint it shares most weight with."""
    n_joints, n_bones = len(joints), solved.n_bones
    names = distinct_names((*joints, *(f"helper_{h}" for h in range(n_bones - n_joints))))
    if skeleton is None or len(skeleton.names) != n_joints:
        return names, None
    parents, places = list(skeleton.parents), list(skeleton.world_from_joint)
    dense = influences.dense(n_bones)
    positions = problem.rest_to_input(problem.points[:, :3])
    for helper in range(n_joints, n_bones):
        share = dense[:, helper]
        parents.append(int((share @ dense[:, :n_joints]).argmax()))
        center = share @ positions / max(share.sum(), 1e-12)
        places.append(np.concatenate([np.eye(3), center[:, None]], axis=1).astype(np.float32))
    tree: Int32 = np.array(parents, np.int32)
    placed = np.stack(places).astype(np.float64)
    if n_bones > n_joints:  # helpers stretch along their own axes
        placed[n_joints:], _ = orient_joints(placed[n_joints:], solved.values[:, n_joints:])
    return names, Skeleton(names, tree, placed.astype(np.float32))


def _closer_rigid(task: SkinTask, rig: SkinnedModel, fit: _RigSkin) -> _RigSkin | None:
    """The fit of rigid joints, if it is closer than that of stretching joints on a tree."""
    stiff = _find_motion(replace(task, options=change_options(task.options, bone_type="rigid")), rig)
    return stiff if stiff.influences.squared_error < fit.influences.squared_error else None


def _on_tree(
    task: SkinTask, fit: _RigSkin, solved: InputTransforms, skeleton: Skeleton | None, n_kept: int
) -> tuple[InputTransforms, _RigSkin]:
    """Stretching bones projected onto the joint tree, and weights for them; the first `n_kept` stay unchanged."""
    if skeleton is None or fit.bone_type == "rigid" or n_kept == solved.n_bones:
        return solved, fit
    problem, options = task.problem, task.options
    best: tuple[InputTransforms, _RigSkin] | None = None
    found = fit
    for _ in range(TREE_ROUNDS if n_kept == 0 else 1):
        free = problem.to_input(found.transforms)
        on_tree = InputTransforms(project_on_tree(free.values, skeleton, range(n_kept, solved.n_bones)))
        transforms = problem.from_input(on_tree)
        weighed = _weigh(task, transforms, found.influences)
        if best is None or weighed.squared_error < best[1].influences.squared_error:
            best = on_tree, replace(fit, transforms=transforms, influences=weighed)
        again = refit_bones(problem, weighed.bones, weighed.weights, transforms, options)
        found = replace(fit, transforms=again, influences=weighed)
    assert best is not None
    if n_kept:
        best[0].values[:, :n_kept] = solved.values[:, :n_kept]  # bit for bit
    return best


# Weights for meshes of a character that use only some of its joints, or a fixed node.


def limit_bones(model: SkinnedModel, task: SkinTask, limits: BoneLimits) -> SkinnedModel:
    """The model with new weights where a vertex follows a bone that its mesh does not list."""
    bones, weights = model.skin.bones.copy(), model.skin.weights.copy()
    n_joints = 1 + max(max(listed) for listed in limits.bones)
    if all(limits.fixed) and model.n_bones > n_joints:
        raise OptionError("helpers: no mesh of the rig has a skin that they could be joints of; omit it")
    changed = False
    for group, listed in enumerate(limits.bones):
        added = () if limits.fixed[group] else range(n_joints, model.n_bones)
        allowed = np.array([*listed, *added], np.int64)
        mine = limits.group == group
        wrong = np.flatnonzero(mine & (~np.isin(bones, allowed) & (weights > 0)).any(axis=1))
        if not len(wrong):
            continue
        changed = True
        transforms = task.problem.from_input(model.track)[:, allowed]
        found = _weigh(task, transforms)
        rows = task.welded_of_vertex[wrong]
        bones[wrong], weights[wrong] = 0, 0
        width = found.bones.shape[1]
        bones[wrong, :width], weights[wrong, :width] = allowed[found.bones[rows]], found.weights[rows]
    return model.with_character(deformer=LinearBlend(Skin(bones, weights))) if changed else model
