"""The comparisons of models that all figures share: four animations, and the three models of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.sequence import MeshSequence
from osteon.measure.deviation import SourceSurface, normal_deviations, surface_deviations
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.pipeline.compare import compare_models
from osteon.pipeline.comparison import Comparison, ModelResult
from osteon.pipeline.options import CompareOptions

#: The models by the names that the paper has for them.
MODELS = {"as": "Animation Space", "ssd": "SSD", "mwe": "Multi-Weight Enveloping"}
#: The same as the paper prints them: weights of all bones, pulled towards zero, without a constraint.
AS_PRINTED = {"as-zero": "Animation Space as printed", "mwe-zero": "Multi-Weight Enveloping as printed"}
#: Training poses of the paper.
TRAINING = 10


@dataclass(frozen=True, slots=True)
class Animation:
    """One of the four animations, and the models that are compared on it."""

    name: str  # in sentences
    comparison: Comparison

    def result(self, word: str) -> ModelResult:
        return next(one for one in self.comparison.results if one.word == word)


def horse(run: PaperRun) -> Animation:
    """The galloping animal of the figures, with all three models, and two of them as printed."""
    found = find_subject(run, "horse")
    return run.once("compared horse", lambda: _compared(run, found.name, found.sequence, (*MODELS, *AS_PRINTED)))


def four_animations(run: PaperRun) -> tuple[Animation, ...]:
    """Galloping horse, bending arm, galloping camel and twisting arm, or what takes their places."""
    camel = find_subject(run, "camel")
    return (
        horse(run),
        run.once("compared bend", lambda: _compared(run, "bending arm", _arm(run, bend=110.0, twist=0.0))),
        run.once("compared camel", lambda: _compared(run, camel.name, camel.sequence)),
        run.once("compared twist", lambda: _compared(run, "twisting arm", _arm(run, bend=0.0, twist=170.0))),
    )


def _compared(run: PaperRun, name: str, sequence: MeshSequence, words: Sequence[str] = tuple(MODELS)) -> Animation:
    train = min(TRAINING, sequence.n_frames // 2)
    options = CompareOptions(models=",".join(words), train=train, threads=run.options.threads)
    return Animation(name, compare_models(sequence, options=options, progress=run.progress))


def _arm(run: PaperRun, *, bend: float, twist: float) -> MeshSequence:
    """A limb of two bones, posed without weights: its elbow bent, or its wrist twisted along the forearm."""
    from osteon.core.animation import Clip
    from osteon.core.pose_track import PoseTrack
    from osteon.core.sticks import StickSkeleton
    from osteon.core.transforms import rotation_from_axis_angle
    from osteon.simplex.options import BoneOptions
    from osteon.simplex.poser import Poser, PoserOptions
    from osteon.synth.shapes import make_tube

    tube = make_tube(20, run.size(48, 20), radius=0.13, length=2.0)
    points = tube.vertices.astype(np.float64)
    axis = int(np.ptp(points, axis=0).argmax())
    ends = np.zeros((3, 3))
    ends[:, axis] = np.linspace(points[:, axis].min(), points[:, axis].max(), 3)
    swell = 1 + 0.25 * np.cos(1.5 * np.pi * (points[:, axis] - ends[1, axis]))  # calf and biceps are thicker
    others = [i for i in range(3) if i != axis]
    points[:, others] *= swell[:, None]
    sticks = StickSkeleton(ends, np.array([[0, 1], [1, 2]]), ("shoulder", "elbow", "wrist"), 0)
    across = np.eye(3)[others[0]]
    count = run.size(30, 8)
    parts = 0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1))
    turned = np.stack([rotation_from_axis_angle(across, np.radians(bend) * part) for part in parts])
    joints = np.tile(ends, (count, 1, 1))
    joints[:, 2] = ends[1] + turned @ (ends[2] - ends[1])
    rotations = np.stack([np.tile(np.eye(3), (count, 1, 1)), turned], axis=1)
    angles = np.zeros((count, 2, 2))
    angles[:, 1, 1] = np.radians(twist) * parts
    track = PoseTrack(joints, rotations=rotations, twist=angles)
    options = PoserOptions(bones=BoneOptions(twist="section"))
    posed = Poser.of(points, tube.faces, sticks, options=options).pose(track)
    clip = Clip("arm", 0, count, 30.0)
    return MeshSequence(posed.astype(np.float32), tube.faces, points.astype(np.float32), (clip,), name="arm")


def spread(poses: Int32, count: int) -> Int32:
    """Some poses, evenly chosen."""
    inner = np.linspace(0, len(poses) - 1, count + 2)[1:-1]
    chosen: Int32 = poses[np.unique(inner.round().astype(int))]
    return chosen


#: How vertices of a pose (v,3) differ from those of the source (v,3).
Measure = Callable[[Float64, Float64], Float64]


def geometric(animation: Animation) -> Measure:
    """Distances to the surface of the source, percent of the diagonal."""
    sequence = animation.comparison.sequence
    against = SourceSurface.of(sequence.frame(0), sequence.faces)
    scale = 100 / sequence.diagonal
    return lambda source, found: scale * np.asarray(surface_deviations(against, source, found))


def of_normals(animation: Animation) -> Measure:
    """Angles to the normals of the source, degrees."""
    faces = animation.comparison.sequence.faces
    return lambda source, found: np.asarray(normal_deviations(source, found, faces))


def deviations(animation: Animation, poses: Sequence[int], measure: Measure) -> dict[str, Float64]:
    """(n,v) deviations of every model in some poses."""
    sequence, found = animation.comparison.sequence, {}
    for result in animation.comparison.results:
        posed = animation.comparison.pose(result, poses)
        rows = [
            measure(sequence.frame(p).astype(np.float64), one.astype(np.float64))
            for p, one in zip(poses, posed, strict=True)
        ]
        found[result.word] = np.nan_to_num(np.stack(rows))
    return found
