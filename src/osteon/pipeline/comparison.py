"""The results of a comparison of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from osteon import __version__
from osteon.core.animation import Animation, BoneTrack, Clip
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.character import Character, Deformer, Skeleton
from osteon.core.frames import frame_centers
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import compose, identity
from osteon.deform.pose import pose_character
from osteon.fit.models.registry import BASELINE, ContestantSweep
from osteon.fit.poses import PoseDistances
from osteon.measure.deviation import Deviation
from osteon.measure.distortion import Distortion, Worst
from osteon.pipeline.options import CompareOptions

# The pose of every frame of the input, and the position of the body in it.
#
# Frames that repeat a pose are not part of a comparison. The result includes them nevertheless, with the bones of the
# repeated pose and the rigid motion from that pose to the frame.


@dataclass(frozen=True, slots=True)
class FramePlaces:
    """All frames of the input as distinct poses that were moved."""

    clips: tuple[Clip, ...]  # of the input
    poses: Int32  # (f,) which of the distinct poses per frame shows
    frame_from_pose: Float64  # (f,3,4) rigid

    def transforms(self, of_poses: Float64) -> Float64:
        """(f,b,3,4) bones of all frames from those (p,b,3,4) of the distinct poses."""
        return compose(self.frame_from_pose[:, None], of_poses[self.poses])


def place_frames(sequence: MeshSequence, distances: PoseDistances, distinct: Int32) -> FramePlaces:
    """The distinct pose most similar to each frame, and the rigid motion from the pose to the frame."""
    poses = np.searchsorted(distinct, np.arange(sequence.n_frames)).astype(np.int32)
    motions = identity(sequence.n_frames)
    centers = frame_centers(sequence.source)
    for frame in np.setdiff1d(np.arange(sequence.n_frames), distinct):
        poses[frame] = distances.between(int(frame))[distinct].argmin()
        shown = int(distinct[poses[frame]])
        motions[frame, :, :3] = distances.aligning_rotation(int(frame), shown)
        motions[frame, :, 3] = centers[frame] - motions[frame, :, :3] @ centers[shown]
    return FramePlaces(sequence.clips, poses, motions)


@dataclass(frozen=True, slots=True)
class PoseMeasures:
    """Errors of a model in some poses."""

    frames: Int32  # (n,) of the input
    distortion: Distortion
    deviation: Deviation

    def to_json(self) -> dict[str, Any]:
        off, apart = self.deviation, self.distortion
        return {
            "geometric_deviation": {
                "mean": off.mean,
                "rms": off.rms,
                "max": self._worst(off.worst),
                "mean_percent": off.percent(off.mean),
                "rms_percent": off.percent(off.rms),
                "max_percent": off.percent(off.worst.distance),
            },
            "normal_deviation_degrees": {
                "mean": off.normal_mean,
                "max": self._worst(off.normal_worst, "angle"),
            },
            "rms": apart.rms,
            "rms_percent": off.percent(apart.rms),
            "max": self._worst(apart.worst),
            # Poses that do not differ have no E.
            "error_percent": apart.error_percent if np.isfinite(apart.error_percent) else None,
            "per_frame": [
                {"frame": int(f), "geometric_mean": float(d), "normal_mean_degrees": float(n), "rms": float(r)}
                for f, d, n, r in zip(self.frames, off.per_frame, off.normal_per_frame, apart.per_frame, strict=True)
            ],
        }

    def _worst(self, worst: Worst, name: str = "distance") -> dict[str, float | int]:
        return {name: worst.distance, "vertex": worst.vertex, "frame": int(self.frames[worst.frame])}


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Storage and time of a model, without the rest pose and bones, which all models share."""

    slots: int  # bones per vertex
    floats: int
    bytes: int  # of its arrays, indices too
    multiply_adds: int  # a vertex
    nanoseconds: float  # a vertex, measured on one thread


@dataclass(frozen=True, slots=True)
class ModelResult:
    """One model of a comparison."""

    word: str
    title: str
    character: Character  # of all vertices
    training: PoseMeasures
    unseen: PoseMeasures
    cost: ModelCost
    seconds: float  # of its fit
    sweep: ContestantSweep | None = None
    strength: float | None = None  # lambda; infinite: the start of the fit was kept

    @property
    def deformer(self) -> Deformer:
        return self.character.deformer

    @property
    def growth(self) -> float:
        """Mean deviation on unseen poses over that on training poses."""
        return self.unseen.deviation.mean / max(self.training.deviation.mean, 1e-300)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Models that share bones and training poses, measured on these poses and on unseen ones."""

    sequence: MeshSequence  # the distinct poses; its rest pose is what the bones move
    n_frames: int  # of the input
    distinct: Int32  # (p,) frames of the input
    training: Int32  # (n,) poses
    transforms: Float64  # (p,b,3,4) posed_from_rest
    skeleton: Skeleton  # of the bones
    places: FramePlaces  # of the input
    results: tuple[ModelResult, ...]
    notes: tuple[str, ...]
    seconds: dict[str, float]
    options: CompareOptions
    peak_memory_mb: float = 0.0

    def __repr__(self) -> str:
        off = ", ".join(
            f"{result.word} {result.unseen.deviation.percent(result.unseen.deviation.mean):.3g} %"
            for result in self.ranked()
        )
        return f"Comparison('{self.sequence.name}': {self.n_bones} bones; mean deviation on unseen poses: {off})"

    @property
    def n_bones(self) -> int:
        return int(self.transforms.shape[1])

    @property
    def unseen(self) -> Int32:
        """Poses that no fit used."""
        rest: Int32 = np.setdiff1d(np.arange(len(self.distinct), dtype=np.int32), self.training)
        return rest

    @property
    def baseline(self) -> ModelResult | None:
        """The result of the linear blend skin, if it was compared."""
        return next((result for result in self.results if result.word == BASELINE), None)

    def ranked(self) -> tuple[ModelResult, ...]:
        """Closest on unseen poses first, by mean geometric deviation."""
        return tuple(sorted(self.results, key=lambda result: result.unseen.deviation.mean))

    def pose(self, result: ModelResult, poses: Sequence[int]) -> Float32:
        """(n,v,3) vertices of a model in some poses."""
        return pose_character(result.character, self.transforms[list(poses)])

    def animated(self, result: ModelResult) -> SkinnedModel:
        """A model on the skeleton that all share, in every frame of the input."""
        track = BoneTrack(self.places.transforms(self.transforms).astype(np.float32), "rigid", self.skeleton.names)
        character = replace(result.character, skeleton=self.skeleton)
        return SkinnedModel(character, Animation(track, self.places.clips))

    def to_json(self) -> dict[str, Any]:
        base = self.baseline
        return {
            "input": {
                "name": self.sequence.name,
                "frames": self.n_frames,
                "vertices": self.sequence.n_vertices,
                "triangles": self.sequence.n_triangles,
                "diagonal": self.sequence.diagonal,
            },
            "distinct_poses": self.distinct.tolist(),
            "training_poses": self.distinct[self.training].tolist(),
            "unseen_poses": self.distinct[self.unseen].tolist(),
            "bones": self.n_bones,
            "models": {result.word: self._model(result, base) for result in self.results},
            "closest_on_unseen_poses": self.ranked()[0].word,
            "options": asdict(self.options),
            "warnings": list(self.notes),
            "seconds": self.seconds,
            "peak_memory_mb": self.peak_memory_mb,
            "seed": self.options.seed,
            "version": __version__,
        }

    def _model(self, result: ModelResult, base: ModelResult | None) -> dict[str, Any]:
        over = None
        if base is not None and base.unseen.distortion.rms > 0:
            over = result.unseen.distortion.rms / base.unseen.distortion.rms
        return {
            "title": result.title,
            "kind": " + ".join([result.deformer.kind, *(one.kind for one in result.character.displacements)]),
            "training": result.training.to_json(),
            "unseen": result.unseen.to_json(),
            "unseen_rms_over_ssd": over,
            "cost": asdict(result.cost),
            "fit_seconds": result.seconds,
            "lambda": "infinite" if result.strength == np.inf else result.strength,
            "sweep": None if result.sweep is None else asdict(result.sweep),
        }
