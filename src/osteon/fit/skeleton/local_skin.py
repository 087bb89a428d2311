"""Rigid bones and weights that are local on the surface.

    minimise over T, w:   sum_v ( sum_f || sum_b w_vb T_b^f p_v - x_v^f ||^2 + sum_b c_vb w_vb ),   T rigid,
    w >= 0, sum w = 1, at most k per vertex

| symbol | name |
| --- | --- |
| c | cost (v,b) of a weight, by its distance along the surface from the core of its bone (`surface_graph.py`) |

A skin without the second term gives a thigh weights on the other leg wherever both move alike in the example poses; a
joint between such bones moves both legs.

Rounds are those of `fit/skin/refine.py`: bones, extrapolated, then weights. Cores, and with them the costs, are new
every REFRESH rounds. Pieces of a bone away from its core become bones of their own where no bone near them does their
motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import dijkstra

from osteon.core.arrays import Float64, Int64
from osteon.core.parallel import available_threads
from osteon.fit.moments import moment_centers, squared_errors
from osteon.fit.problem import FitProblem
from osteon.fit.skeleton.surface_graph import CORE_WEIGHT, SurfaceGraph
from osteon.fit.skin.bones import bones_of_labels
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.solve_bones import solve_bones, step_ahead

#: Rounds between new cores.
REFRESH = 3
#: Vertices times bones up to which every search for weights is thorough, as in `refine.py`.
SMALL = 40_000
#: A piece becomes a bone with this part of all vertices, and at least this many, ...
PIECE, FEWEST = 3e-3, 4
#: ... if bones near it would move its vertices by more than this, of the diagonal.
ALIKE = 5e-3
#: Bones whose largest weight is less are weak; their vertices of at least this part of it, in the core, are their own:
#: other bones cost this there, of the diagonal, in every frame.
STRONG, TOP, OWNED = 0.6, 0.8, 0.01


@dataclass(frozen=True, slots=True)
class LocalSkin:
    """Rigid bones and their weights."""

    transforms: Float64  # (f,b,3,4) in the problem's units
    influences: Influences

    @property
    def n_bones(self) -> int:
        return int(self.transforms.shape[1])

    def dense(self) -> Float64:
        """(v,b) weights."""
        return self.influences.dense(self.n_bones)


class LocalFit:
    """The alternating fit for one problem and the graph of its surface."""

    def __init__(
        self, problem: FitProblem, graph: SurfaceGraph, n_influences: int, threads: int, strength: float = 1.0
    ) -> None:
        self.strength = strength  # factor of all costs
        self.problem, self.graph, self.n_influences = problem, graph, n_influences
        self.threads = available_threads(threads)

    def begin(self, transforms: Float64) -> LocalSkin:
        """Bones with weights: cores are the vertices that follow a bone best."""
        errors = squared_errors(self.problem, transforms, self.threads)
        labels = errors.argmin(axis=1)
        weights = np.zeros_like(errors)
        weights[np.arange(len(labels)), labels] = 1
        return LocalSkin(transforms, self.weights(transforms, self.costs(weights), None))

    def of_weights(self, weights: Float64) -> LocalSkin:
        """Bones for weights (v,b), then the best weights near them."""
        labels = np.where(weights.max(axis=1) > 0, weights.argmax(axis=1), -1)
        transforms = bones_of_labels(self.problem, labels, weights.shape[1], self.threads)
        return LocalSkin(transforms, self.weights(transforms, self.costs(weights), None))

    def costs(self, weights: Float64) -> Float64:
        """(v,b) costs for the cores of given weights."""
        return self.strength * self.graph.bone_costs(weights, self.problem.n_frames)

    def weights(
        self, transforms: Float64, costs: Float64, earlier: Influences | None, *, thorough: bool = False
    ) -> Influences:
        """Weights for these bones and costs."""
        small = self.problem.n_vertices * transforms.shape[1] <= SMALL
        return select_influences(
            self.problem,
            transforms,
            self.n_influences,
            earlier=earlier,
            thorough=small or thorough,
            penalty=costs,
            threads=self.threads,
        )

    def run(self, skin: LocalSkin, rounds: int, *, thorough: bool = False) -> LocalSkin:
        """Rounds of refinement; the last one is not extrapolated, and searches weights longer with `thorough`."""
        last, costs, value, beta = skin.transforms, np.empty(0), np.inf, 1.0
        for done in range(rounds):
            if done % REFRESH == 0:
                costs, value = self.costs(skin.dense()), np.inf
            bones, weights = skin.influences.bones, skin.influences.weights
            solved = solve_bones(self.problem, bones, weights, skin.transforms, "rigid", threads=self.threads)
            ahead, final = solved, done == rounds - 1
            if done and not final:
                centers = moment_centers(self.problem.points, bones, weights, skin.n_bones)
                ahead = step_ahead(solved, last, beta, "rigid", centers)
            found = self.weights(ahead, costs, skin.influences, thorough=thorough and final)
            if ahead is not solved and _value(found, costs) > value:
                ahead, beta = solved, beta / 2
                found = self.weights(ahead, costs, skin.influences)
            last, value = solved, _value(found, costs)
            skin = LocalSkin(ahead, found)
        return skin

    def error_percent(self, skin: LocalSkin) -> float:
        return self.problem.error_percent(skin.influences.errors)

    def split_pieces(self, skin: LocalSkin) -> LocalSkin:
        """Pieces of bones that no bone near them can replace, as bones of their own."""
        weights, least = skin.dense(), max(FEWEST, PIECE * self.problem.n_vertices)
        errors = squared_errors(self.problem, skin.transforms, self.threads)
        allowed = ALIKE * self.graph.diagonal
        added = []
        for b in range(skin.n_bones):
            core = self.graph.core(weights[:, b])
            for piece in self.graph.pieces(weights[:, b] >= CORE_WEIGHT):
                if len(piece) < least or np.isin(piece, core).any():
                    continue
                near = np.flatnonzero((weights[piece] > 0).any(axis=0))
                others = errors[piece][:, near[near != b]].sum(axis=0).min(initial=np.inf)
                extra = (others - errors[piece, b].sum()) / (len(piece) * self.problem.n_frames)
                if extra > allowed**2:
                    added.append((b, piece))
        if not added:
            return skin
        wide = np.concatenate([weights, np.zeros((len(weights), len(added)))], axis=1)
        for number, (b, piece) in enumerate(added, start=skin.n_bones):
            wide[piece, number], wide[piece, b] = wide[piece, b], 0
        transforms = np.concatenate([skin.transforms, skin.transforms[:, [b for b, _ in added]]], axis=1)
        return LocalSkin(transforms, self.weights(transforms, self.costs(wide), None))

    def spread(self, weights: Float64, known: np.ndarray) -> Float64:
        """Weights (v,b) of known vertices, copied to the others from the nearest known one along the surface."""
        _, _, source = dijkstra(
            self.graph.lengths, directed=False, indices=known, min_only=True, return_predecessors=True
        )
        return np.asarray(weights[source])


def ownership_costs(graph: SurfaceGraph, weights: Float64, bones: Int64, n_frames: int) -> Float64:
    """(v,b) costs of other bones at the strongest vertices of those of `bones` that are weak, for weights (v,b).

    A bone that turns twice as far with half the weights fits an ear as well, but no vertex follows it, and an animator
    who turns it sees half a turn. For bones without children; inner ones may share all their vertices.
    """
    out = np.zeros_like(weights)
    most = weights.max(axis=0)
    for b in bones[(most[bones] > 0) & (most[bones] < STRONG)].tolist():
        core = graph.core(weights[:, b])
        own = core[weights[core, b] >= TOP * most[b]]
        out[own] += n_frames * (OWNED * graph.diagonal) ** 2
        out[own, b] = 0
    return out


def _value(influences: Influences, costs: Float64) -> float:
    """The objective: error and costs of all weights."""
    own = np.take_along_axis(costs, influences.bones, axis=1)
    return influences.squared_error + float((own * influences.weights).sum())
