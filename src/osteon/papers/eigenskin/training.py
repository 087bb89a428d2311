"""The simulated hand of the figures: its flesh, its training poses (4) and its skeleton (6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32
from osteon.core.kinematics import JointLimit
from osteon.core.mesh import Mesh
from osteon.core.progress import report_progress
from osteon.elastic.body import ElasticBody
from osteon.elastic.lattice import lattice_around
from osteon.elastic.options import SweepOptions
from osteon.elastic.pose_workers import PoseTask, pose_many
from osteon.elastic.sweep import PlannedPose, plan_sweep
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.io.poses.pose_set import PoseSet
from osteon.papers.entries import Compared, Panels, Shown
from osteon.papers.panels import FLESH, PANEL, hand_view, overlaid, panels, shot
from osteon.papers.run import PaperRun
from osteon.pipeline.eigenskin import LearnedSkin, learn_eigenskin, rig_of_mesh
from osteon.report.raster import Camera, DrawOptions, Image, frame_camera
from osteon.report.stick_overlay import BoneStyle, draw_bones
from osteon.synth.hand import hand_limits, make_hand

#: Joints that are simulated, and those of a trial; only the root of the thumb spreads.
JOINTS = ("thumb.1", "thumb.2", "thumb.3", "index.1", "index.2", "index.3")
FEW_JOINTS = ("thumb.1", "thumb.2", "thumb.3", "index.1")
#: The joint at the root of the thumb.
ROOT = "thumb.1"
#: How far all joints rotate in the unseen pose, and in the other one that is shown.
UNSEEN, OTHER = 0.8, 0.45


@dataclass(frozen=True, slots=True)
class Hand:
    """The hand, its poses, and the size of the simulation."""

    poses: PoseSet  # the last two are for validation
    n_elements: int
    n_axes: int  # axes of all simulated joints


def simulated_hand(run: PaperRun) -> Hand:
    """Poses of single joints, and two of all joints; all figures share them."""
    return run.once("simulated hand", lambda: _simulate(run))


def _limits(run: PaperRun) -> tuple[JointLimit, ...]:
    joints = FEW_JOINTS if run.options.quick else JOINTS
    return tuple(one for one in hand_limits() if one.joint in joints and (one.joint == ROOT or one.name != "spread"))


def _simulate(run: PaperRun) -> Hand:
    vertices, faces, skeleton = make_hand(run.size(50, 32))
    mesh = Mesh(vertices.astype(np.float32), faces, name="hand")
    solid = lattice_around(mesh, float(np.ptp(vertices, axis=0).max()) / run.size(30, 18))
    body, limits = ElasticBody.of(solid, skeleton), _limits(run)
    sweep = SweepOptions(sweep=True, each=run.size(6, 3), pairs=False, validate=0)
    planned = plan_sweep(skeleton, limits, sweep)
    number = {name: j for j, name in enumerate(skeleton.names)}
    for name, part in (("unseen", UNSEEN), ("other", OTHER)):
        bends = {number[one.joint]: one.rotation(part * one.high) for one in limits if one.name != "spread"}
        planned.append(PlannedPose(name, "validate", bends))
    tasks = [PoseTask(k, pose.joint_rotations) for k, pose in enumerate(planned)]
    frames = np.empty((len(planned), mesh.n_vertices, 3), np.float32)
    jobs = 1 if run.options.quick else run.options.threads
    for count, done in enumerate(pose_many(body, tasks, jobs)):
        frames[done.number] = done.posed.surface
        report_progress(run.progress, "simulate", (count + 1) / len(planned))
    turns = np.tile(np.eye(3), (len(planned), skeleton.n_joints, 1, 1))
    for pose, turn in zip(planned, turns, strict=True):
        for joint, rotation in pose.joint_rotations.items():
            turn[joint] = rotation
    kinds, names = tuple(pose.kind for pose in planned), tuple(pose.name for pose in planned)
    return Hand(PoseSet(mesh, skeleton, frames, turns, kinds, names), len(solid.tets), len(limits))


def learned_hand(run: PaperRun, per_joint: int = 1) -> LearnedSkin:
    """EigenSkin of the hand by the paper's recipe, with so many columns per joint and as many of normals."""
    hand = simulated_hand(run)
    options = EigenSkinOptions(preset="paper", per_joint=per_joint, threads=run.options.threads)

    def learn() -> LearnedSkin:
        rig = rig_of_mesh(hand.poses.mesh, hand.poses.skeleton, options)
        return learn_eigenskin(rig, hand.poses, options=options, progress=run.progress)

    return run.once(f"learned hand {per_joint}", learn)


def view_of_hand() -> DrawOptions:
    """The view of all pictures of the hand."""
    return hand_view(DrawOptions(width=PANEL.width, height=PANEL.width))


def camera_of_poses(points: list[Float32]) -> Camera:
    """One camera for several poses."""
    return frame_camera(np.concatenate(points), view_of_hand())


#: Poses of figure 4.
SHOWN = 8


def training_poses(run: PaperRun) -> Shown:
    """Figure 4: some of the poses, evenly chosen."""
    hand = simulated_hand(run)
    poses = hand.poses
    training = [p for p, kind in enumerate(poses.kinds) if kind == "train"]
    chosen = [training[i] for i in np.linspace(0, len(training) - 1, SHOWN).round().astype(int)]
    camera = camera_of_poses([poses.frames[p] for p in chosen])
    shots = [
        shot(poses.frames[p], poses.mesh.faces, FLESH, _words(poses.names[p]), options=view_of_hand(), camera=camera)
        for p in chosen
    ]
    per_axis = len(training) / hand.n_axes
    why_elements = "Ours are linear tetrahedra of a lattice; the paper's have ten nodes each and follow the skin."
    why_poses = "Poses that rotate the root of the thumb about both of its axes at once count as well."
    why_size = "The built-in hand is coarse, so that all poses are simulated in this run."
    compared = (
        Compared("poses per axis of a joint", 6, per_axis, "section 3", why=why_poses),
        Compared("elements", 11171, hand.n_elements, "section 3", why=why_elements),
        Compared("triangles", 13976, poses.mesh.n_triangles, "Figure 7", why=why_size),
    )
    text = f"{SHOWN} of {len(training)} simulated poses of the built-in hand, one joint each."
    return Shown(text, (panels(shots, 4),), compared, {"poses": [poses.names[p] for p in training]})


def _words(name: str) -> str:
    """'thumb.1_bend_+35' as 'thumb.1 bend +35 degrees'."""
    return f"{name.replace('_', ' ')} degrees"


def skeleton(run: PaperRun) -> Shown:
    """Figure 6: the stick skeleton inside the hand."""
    poses = simulated_hand(run).poses
    sticks, bent = poses.skeleton, poses.names.index("unseen")
    rest = shot(poses.mesh.rest, poses.mesh.faces, FLESH, "the bones at rest", options=view_of_hand())
    plain = shot(poses.frames[bent], poses.mesh.faces, FLESH, "a pose of all simulated joints", options=view_of_hand())

    def bones(image: Image, camera: Camera) -> Image:
        return draw_bones(image, sticks.joints, sticks.bones, camera, style=BoneStyle(size=0.7))

    pictures = (overlaid(rest, bones), plain.draw())
    text = f"{sticks.n_bones} bones and {sticks.n_joints} joints; flesh is held around each bone, clear of the joints."
    return Shown(text, (Panels(pictures, 2),), numbers={"bones": sticks.n_bones, "joints": sticks.n_joints})
