"""Whether a level looks like its model at a size on the screen: FLIP of textured pictures, from all sides, in all
clips.

    p95(size) = max over clips of the 95th percentile of FLIP, over all pixels that either picture covers

Every clip is seen from VIEWS sides, each in another frame, so that as many poses are seen. A level looks like its model
if that is at most MOST. FLIP sees what a distance between surfaces does not: textures that slide, materials and normals
that change, an eye that vanishes.

Notes. The levels for 400, 200 and 100 pixels have an RMS distance of 0.19, 0.13 and 0.11 pixels on CesiumMan, and of
0.35, 0.19 and 0.13 on Soldier. Levels of an RMS of one pixel, as before, had 95th percentiles of 0.3 to 0.5. So a bound
on the distance alone would have to be three to nine times tighter than a pixel, and differs between characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from osteon.core.arrays import Bool, Float32, Float64
from osteon.core.model import SkinnedModel
from osteon.measure.flip import SeenPicture, flip_between
from osteon.measure.texture import Textures
from osteon.measure.textured_picture import FarCamera, Paint, PosedSurface, draw_textured, view_axes

#: The largest 95th percentile. Below the bound of 0.1 by what three.js and the pictures here may differ by.
MOST = 0.088
#: Views of every clip.
VIEWS = 8
#: Pixels around the body: more than the radius of FLIP's filters.
MARGIN = 12
#: A level is rejected before all views are drawn if pixels above the bound are so many times 5 % of the pixels that the
#: model covers: to be accepted it would have to cover so many times more than the model.
CLEARLY = 1.25
#: The smallest and the largest size that is drawn, in pixels; larger bodies are compared at the largest.
SMALLEST, LARGEST = 2.0, 1024.0


@dataclass(frozen=True, slots=True)
class _View:
    """One picture of the model."""

    camera: FarCamera
    seen: SeenPicture
    covered: Bool


@dataclass(frozen=True, slots=True)
class LevelPictures:
    """The pictures of a model, with which levels are compared."""

    model: SkinnedModel
    paint: Paint
    axes: Float64  # (n,3,3)
    _order: list[int]  # of clips
    _views: dict[tuple[int, int, float], _View] = field(default_factory=dict)

    @staticmethod
    def of(model: SkinnedModel) -> LevelPictures:
        return LevelPictures(model, Paint.of(model), view_axes(VIEWS), list(range(len(model.clips))))

    @property
    def textures(self) -> Textures:
        return self.paint.textures

    def alike(self, level: SkinnedModel, pixels: float, most: float = MOST) -> bool:
        """Whether a level looks like the model while the body is so large; ends with the first clip that does not.

        The clip in which the last level failed comes first.
        """
        for clip in list(self._order):
            if self.clip_p95(level, clip, pixels, most) > most:
                self._order.remove(clip)
                self._order.insert(0, clip)
                return False
        return True

    def p95(self, level: SkinnedModel, pixels: float) -> float:
        """The largest 95th percentile of all clips."""
        return max(self.clip_p95(level, clip, pixels) for clip in range(len(self.model.clips)))

    def clip_p95(self, level: SkinnedModel, clip: int, pixels: float, most: float = np.inf) -> float:
        """The 95th percentile of FLIP in a clip at a size in pixels; infinite as soon as it is clearly above `most`."""
        paint, size = Paint.of(level, self.textures), float(np.clip(pixels, SMALLEST, LARGEST))
        views, found, above = range(len(self.axes)), [], 0
        enough = 0.05 * CLEARLY * sum(int(self._view(clip, number, size).covered.sum()) for number in views)
        for number in views:
            found.append(self._flip(level, paint, clip, number, size))
            above += int((found[-1] > most).sum())
            if above > enough:
                return float(np.inf)
        values = np.concatenate(found)
        return float(np.percentile(values, 95)) if len(values) else 0.0

    def largest_size(self, level: SkinnedModel, pixels: float) -> float:
        """The largest size up to `pixels` at which a level looks like the model, to a fifth; at least a pixel."""
        high = min(pixels, LARGEST)
        if self.alike(level, high):
            return high
        low = 0.5 * high
        while low >= SMALLEST and not self.alike(level, low):
            high, low = low, 0.5 * low
        if low < SMALLEST:
            return 1.0
        while high > 1.2 * low:
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if self.alike(level, middle) else (low, middle)
        return low

    def _flip(self, level: SkinnedModel, paint: Paint, clip: int, number: int, pixels: float) -> Float32:
        """FLIP of the covered pixels of one view."""
        view, frame = self._view(clip, number, pixels), self._frame(clip, number)
        picture, covered = draw_textured(PosedSurface.of(level, frame, paint), view.camera)
        found: Float32 = flip_between(view.seen, SeenPicture.of(picture))[view.covered | covered]
        return found

    def _frame(self, clip: int, number: int) -> int:
        """The frame of a view: other sides see other parts of the clip, neighbours not neighbouring ones."""
        run, count = self.model.clips[clip], len(self.axes)
        return run.start + int(((3 * number) % count + 0.5) / count * run.n_frames)

    def _view(self, clip: int, number: int, pixels: float) -> _View:
        """The model's picture; drawn once for each size."""
        key = (clip, number, pixels)
        if key not in self._views:
            surface = PosedSurface.of(self.model, self._frame(clip, number), self.paint)
            zoom = pixels / (self.model.diagonal or 1.0)
            camera = FarCamera.around(surface.points, self.axes[number], zoom, MARGIN)
            picture, covered = draw_textured(surface, camera)
            self._views[key] = _View(camera, SeenPicture.of(picture), covered)
        return self._views[key]
