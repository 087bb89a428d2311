"""How small a skinned animation is.

compression = 3 N S / (3 N + k N + c S B): floats of the sequence over floats of rest pose, weights and bones, with
c = 12 for a flexible bone and 7 for a rigid one (quaternion and translation). James and Twigg 2005, table 1.
Corrections of rank r add r (3 N + S).
"""

from __future__ import annotations

from osteon.core.model import BoneType

__all__ = ["compression_ratio"]

FLOATS_A_BONE: dict[BoneType, int] = {"rigid": 7, "flexible": 12}


def compression_ratio(
    n_vertices: int, n_frames: int, n_bones: int, influences: int, bone_type: BoneType, rank: int = 0
) -> float:
    """Floats in over floats out."""
    out = (3 + influences) * n_vertices + FLOATS_A_BONE[bone_type] * n_frames * n_bones
    return 3 * n_vertices * n_frames / (out + rank * (3 * n_vertices + n_frames))
