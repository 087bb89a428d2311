"""Meshes, stick skeletons and poses of the figures, and pictures of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.kinematics import pose_joints
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import is_flat, weld_points
from osteon.core.transforms import rotation_from_axis_angle
from osteon.papers.panels import PANEL, overlaid, shot
from osteon.papers.run import PaperRun
from osteon.report.gallery import Picture
from osteon.report.picture import bone_colors
from osteon.report.raster import Camera, DrawOptions, Image, frame_camera
from osteon.report.stick_overlay import BoneStyle, draw_bones, draw_edges

#: sRGB of a body, and of triangles that nothing controls.
SKIN, PALE = (0.86, 0.70, 0.54), (0.88, 0.87, 0.85)


@dataclass(frozen=True, slots=True)
class Body:
    """A mesh with its skeleton and named poses."""

    name: str
    vertices: Float64  # (v,3)
    faces: Int32  # (t,3)
    skeleton: StickSkeleton
    poses: dict[str, PoseTrack]
    view: DrawOptions
    measured: bool = False  # from the folder of data


#: Mesh and skeleton of `--data` for models of the paper.
FILES = {"armadillo": ("armadillo.obj", "armadillo_full.skel"), "palm": ("hand.mesh", "hand.tgf")}
#: Angles at all joints of the poses of measured bodies, degrees.
BENDS = (15.0, 25.0)


def body_of(run: PaperRun, name: str) -> Body:
    """The body for a model of the paper: 'cartoon', 'dinopet', 'armadillo', 'horse', 'female', 'palm'."""
    return run.once(f"body {name}", lambda: _measured(run, name) or BUILT_IN[name](run))


def _measured(run: PaperRun, name: str) -> Body | None:
    mesh, sticks = (run.mesh_file(file) for file in FILES.get(name, ("", "")))
    if mesh is None or sticks is None:
        return None
    from osteon.io import load_sequence
    from osteon.io.skeletons import load_skeleton

    rest, skeleton = load_sequence([str(mesh)]), load_skeleton(sticks)
    poses = {f"all joints by {angle:g} degrees": bent_pose(skeleton, angle, k) for k, angle in enumerate(BENDS)}
    view = replace(PANEL, azimuth=25.0)
    return Body(mesh.stem, rest.rest.astype(np.float64), rest.faces, skeleton, poses, view, True)


def bent_pose(skeleton: StickSkeleton, degrees: float, seed: int) -> PoseTrack:
    """Every joint with children is rotated about an axis across its bone, in either direction."""
    rng = np.random.default_rng(seed)
    tree, matrices = skeleton.tree, {}
    for j in np.flatnonzero(tree.above >= 0).tolist():
        axis = np.cross(skeleton.joints[j] - skeleton.joints[tree.above[j]], rng.normal(size=3))
        matrices[j] = rotation_from_axis_angle(axis, np.radians(degrees) * rng.choice([-1.0, 1.0]))
    joints, rotations = pose_joints(skeleton, matrices, {})
    return PoseTrack(joints[None], rotations=rotations[None])


def _clips(track: PoseTrack, names: Sequence[str]) -> dict[str, PoseTrack]:
    """The first pose of each named clip."""
    starts = {clip.name: clip.start for clip in track.clips}
    return {name: track.frame(starts[name]) for name in names}


def _cartoon(run: PaperRun) -> Body:
    from osteon.synth.cartoon import cartoon_poses, make_cartoon

    vertices, faces, skeleton = make_cartoon(0.08)
    poses = _clips(cartoon_poses(skeleton, 4), ("wave", "jump", "kick", "lean"))
    view = replace(
        PANEL, height=400, azimuth=0.0, elevation=0.0, projection="orthographic", shading="none", shadow=False
    )
    return Body("cartoon cat", vertices, faces, skeleton, poses, view)


def _figure(run: PaperRun, name: str, scale: tuple[float, float, float], cells: int, poses: tuple[str, ...]) -> Body:
    """The built-in figure, stretched along the axes before it is posed."""
    from osteon.synth.figure import figure_poses, make_figure

    vertices, faces, skeleton = make_figure(run.size(cells, 30))
    skeleton = replace(skeleton, joints=skeleton.joints * scale)
    tracks = _clips(figure_poses(skeleton, 4), poses)
    return Body(name, vertices * scale, faces, skeleton, tracks, replace(PANEL, height=400, azimuth=35.0))


def _fox(run: PaperRun) -> Body:
    """The fox in frames of its gallop, with the bones of its gait as sticks."""
    from osteon.synth.creature import build_body
    from osteon.synth.gait import BONES, GaitVariation, gallop

    vertices, faces = build_body(run.size(90, 40))
    bones = list(BONES.values())
    ends = np.array([[bone.head, bone.tail] for bone in bones], np.float64)
    unique, joint_of = weld_points(ends.reshape(-1, 3))
    skeleton = StickSkeleton(ends.reshape(-1, 3)[unique], joint_of.reshape(-1, 2), name="fox")
    pose = gallop(np.array([0.1, 0.45, 0.8]), GaitVariation.from_seed(0))
    rotations = np.stack([pose.rotations[bone.name] for bone in bones], axis=1)
    heads = np.stack([pose.heads[bone.name] for bone in bones], axis=1)
    tails = heads + np.einsum("fbij,bj->fbi", rotations, ends[:, 1] - ends[:, 0])
    joints = np.stack([heads, tails], axis=2).reshape(len(heads), -1, 3)[:, unique]
    track = PoseTrack(joints, rotations=rotations)
    poses = {f"gallop, {name}": track.frame(f) for f, name in enumerate(("landing", "flight", "gathered"))}
    return Body("fox", vertices, faces, skeleton, poses, replace(PANEL, azimuth=75.0))


def _palm(run: PaperRun) -> Body:
    from osteon.synth.hand import hand_limits, make_hand
    from osteon.synth.posing import rotate_joints

    vertices, faces, skeleton = make_hand(run.size(70, 30))

    def bent(parts: dict[str, float]) -> PoseTrack:
        rotations = {
            limit.joint: limit.rotation(parts.get(limit.joint.split(".")[0], 0.0) * limit.high)[None]
            for limit in hand_limits()
            if limit.name != "spread"
        }
        return rotate_joints(skeleton, rotations, np.zeros((1, 3)))

    poses = {
        "point": bent({"thumb": 0.7, "middle": 0.8, "ring": 0.85, "little": 0.85}),
        "two fingers": bent({"thumb": 0.8, "ring": 0.8, "little": 0.8}),
        "half closed": bent(dict.fromkeys(("thumb", "index", "middle", "ring", "little"), 0.5)),
    }
    return Body("hand", vertices, faces, skeleton, poses, replace(PANEL, height=400, azimuth=35.0, elevation=20.0))


#: What replaces each model of the paper.
BUILT_IN: dict[str, Callable[[PaperRun], Body]] = {
    "cartoon": _cartoon,
    "dinopet": lambda run: _figure(run, "figure", (1.0, 1.0, 1.0), 80, ("wave", "run", "sit")),
    "armadillo": lambda run: _figure(run, "stout figure", (1.15, 0.92, 1.3), 110, ("bow", "wave", "run")),
    "horse": _fox,
    "female": lambda run: _figure(run, "slim figure", (0.85, 1.12, 0.85), 95, ("sit", "run", "bow")),
    "palm": _palm,
}


def camera_of(body: Body, clouds: Sequence[FloatArray]) -> Camera:
    """One camera for several poses."""
    return frame_camera(np.concatenate(clouds), body.view)


def picture(
    body: Body,
    points: Float64,
    colors: object,
    caption: str,
    *,
    joints: Float64 | None = None,
    style: BoneStyle | None = None,
    camera: Camera | None = None,
) -> Picture:
    """The mesh in a pose, with its bones on top if `joints` are given; a flat mesh with the edges of its triangles."""
    one = shot(points, body.faces, colors, caption, options=body.view, camera=camera)

    def draw(image: Image, seen: Camera) -> Image:
        if is_flat(body.vertices):
            image = draw_edges(image, points, body.faces, seen)
        if joints is None:
            return image
        return draw_bones(image, joints, body.skeleton.bones, seen, style=style or BoneStyle(size=0.6))

    return overlaid(one, draw)


def segment_paint(labels: Int32, n_bones: int) -> Float64:
    """(t,3) the colour of each triangle's bone; pale where none controls it."""
    found: Float64 = np.where((labels >= 0)[:, None], bone_colors(n_bones)[labels], np.asarray(PALE))
    return found


def colored_bones(body: Body) -> BoneStyle:
    """Bones in the colours of their segments."""
    return BoneStyle(colors=bone_colors(body.skeleton.n_bones), size=0.6)
