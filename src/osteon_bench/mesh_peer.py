"""fast-simplification (MIT, PyPI, extra `[bench]`) as a simplifier of skins, and a search for its best options.

It simplifies the rest pose by quadrics without weights. Weights are transferred from the closest point of the rest
surface: those of its three corners, interpolated, and reduced to the number of influences that a vertex had.

Its options, all of which are tried:

| fast-simplification | here |
| --- | --- |
| agg, 0 … 10: growth of its threshold | `AGGRESSIVE`; below 3 the horse keeps too many triangles |
| preserve_border | both |
| lossless | no: it keeps nearly all triangles |

Duplicate vertices at seams are welded first, else every seam would be a border and tear.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from osteon.core.model import SkinnedModel
from osteon.core.topology import weld_points
from osteon.deform.linear_blend import linear_blend_model
from osteon.lod.mesh.level_shape import barycentric, mix_skin
from osteon.measure.closest_point import SurfaceBoxes, closest_points

__all__ = ["AGGRESSIVE", "PeerLevel", "has_peer", "peer_levels"]

#: Values of its `agg`.
AGGRESSIVE = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0)


@dataclass(frozen=True, slots=True)
class PeerLevel:
    """The result of fast-simplification for one choice of options."""

    words: str
    model: SkinnedModel
    seconds: float  # of simplifying and of its weights


def has_peer() -> bool:
    """Whether it is installed."""
    return find_spec("fast_simplification") is not None


def peer_levels(source: SkinnedModel, triangles: int) -> Iterator[PeerLevel]:
    """Every choice of options that reaches the number of triangles."""
    import fast_simplification

    first, same = weld_points(source.rest + np.float32(0))
    rest, faces, skin = source.rest[first].astype(np.float64), same[source.faces], source.skin.take(first)
    solid = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = np.ascontiguousarray(faces[solid])
    boxes = SurfaceBoxes.of(rest, faces)
    for aggressive in AGGRESSIVE:
        for border in (False, True):
            start = time.perf_counter()
            points, left = fast_simplification.simplify(
                rest, faces, target_count=triangles, agg=aggressive, preserve_border=border
            )
            on = closest_points(boxes, points)
            around = faces[on.triangles]
            mixed = mix_skin(skin, around, barycentric(on.points, rest[around]))
            seconds = time.perf_counter() - start
            if 0 < len(left) <= triangles:
                words = f"agg {aggressive:g}{', borders kept' if border else ''}"
                shape = (points.astype(np.float32), left.astype(np.int32))
                yield PeerLevel(words, linear_blend_model(*shape, mixed, source.track, source.clips), seconds)
