"""Names of the joints of a skeleton, by where they are: `root`, `upper_2`, `front_limb_1_L`, `digit_3_R`.

A chain is a run of joints without a branch. Chains beside the plane of symmetry that hang on the middle are limbs,
upper and lower ones or front and back ones, whichever tells them apart; what hangs on a limb is a digit. Chains in the
middle, and all chains of a shape without sides, are named by the way they go. Left is _L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64

__all__ = ["name_joints"]

_WAYS = (("right", "left"), ("lower", "upper"), ("back", "front"))  # along -x and +x, y, z


@dataclass(frozen=True, slots=True)
class _Chain:
    joints: list[int]
    side: str  # "_L", "_R" or ""
    on_side: bool  # whether it hangs on a chain that has a side


def name_joints(joints: Float64, ends: Float64, parents: Int64, sides: list[str], taken: str = "") -> tuple[str, ...]:
    """A name for each joint (b,3) with the end of its bone (b,3); sides are "_L", "_R" or "" for each."""
    names = ["root"] * len(parents)
    chains = _chains(parents, sides)
    bases = _limb_words(joints, chains)
    for n, chain in enumerate(chains):
        if n not in bases:
            way = ends[chain.joints[-1]] - joints[chain.joints[0]]
            axes = way[1:] if chain.side else way
            axis = int(np.abs(axes).argmax()) + (1 if chain.side else 0)
            bases[n] = "digit" if chain.on_side else _WAYS[axis][int(way[axis] > 0)]
    counts: dict[str, int] = {}
    for n, chain in sorted(enumerate(chains), key=lambda entry: (entry[1].side != "_L", entry[0])):
        for joint in chain.joints:
            key = bases[n] + chain.side
            counts[key] = counts.get(key, 0) + 1
            names[joint] = f"{bases[n]}_{counts[key]}{chain.side}"
    return tuple(f"{name}_joint" if name == taken else name for name in names)


def _chains(parents: Int64, sides: list[str]) -> list[_Chain]:
    """Runs of joints without a branch, from the root on; the root itself is in none."""
    children: dict[int, list[int]] = {b: np.flatnonzero(parents == b).tolist() for b in range(len(parents))}
    chains = []
    for first in range(1, len(parents)):
        above = int(parents[first])
        if above > 0 and len(children[above]) == 1 and sides[above] == sides[first]:
            continue
        run = [first]
        while len(children[run[-1]]) == 1 and sides[children[run[-1]][0]] == sides[first]:
            run.append(children[run[-1]][0])
        chains.append(_Chain(run, sides[first], bool(sides[above])))
    return chains


def _limb_words(joints: Float64, chains: list[_Chain]) -> dict[int, str]:
    """What limbs are called, by their number among the chains."""
    limbs = [n for n, chain in enumerate(chains) if chain.side and not chain.on_side]
    if not limbs:
        return {}
    starts = np.array([joints[chains[n].joints[0]] for n in limbs])
    low, high = starts.min(axis=0), starts.max(axis=0)
    axis = 1 if (high - low)[1] >= (high - low)[2] else 2
    if high[axis] - low[axis] <= 1e-3 * float(np.linalg.norm(np.ptp(joints, axis=0))):
        return dict.fromkeys(limbs, "limb")
    middle = (low[axis] + high[axis]) / 2
    return {n: f"{_WAYS[axis][int(start[axis] > middle)]}_limb" for n, start in zip(limbs, starts, strict=True)}
