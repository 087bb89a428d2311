"""What the other bones leave to one bone, in one frame: a part of every kernel that moves bones in turn."""

from __future__ import annotations

from osteon.core.arrays import Float64
from osteon.core.kernels import part

__all__ = ["LIGHTEST", "left_to_bone"]

#: A bone with less weight than this stays where it is.
LIGHTEST = 1e-12


@part
def left_to_bone(zz: Float64, zx: Float64, transforms: Float64, f: int, b: int, left: Float64) -> None:
    """left (4,3) = Z_b'(X - sum of Z_c T_c over the other bones c), from Z'Z (4b,4b) and Z'X (4b,3f)."""
    for i in range(4):
        for j in range(3):
            left[i, j] = zx[4 * b + i, 3 * f + j]
    for c in range(transforms.shape[1]):
        if c == b or zz[4 * b + 3, 4 * c + 3] == 0:
            continue
        for i in range(4):
            for k in range(4):
                z = zz[4 * b + i, 4 * c + k]
                for j in range(3):
                    left[i, j] -= z * transforms[f, c, j, k]
