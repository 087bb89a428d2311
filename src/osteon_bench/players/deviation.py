"""The deviation of a player from `osteon play`, over all triangle corners and frames.

Files and models order triangles and vertices differently where vertices were split or triangles grouped by material.
Triangles are therefore matched by their positions in the first frame of the player, not by the contents of the file,
and all frames are compared corner by corner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from osteon.core.animation import Clip
from osteon.core.arrays import Float32, Int32
from osteon.core.errors import OsteonError
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence
from osteon.io.formats.options import LoadOptions

#: Allowed deviation of players from `osteon play`, as a fraction of the diagonal.
TOLERANCE = 1e-5
#: Frames of a clip that are compared, spread evenly from the first to the last.
SAMPLES = 6
#: Frames of a clip that are compared where times between frames are compared too.
STEPS = 12

#: (clip number, seconds) -> (f,c,3) positions of corners in a player.
Play = Callable[[int, list[float]], Float32]


@dataclass(frozen=True, slots=True)
class Reference:
    """A file as `osteon play` evaluates it."""

    model: SkinnedModel
    vertices: Int32  # (c,) vertex of each triangle corner of the file

    @property
    def diagonal(self) -> float:
        return float(np.linalg.norm(np.ptp(self.model.rest.astype(np.float64), axis=0)))

    def rest(self) -> Float32:
        """(c,3) corners of the rest pose."""
        return np.asarray(self.model.rest[self.vertices])

    def corners(self, frames: Int32) -> Float32:
        """(f,c,3) corners in some frames."""
        posed = np.concatenate([pose_frames(self.model, int(f), int(f) + 1) for f in frames])
        return np.asarray(posed[:, self.vertices])

    def distance(self, shown: Float32, expected: Float32) -> Float32:
        """(f,c) distances of corners, as fractions of the diagonal."""
        if shown.shape != expected.shape:
            raise OsteonError(f"the player shows {shown.shape[1]} corners, the file has {expected.shape[1]}")
        apart = np.linalg.norm(shown.astype(np.float64) - expected, axis=-1) / self.diagonal
        return np.asarray(apart, np.float32)


@dataclass(frozen=True, slots=True)
class Deviation:
    """The largest deviations of a player, as fractions of the diagonal."""

    at_frames: float
    between: float  # a quarter, half and three quarters of the way from one frame to the next


def read_reference(path: Path, play: Play) -> Reference:
    """The model in a file, with its corners in the order of the player."""
    model = load_model(path)
    return Reference(model, match_corners(play(0, [0.0])[0], pose_frames(model, 0, 1)[0], model.faces))


def measure_deviation(path: Path, play: Play) -> Deviation:
    """Measure the deviation of a player from `osteon play`, which samples the tracks of the file between frames.

    If the first frame cannot be matched, the player is assumed to keep the triangle order of the model.
    """
    model = load_model(path)
    shown = play(0, [0.0])[0]
    if shown.shape != (model.faces.size, 3) or not np.isfinite(shown).all():
        raise OsteonError(f"the player shows {len(shown)} corners, or some nowhere; the file has {model.faces.size}")
    try:
        vertices = match_corners(shown, pose_frames(model, 0, 1)[0], model.faces)
    except OsteonError:
        vertices = model.faces.ravel()
    reference = Reference(model, vertices)
    worst = [0.0, 0.0]
    for number, clip in enumerate(model.clips):
        quarters = sampled_quarters(clip)
        options = LoadOptions(fps=4 * clip.fps, clips=(clip.name,))
        expected = load_sequence(path, options=options).frames[quarters][:, vertices]
        seen = play(number, [float(q) / (4 * clip.fps) for q in quarters])
        apart = reference.distance(seen, expected).max(axis=1)
        for i, chosen in enumerate((quarters % 4 == 0, quarters % 4 != 0)):
            worst[i] = max(worst[i], float(np.nan_to_num(apart[chosen], nan=np.inf).max(initial=0.0)))
    return Deviation(*worst)


def sampled_quarters(clip: Clip) -> Int32:
    """Some frames of a clip and the three quarters after each, in quarters of a frame from its start."""
    starts = np.unique(np.linspace(0, clip.n_frames - 1, STEPS).round()).astype(np.int32)
    quarters = (4 * starts[:, None] + np.arange(4)).ravel()
    return np.asarray(quarters[quarters <= 4 * (clip.n_frames - 1)], np.int32)


def match_corners(shown: Float32, vertices: Float32, faces: Int32) -> Int32:
    """(c,) the vertex of each shown corner (c,3); triangles may start at any of their corners."""
    rotated = np.concatenate([np.roll(faces, shift, axis=1) for shift in range(3)])
    found = cKDTree(vertices[rotated].reshape(-1, 9)).query(shown.reshape(-1, 9))[1]
    if len(found) != len(faces) or len(np.unique(found % len(faces))) != len(faces):
        raise OsteonError(f"the player shows other triangles than the {len(faces)} of the model")
    return np.asarray(rotated[found].ravel(), np.int32)


def sampled_frames(clip: Clip) -> Int32:
    """A few frames of a clip, counted from its start."""
    return np.unique(np.linspace(0, clip.n_frames - 1, SAMPLES).round()).astype(np.int32)


def worst_deviation(reference: Reference, play: Play) -> float:
    """The largest deviation of a corner in the sampled frames of all clips, as a fraction of the diagonal."""
    worst = 0.0
    for number, clip in enumerate(reference.model.clips):
        frames = sampled_frames(clip)
        shown = play(number, [float(f) / clip.fps for f in frames])
        worst = max(worst, float(reference.distance(shown, reference.corners(clip.start + frames)).max()))
    return worst


def worst_detour(reference: Reference, play: Play) -> float:
    """The largest overshoot of a bone halfway between two frames, as a fraction of the diagonal.

    The distance of a bone is the largest distance of the corners that it influences. It overshoots if it is farther
    from one of the frames than the frames are from each other.
    """
    model = reference.model
    moves = model.skin.dense(model.n_bones)[reference.vertices] > 0
    worst = 0.0
    for number, clip in enumerate(model.clips):
        for f in range(clip.start, clip.stop - 1):
            before, after = reference.corners(np.array([f, f + 1], np.int32))[:, None]
            halfway = play(number, [(f - clip.start + 0.5) / clip.fps])
            step = _farthest(reference.distance(before, after), moves)
            for end in (before, after):
                worst = max(worst, float((_farthest(reference.distance(halfway, end), moves) - step).max()))
    return worst


def _farthest(distances: Float32, moves: NDArray[np.bool_]) -> Float32:
    """(b,) the largest of the distances (1,c) of the corners that each bone moves (c,b)."""
    return np.asarray((distances[0][:, None] * moves).max(axis=0), np.float32)
