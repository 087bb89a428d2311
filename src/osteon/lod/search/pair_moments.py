"""The error of any choice of matrices as a quadratic form of pairs of bones, so that no search touches a vertex.

    E = sum_f sum_v || sum_b D_b^f z_vb ||^2 = sum_f sum_bc tr(D_b^f A_bc D_c^f'),     A_bc = sum_v z_vb z_vc'

    symbol   name
    z_vb     holds: w [p; 1], what hangs on bone b of vertex v
    D_b      used minus true matrix of bone b (3,4)
    A_bc     pairs (n,n,4,4), once for a character
    N_bc     sum_f T_b^f' T_c^f, grams (n+1,n+1,4,4), once for a clip; the last bone stands for the world

With D_b = T_p O - T_b and constant O, sums over frames go through N alone: neither vertices nor frames are touched.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.3 (squared vertex error).
Differs from the paper: it poses the mesh for every choice it looks at.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from osteon.core.arrays import Float64, Int64
from osteon.core.transforms import identity

__all__ = ["by_pairs", "error_of_matrices", "motion_grams", "pair_moments", "rows_of", "stacked_holds"]


def pair_moments(owners: Int64, holds: Float64, n_bones: int) -> Float64:
    """(n,n,4,4) A of all pairs, from the bone (v,k) and z (v,k,4) of every slot."""
    z = stacked_holds(owners, holds, n_bones)
    return by_pairs((z.T @ z).toarray())


def stacked_holds(owners: Int64, holds: Float64, n_bones: int) -> csr_array:
    """(v,4n) sparse: z of all bones of a vertex side by side."""
    n_vertices, n_slots = owners.shape
    columns = (4 * owners[:, :, None] + np.arange(4)).reshape(-1)
    starts = np.arange(0, 4 * n_slots * n_vertices + 1, 4 * n_slots)
    stacked = csr_array((holds.reshape(-1), columns, starts), shape=(n_vertices, 4 * n_bones), copy=True)
    stacked.sum_duplicates()
    return stacked


def motion_grams(transforms: Float64) -> Float64:
    """(n+1,n+1,4,4) N of all pairs of bones of transforms (f,n,3,4), the last the world, which stays."""
    world = np.broadcast_to(identity(), (len(transforms), 1, 3, 4))
    rows = rows_of(np.concatenate([transforms, world], axis=1))
    return by_pairs(rows.T @ rows)


def error_of_matrices(pairs: Float64, differences: Float64) -> float:
    """E of differences D (f,n,3,4)."""
    rows, n_bones = rows_of(differences), len(pairs)
    form = pairs.transpose(0, 2, 1, 3).reshape(4 * n_bones, 4 * n_bones)
    return float(np.einsum("ri,ri->", rows @ form, rows))


def by_pairs(form: Float64) -> Float64:
    """(n,n,4,4) the blocks of a form (4n,4n)."""
    n_bones = len(form) // 4
    return np.ascontiguousarray(form.reshape(n_bones, 4, n_bones, 4).transpose(0, 2, 1, 3))


def rows_of(matrices: Float64) -> Float64:
    """(3f,4n) matrices (f,n,3,4) of a frame side by side."""
    n_frames, n_bones = matrices.shape[:2]
    return np.ascontiguousarray(matrices.transpose(0, 2, 1, 3)).reshape(3 * n_frames, 4 * n_bones)
