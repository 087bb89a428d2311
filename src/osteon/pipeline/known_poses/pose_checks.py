"""Poses whose mesh says something else: which of the likely mistakes explains it best.

For each pose the rig's skin is posed anew under every hypothesis: a joint rotated the other way, about another axis,
not at all, or another joint in its place; all joints the other way; a neighbouring frame of the clip. d_v is the
distance of a vertex of the mesh from the skin as given, h_v from the skin under a hypothesis:

    gain = sum_v d_v^2 - h_v^2,       left^2 = sum_v h_v^2 / sum_v d_v^2   over vertices that the hypothesis moves

The hypothesis of the largest gain is named if it leaves less than `EXPLAINED` there. A right pose is never explained
better that way by flesh alone: a bulge is no rigid motion of a limb. A pose that stands out of all without any such
cause is named, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.character import Character
from osteon.core.progress import Progress, report_progress
from osteon.core.transforms import rotation_from_axis_angle
from osteon.deform.pose import pose_points
from osteon.deform.pose_skeleton import joint_rotations_of_transforms, transforms_of_joint_rotations
from osteon.io.skeletons.rig import printable_names
from osteon.pipeline.known_poses.rig_poses import RigPoses

#: Vertices that are compared.
SAMPLED = 1500
#: A hypothesis must leave less than this of the distance, and remove more than this part of the diagonal (RMS).
EXPLAINED, WORTH = 0.6, 2e-3
#: A hypothesis must explain this much more than one that was tried before: a rotation the other way about X is one
#: about -X.
CLEARLY = 1.01
#: Rotations below these degrees are no hypothesis: of a sign, of another joint.
ROTATED, CARRIED = 2.0, 5.0
#: Vertices that a hypothesis moves by less than this part of the most are not its own.
OWN = 0.1
#: Frames to both sides that are tried.
NEIGHBOURS = 4
#: Joints that move in poses for which every other joint is tried.
FEW = 3
#: Distances over the median, and over the diagonal, of a pose that stands out.
STANDS_OUT, FAR = 4.0, 0.01
#: All frames are late or early if that makes the median distance this much smaller.
SHIFTED = 0.8
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True, slots=True)
class PoseDoubt:
    """A pose that does not fit its mesh, and the likely cause."""

    pose: str
    cause: str  # "wrong sign", "other joint", "other axis", "not rotated", "other frame", "unknown"
    joint: str  # "": none in particular
    text: str  # what would fit
    error: float  # RMS distance of the vertices concerned from the skin as given, over the diagonal
    explained: float  # the same if the cause is right

    def to_json(self) -> dict[str, object]:
        return {
            "pose": self.pose,
            "cause": self.cause,
            "joint": self.joint,
            "text": self.text,
            "error_percent_of_diagonal": 100 * self.error,
            "explained_percent_of_diagonal": 100 * self.explained,
        }

    @property
    def note(self) -> str:
        if self.cause == "unknown":
            return f"pose '{self.pose}': {self.text}"
        return (
            f"pose '{self.pose}': its mesh fits better {self.text} ({100 * self.explained:.2f} instead of "
            f"{100 * self.error:.2f} % of the diagonal off the skin): {self.cause}?"
        )


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    cause: str
    joint: str
    text: str
    transforms: Float64  # (b,3,4)


def check_poses(
    character: Character, poses: RigPoses, *, threads: int = 0, progress: Progress | None = None
) -> tuple[PoseDoubt, ...]:
    """Poses whose meshes are explained much better by a mistake, and those that stand out, in their order."""
    check = _Check.of(character, poses, threads)
    doubts: list[PoseDoubt] = []
    median = float(np.median(check.errors))
    for p in range(len(poses.kinds)):
        report_progress(progress, "check", p / len(poses.kinds))
        found = check.doubt(p)
        if found is None and check.errors[p] > max(STANDS_OUT * median, FAR):
            said = f"the skin is {100 * check.errors[p]:.1f} % of the diagonal off, in the median pose "
            said += f"{100 * median:.1f} %; no wrong sign, axis, joint or frame explains it"
            found = PoseDoubt(poses.known.names[p], "unknown", "", said, float(check.errors[p]), float(check.errors[p]))
        if found is not None:
            doubts.append(found)
    return tuple(doubts)


def frame_shift(character: Character, poses: RigPoses, *, threads: int = 0) -> int:
    """By how many frames of the clip all meshes are late; 0 if that explains nothing."""
    check = _Check.of(character, poses, threads)
    medians = {}
    for step in range(-NEIGHBOURS, NEIGHBOURS + 1):
        moved = poses.frames + step
        inside = np.flatnonzero((poses.frames >= 0) & (moved >= 0) & (moved < len(poses.clip)))
        if len(inside) * 2 < len(poses.frames):
            continue
        off = check.distances(poses.clip[moved[inside]], inside)
        given = check.distances(poses.clip[poses.frames[inside]], inside)
        medians[step] = float(np.median(np.sqrt((off**2).mean(axis=1)) / np.sqrt((given**2).mean(axis=1)).clip(1e-300)))
    best = min(medians, key=lambda step: (medians[step], abs(step)), default=0)
    return best if medians.get(best, 1.0) < SHIFTED else 0


@dataclass(frozen=True, slots=True)
class _Check:
    """The rig, thinned to some of its vertices."""

    character: Character
    poses: RigPoses
    vertices: Int32  # (n,)
    rest: Float64  # (n,3)
    rotations: Float64  # (p,j,3,3)
    shifts: Float64  # (p,r,3)
    threads: int
    given: Float64  # (p,n,3) the skin as the poses were given
    errors: Float64  # (p,) RMS distance over the diagonal

    @staticmethod
    def of(character: Character, poses: RigPoses, threads: int) -> _Check:
        used = np.unique(character.mesh.faces)
        vertices = used[:: max(1, len(used) // SAMPLED)].astype(np.int32)
        rest = character.mesh.rest[vertices].astype(np.float64)
        assert character.skeleton is not None
        rotations, shifts = joint_rotations_of_transforms(character.skeleton, poses.known.transforms)
        thin = character.deformer.take(vertices)
        given = np.asarray(pose_points(thin, rest[None], poses.known.transforms, threads=threads), np.float64)
        off = np.sqrt(np.square(poses.known.frames[:, vertices] - given).sum(axis=2).mean(axis=1))
        return _Check(
            character, poses, vertices, rest, rotations, shifts, threads, given, off / character.mesh.diagonal
        )

    def skin(self, transforms: Float64) -> Float64:
        """(h,n,3)"""
        thin = self.character.deformer.take(self.vertices)
        return np.asarray(pose_points(thin, self.rest[None], transforms, threads=self.threads), np.float64)

    def distances(self, transforms: Float64, poses: Int64) -> Float64:
        """(p,n) of the meshes of some poses from the skin with these transforms."""
        meshes = self.poses.known.frames[poses][:, self.vertices]
        return np.asarray(np.linalg.norm(meshes - self.skin(transforms), axis=2))

    def doubt(self, p: int) -> PoseDoubt | None:
        """The hypothesis that explains the mesh of a pose much better, if there is one."""
        tried = list(self._hypotheses(p))
        if not tried:
            return None
        mesh, diagonal = self.poses.known.frames[p][self.vertices], self.character.mesh.diagonal
        skins = self.skin(np.stack([one.transforms for one in tried]))
        before = np.square(mesh - self.given[p]).sum(axis=1)
        best: tuple[float, PoseDoubt] | None = None
        for one, skin in zip(tried, skins, strict=True):
            moved = np.linalg.norm(skin - self.given[p], axis=1)
            own = moved >= max(OWN * float(moved.max()), 1e-9 * diagonal)
            if not own.any():
                continue
            after = np.square(mesh - skin).sum(axis=1)
            gain = float((before - after).sum())
            error, left = (float(np.sqrt(off[own].mean())) / diagonal for off in (before, after))
            if left > EXPLAINED * error or error - left < WORTH or (best is not None and gain <= CLEARLY * best[0]):
                continue
            best = gain, PoseDoubt(self.poses.known.names[p], one.cause, one.joint, one.text, error, left)
        return None if best is None else best[1]

    def _hypotheses(self, p: int) -> Iterator[_Hypothesis]:
        yield from self._other_rotations(p)
        frame, clip = int(self.poses.frames[p]), self.poses.clip
        for step in (*range(-NEIGHBOURS, 0), *range(1, NEIGHBOURS + 1)):
            if frame >= 0 and 0 <= frame + step < len(clip):
                yield _Hypothesis("other frame", "", f"in frame {frame + step} of the clip", clip[frame + step])

    def _other_rotations(self, p: int) -> Iterator[_Hypothesis]:
        skeleton, rotations = self.character.skeleton, self.rotations[p]
        assert skeleton is not None
        names = printable_names(skeleton.names)
        angles = _degrees(rotations)
        moved = np.flatnonzero(angles > ROTATED).tolist()

        def posed(changed: dict[int, Float64]) -> Float64:
            local = rotations.copy()
            for j, matrix in changed.items():
                local[j] = matrix
            found: Float64 = transforms_of_joint_rotations(skeleton, local[None], self.shifts[p][None])[0]
            return found

        if len(moved) > 1:
            yield _Hypothesis(
                "wrong sign", "", "with all joints rotated the other way", posed({j: rotations[j].T for j in moved})
            )
        for j in moved:
            here = f"joint '{names[j]}'"
            yield _Hypothesis("wrong sign", names[j], f"with {here} rotated the other way", posed({j: rotations[j].T}))
            yield _Hypothesis("not rotated", names[j], f"with {here} at rest", posed({j: np.eye(3)}))
            if angles[j] <= CARRIED:
                continue
            for k in self._other_joints(j, moved, names):
                text = f"with joint '{names[k]}' rotated in place of '{names[j]}'"
                yield _Hypothesis("other joint", names[k], text, posed({j: rotations[k], k: rotations[j]}))
            if len(moved) <= FEW:
                for axis, direction in AXES.items():
                    for sign in (1, -1):
                        turn = rotation_from_axis_angle(np.array(direction), sign * np.radians(angles[j]))
                        text = f"with {here} rotated about {'-' if sign < 0 else ''}{axis}"
                        yield _Hypothesis("other axis", names[j], text, posed({j: turn}))

    def _other_joints(self, j: int, moved: list[int], names: tuple[str, ...]) -> list[int]:
        """Joints that may have been meant: all, or where many move the one of the other side and the neighbours."""
        skeleton = self.character.skeleton
        assert skeleton is not None
        parents = skeleton.parents.tolist()
        if len(moved) <= FEW:
            return [k for k in range(len(names)) if k != j]
        near = [parents[j], *(k for k, parent in enumerate(parents) if parent == j)]
        other = _other_side(names[j])
        near += [k for k, name in enumerate(names) if name in other]
        return sorted({k for k in near if k >= 0 and k != j})


def _degrees(rotations: Float64) -> Float64:
    trace = np.einsum("jii->j", rotations)
    return np.asarray(np.degrees(np.arccos(np.clip((trace - 1) / 2, -1, 1))))


def _other_side(name: str) -> set[str]:
    """Names with left for right."""
    pairs = (("Left", "Right"), ("left", "right"), ("_L", "_R"), (".L", ".R"), ("_l", "_r"), ("L_", "R_"), (".l", ".r"))
    both = [*pairs, *((b, a) for a, b in pairs)]
    return {name.replace(a, b) for a, b in both if a in name}
