"""Cross-sections along a bone that is twisted by 180 degrees, in the two kinds of twist and by linear blending (ssd).

The area of a section is half the sum of p x q over the segments p q in which a plane across the bone cuts triangles.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import rotation_from_axis_angle
from osteon.simplex.options import BoneOptions
from osteon.simplex.poser import Poser, PoserOptions
from osteon.synth.figure import make_figure
from osteon.synth.shapes import make_tube
from osteon_bench.rows import Row, at_least, figure

#: Sections between these positions on the bone; the rest belongs to its joints.
SECTIONS = np.linspace(0.15, 0.85, 29)
#: Least area of a section over that at rest that `--twist section` must keep.
KEPT = 0.97


def section_areas(vertices: Float64, faces: Int32, ends: Float64, places: Float64) -> Float64:
    """(n,) areas in which planes across the line between `ends` (2,3), at places 0 … 1 of it, cut triangles."""
    axis = ends[1] - ends[0]
    height = (vertices - ends[0]) @ axis / (axis @ axis)
    unit = axis / np.linalg.norm(axis)
    return np.array([abs(_area(vertices, faces, height - place, unit)) for place in places])


def _area(vertices: Float64, faces: Int32, height: Float64, unit: Float64) -> float:
    """Signed area: each triangle contributes a segment, with its outside on the right."""
    above = height[faces] > 0
    cut = above.any(axis=1) & ~above.all(axis=1)
    total = 0.0
    for corners, sides in zip(faces[cut], above[cut], strict=True):
        ends: dict[bool, Float64] = {}
        for a, b, up, next_up in zip(corners, np.roll(corners, -1), sides, np.roll(sides, -1), strict=True):
            if up != next_up:
                share = height[a] / (height[a] - height[b])
                ends[bool(up)] = vertices[a] + share * (vertices[b] - vertices[a])
        total += float(np.cross(ends[True], ends[False]) @ unit) / 2
    return total


def twisted_areas(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, bone: int, options: PoserOptions, degrees: float = 180.0
) -> Float64:
    """Areas along a bone that is twisted from 0 to `degrees`, over those at rest; descendants rotate with its end."""
    twist = np.zeros((1, skeleton.n_bones, 2))
    twist[0, bone, 1] = np.radians(degrees)
    rotations = np.tile(np.eye(3), (1, skeleton.n_bones, 1, 1))
    turned = rotation_from_axis_angle(skeleton.vectors[bone], np.radians(degrees))
    joints = skeleton.joints.copy()
    head = skeleton.bones[bone, 1]
    for b in skeleton.tree.order.tolist():
        above = int(skeleton.tree.parent[b])
        if above == bone or (above >= 0 and not np.array_equal(rotations[0, above], np.eye(3))):
            rotations[0, b] = turned
            tail = skeleton.bones[b].sum() - skeleton.tree.head[b]
            joints[tail] = joints[head] + turned @ (skeleton.joints[tail] - skeleton.joints[head])
    track = PoseTrack(joints[None], rotations=rotations, twist=twist)
    posed = Poser.of(vertices, faces, skeleton, options=options).pose(track)[0]
    ends = skeleton.joints[skeleton.bones[bone]]
    return section_areas(posed, faces, ends, SECTIONS) / section_areas(vertices, faces, ends, SECTIONS)


def twist_rows() -> list[Row]:
    """Rows of a tube and of the upper arm of the built-in figure."""
    tube = make_tube(24, 48, radius=0.25, length=1.0)
    place = tube.vertices.astype(np.float64)
    middle, axis = place.mean(axis=0), np.ptp(place, axis=0).argmax()
    ends = np.tile(middle, (2, 1))
    ends[:, axis] = place[:, axis].min(), place[:, axis].max()
    sticks = StickSkeleton(ends, np.array([[0, 1]]), ("a", "b"), 0)
    subjects = {"tube of length 4 r": (place, tube.faces, sticks, 0)}
    vertices, faces, skeleton = make_figure()
    arm = longest_limb(skeleton)
    subjects[f"figure, {skeleton.bone_name(arm)}"] = (vertices, faces, skeleton, arm)
    rows = []
    for name, subject in subjects.items():
        case = f"{name}, twisted by 180 degrees"
        metric = "least area of a section over that at rest"
        paper = twisted_areas(*subject, PoserOptions())
        alone = twisted_areas(*subject, PoserOptions(bones=BoneOptions(twist="section")))
        blended = twisted_areas(*subject, PoserOptions(method="ssd"))
        rows.append(at_least(case, f"{metric}, --twist section", float(alone.min()), KEPT))
        rows.append(figure(case, f"{metric}, as in the paper", float(paper.min())))
        rows.append(figure(case, f"{metric}, ssd", float(blended.min())))
    return rows


def longest_limb(skeleton: StickSkeleton) -> int:
    """The longest bone that has descendants and is no root."""
    tree = skeleton.tree
    inner = [b for b in range(skeleton.n_bones) if tree.parent[b] >= 0 and (tree.parent == b).any()]
    return max(inner, key=lambda b: float(np.linalg.norm(skeleton.vectors[b])))
