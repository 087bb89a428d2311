"""The error of any choice of matrices as a quadratic form of pairs of bones, so that searches read no vertices.

    E = sum_f sum_v || sum_b D_b^f z_vb ||^2 = sum_f sum_bc tr(D_b^f A_bc D_c^f'),     A_bc = sum_v z_vb z_vc'

    symbol   name
    z_vb     holds: w [p; 1], the weighted point of vertex v on bone b
    D_b      used minus exact matrix of bone b (3,4)
    A_bc     pairs (n,n,4,4), once per character
    N_bc     sum_f T_b^f' T_c^f, grams (n+1,n+1,4,4), once per clip; the last bone is the world

With D_b = T_p O - T_b and constant O, sums over frames depend on N alone: neither vertices nor frames are read.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.3 (squared vertex error).
Differs from the paper: it poses the mesh for every choice.

**Offsets.** The constant offset with which a bone and its cluster best follow another bone over a clip:

    minimise over O = [s R | t]   sum_f || T_p O z - T_c z ||^2 + 2 <T_p O z - T_c z, r>
                                = tr(N_pp O M O') + 2 <O, K> + const

    symbol   name
    z, M     points of the cluster of c, and sum_v z z' (4,4)
    r        the present error
    N_pp     sum_f T_p' T_p (4,4), above left Q = sum_f L_p' L_p
    K        sum_f T_p' (sum_v r z' - T_c M) (4,4)
    s        fixed: ratio of the sizes of c and p; 1 for rigid bones

R is a rotation: an offset that may shrink would replace a swinging limb by a thinner one, dual quaternions could not
represent it, and a bone that stretches along its own axes would not remain one. For a parent of constant size
(Q = q 1) the best O is the solution of one Procrustes problem. For one that stretches, with Q <= q 1, the problem is
majorised by such problems (MM): each iteration lowers the error, beginning with O = s 1.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1 and 4.3: a default for inactive bones.
Differs from the paper: it takes the average of the bone's own transformation over the clip.

Notes, shares of the error at a quarter, half and three quarters of the bones: affine offsets gain 5 % at most; one
offset per bone, composed along the parents, costs 0 … 9 % at a quarter and nothing above, compared with one per bone
and level.
200 problems: 25 calls of NumPy 0.4 ms, this kernel 0.05 ms.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from osteon.core.arrays import Float64, Int64
from osteon.core.kernels import kernel
from osteon.core.transforms import identity
from osteon.fit.skin.procrustes import rotation_to


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
    rows = rows_of(_with_world(transforms))
    return by_pairs(rows.T @ rows)


def frame_factor(transforms: Float64) -> Float64:
    """(f',n+1,3,4) with the same N as transforms (f,n,3,4) and the world have, in as few frames as possible.

    The result is no motion, but has the same errors of constant offsets: the triangle R of rows = Q R.
    """
    whole = _with_world(transforms)
    n_bones = whole.shape[1]
    if 3 * len(whole) <= 4 * n_bones:
        return whole
    triangle = np.linalg.qr(rows_of(whole), mode="r")
    padded = np.zeros((-(-len(triangle) // 3) * 3, 4 * n_bones))
    padded[: len(triangle)] = triangle
    return np.ascontiguousarray(padded.reshape(-1, 3, n_bones, 4).transpose(0, 2, 1, 3))


def _with_world(transforms: Float64) -> Float64:
    """(f,n+1,3,4) the bones, and last the world."""
    world = np.broadcast_to(identity(), (len(transforms), 1, 3, 4))
    return np.concatenate([transforms, world], axis=1)


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


#: Iterations for parents that stretch.
ROUNDS = 12
#: Relative weight of the identity, for rotations that are not determined otherwise.
TIE = 1e-11


@kernel("f8.3r f8.3r f8.3r f8.2r i8 f8.3 f8.3")
def _fit(
    grams: Float64, moments: Float64, slopes: Float64, sizes: Float64, rounds: int, out: Float64, scratch: Float64
) -> None:
    """out (m,3,4) = O; sizes (m,2): q, s; scratch (4,4,4)."""
    bent, towards = scratch[0], scratch[1]
    for m in range(out.shape[0]):
        N, M, K, O = grams[m], moments[m], slopes[m], out[m]  # noqa: E741
        q, s = sizes[m, 0], sizes[m, 1]
        mass = max(M[3, 3], 1e-300)
        for i in range(3):
            for j in range(4):
                O[i, j] = s if i == j else 0.0
        for _ in range(rounds):
            for i in range(3):
                for j in range(4):
                    # The terms of the parent's translation, and of the difference of its stretch from q.
                    bent[i, j] = K[i, j] + N[i, 3] * M[3, j]
                    if rounds > 1:
                        for k in range(3):
                            held = O[k, 0] * M[0, j] + O[k, 1] * M[1, j] + O[k, 2] * M[2, j] + O[k, 3] * M[3, j]
                            bent[i, j] += (N[i, k] - (q if i == k else 0.0)) * held
            strength = 0.0
            for i in range(3):
                for j in range(3):
                    towards[i, j] = bent[i, 3] * M[j, 3] / mass - bent[i, j]
                    strength = max(strength, abs(bent[i, j]))
            for i in range(3):
                towards[i, i] += TIE * strength
            rotation_to(towards, scratch[2], scratch[3], O)
            for i in range(3):
                carried = 0.0
                for j in range(3):
                    O[i, j] *= s
                    carried += O[i, j] * M[j, 3]
                O[i, 3] = -(carried + bent[i, 3] / q) / mass


def steepness(grams: Float64, *, rigid: bool) -> Float64:
    """(…,) q of parents with N (…,4,4): the mean square of their stretches, or the largest."""
    stretch = grams[..., :3, :3]
    q = np.trace(stretch, axis1=-2, axis2=-1) / 3 if rigid else np.linalg.eigvalsh(stretch)[..., 2]
    return np.asarray(np.maximum(q, 1e-300))


def fit_offsets(grams: Float64, moments: Float64, slopes: Float64, sizes: Float64, *, rigid: bool) -> Float64:
    """(m,3,4) O of each of m problems: N (m,4,4), M (m,4,4), K (m,4,4), q and s (m,2)."""
    out = np.empty((len(grams), 3, 4))
    n, m, k, qs = (np.ascontiguousarray(form) for form in (grams, moments, slopes, sizes))
    _fit(n, m, k, qs, 1 if rigid else ROUNDS, out, np.empty((4, 4, 4)))
    return out


def offset_costs(grams: Float64, moments: Float64, slopes: Float64, offsets: Float64) -> Float64:
    """(m,) tr(N O M O') + 2 <O, K>."""
    whole = np.zeros((len(offsets), 4, 4))
    whole[:, :3] = offsets
    whole[:, 3, 3] = 1
    return np.asarray(((grams @ whole @ moments + 2 * slopes) * whole).sum(axis=(1, 2)))
