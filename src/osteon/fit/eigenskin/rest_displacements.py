"""What is missing from a skin in known poses, taken back to the rest pose.

    u_v^p = A_v^p^-1 (x_v^p - t_v^p) - p_v,      A | t the blend of vertex v in pose p         (section 2.2)

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.2 and figure 2.
Differs from the paper: where a blend nearly collapses its inverse would make any displacement huge. Singular values
below `FLATTEST` count as that, so that a displacement is at most 1 / FLATTEST as long as what is missing; such blends
are counted. All others are inverted exactly, so that observed poses are met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.deformer import Deformer
from osteon.core.play_scale import scale_of_bones
from osteon.deform.pose import blends_of

__all__ = ["RestDisplacements", "bounded_inverse", "rest_displacements"]

#: Singular values of a blend, over the size at which the body plays, that are as good as none.
FLATTEST = 0.1


@dataclass(frozen=True, slots=True)
class RestDisplacements:
    """Displacements of the rest pose that lead to observed poses."""

    values: Float64  # (p,v,3)
    bounded: int  # blends, over all poses and vertices, whose inverse was bounded
    flattest: float  # the smallest singular value of all blends, over the size of play


def rest_displacements(deformer: Deformer, rest: Float64, frames: FloatArray, transforms: Float64) -> RestDisplacements:
    """For observed vertices (p,v,3) and posed_from_rest transforms (p,b,3,4) of the same poses."""
    values = np.empty(frames.shape)
    floor = FLATTEST * scale_of_bones(transforms)
    bounded, flattest = 0, np.inf
    for p, (frame, bones) in enumerate(zip(frames, transforms, strict=True)):
        blends = blends_of(deformer, bones)
        missing = frame - np.einsum("vij,vj->vi", blends[..., :3], rest) - blends[..., 3]
        inverse, flat, least = bounded_inverse(blends[..., :3], floor)
        values[p] = np.einsum("vij,vj->vi", inverse, missing)
        bounded += flat
        flattest = min(flattest, least * FLATTEST / floor)
    return RestDisplacements(values, bounded, float(flattest))


def bounded_inverse(linear: Float64, floor: float) -> tuple[Float64, int, float]:
    """(n,3,3) inverses, with singular values of at least `floor`; how many were below it, and the smallest."""
    u, s, vt = np.linalg.svd(linear)
    inverse = np.einsum("nji,nj,nkj->nik", vt, 1 / np.maximum(s, floor), u)
    return inverse, int((s[:, 2] < floor).sum()), float(s[:, 2].min(initial=np.inf))
