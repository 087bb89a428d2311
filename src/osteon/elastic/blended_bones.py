"""Where flesh is likely to go when bones move: bones blended by smooth weights, a start for what Newton finds.

Weights of bone b are harmonic in the solid: 1 at the nodes it holds, 0 at those of others, and in between

    minimise   sum_e V_e |grad w_b|^2

Rigid motions of bones are blended as dual quaternions, so that no cross-section collapses at a bent joint. A motion may
begin at any shape: what moves it on is how bones move from there.

Based on: L. Kavan et al., Skinning with dual quaternions, 2007; P. Joshi et al., Harmonic coordinates, 2007.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from osteon.core.arrays import Float64, Int32
from osteon.core.dual_quaternions import dual_quaternions_from_transforms, transforms_from_dual_quaternions
from osteon.core.sticks import StickSkeleton
from osteon.elastic.elements import TetElements
from osteon.elastic.system import factor_symmetric

__all__ = ["blend_bones", "harmonic_weights"]


def harmonic_weights(elements: TetElements, held: Int32, n_bones: int) -> Float64:
    """(n,b) weights, together 1 at each node; held (n,) is the bone of each node, -1 where it is free."""
    n = len(held)
    pairs = elements.volumes[:, None, None] * (elements.gradients @ elements.gradients.swapaxes(1, 2))
    rows, columns = np.repeat(elements.tets, 4, axis=1).ravel(), np.tile(elements.tets, (1, 4)).ravel()
    laplacian = csr_array((pairs.ravel(), (rows, columns)), shape=(n, n))
    free, fixed = np.flatnonzero(held < 0), np.flatnonzero(held >= 0)
    weights = np.zeros((n, n_bones))
    weights[fixed, held[fixed]] = 1
    among = laplacian[free]
    weights[free] = factor_symmetric(csc_array(among[:, free])).solve(-(among[:, fixed] @ weights[fixed]))
    weights = np.maximum(weights, 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def blend_bones(places: Float64, weights: Float64, transforms: Float64, skeleton: StickSkeleton) -> Float64:
    """(n,3) places moved by rigid transforms (b,3,4) of the bones."""
    screws = dual_quaternions_from_transforms(transforms)
    for b in skeleton.tree.order.tolist():
        above = int(skeleton.tree.parent[b])
        if above >= 0 and screws[b, :4] @ screws[above, :4] < 0:
            screws[b] *= -1  # the shorter way round from the bone that it hangs on
    motion = transforms_from_dual_quaternions(weights @ screws)
    return np.asarray(np.einsum("nij,nj->ni", motion[..., :3], places) + motion[..., 3])
