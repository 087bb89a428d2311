"""Names of joints by the anatomy that a tree shows: `upper_arm_L`, `forearm_L`, `hind_foot_R`, `tail_3`, `ear_1_L`.

A limb is a chain of lateral joints whose parent is central; it follows the child that reaches farthest. A leg is a limb
whose end is on the ground: within GROUND of the height above the lowest point, and
lower than its start. A body with one pair of legs that hang
on its root and a pair of arms nearer to the head is a humanoid, one with two pairs of legs a quadruped. Central joints
from the root to the joint of the arms are the spine, those beyond it neck and head; other central chains are tails.
Bodies of neither kind keep their names by direction (`naming.py`).

Up is y, or z where limbs reach the lowest point along z only. The bones of a limb are distinguished by their lengths: a
shoulder or hip is shorter than SHORT of the longest bone after it.

The names of other standards are tables of these names. A tree without one of the joints that a standard requires is
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.errors import GeometryError

NameStandard = Literal["plain", "mixamo", "vrm", "unreal"]
#: Height of the ends of legs above the lowest one, of the height of the body.
GROUND = 0.25
#: Least drop of a leg, of its length.
DOWN = 0.4
#: A bone before a limb is shorter than this part of the longest bone of the limb.
SHORT = 0.6
ARM, LEG = ("upper_arm", "forearm", "hand"), ("upper_leg", "lower_leg", "foot", "toes")


@dataclass(frozen=True, slots=True)
class Body:
    """A tree of joints as a named body."""

    kind: Literal["humanoid", "quadruped"]
    names: tuple[str, ...]  # of every joint


@dataclass(frozen=True, slots=True)
class _Limb:
    joints: list[int]  # the chain, from the body outwards
    carrier: int  # the central joint that it hangs on
    side: str  # "_L" or "_R"
    tip: Float64  # (3,) the end of the chain


@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree with what names depend on."""

    joints: Float64
    ends: Float64
    parents: Int64
    sides: list[str]

    def children(self, joint: int) -> list[int]:
        return [int(c) for c in np.flatnonzero(self.parents == joint)]

    def depth(self, joint: int) -> float:
        """Length of the longest chain from a joint to the end of its last bone."""
        own = float(np.linalg.norm(self.ends[joint] - self.joints[joint]))
        below = [
            float(np.linalg.norm(self.joints[c] - self.joints[joint])) + self.depth(c) for c in self.children(joint)
        ]
        return max([own, *below])

    def chain(self, joint: int) -> list[int]:
        """The longest chain from a joint outwards, on its side."""
        out = [joint]
        while True:
            here = [c for c in self.children(out[-1]) if self.sides[c] == self.sides[joint]]
            if not here:
                return out
            out.append(
                max(here, key=lambda c: float(np.linalg.norm(self.joints[c] - self.joints[out[-1]])) + self.depth(c))
            )

    def path_to_root(self, joint: int) -> list[int]:
        out = []
        while joint >= 0:
            out.append(joint)
            joint = int(self.parents[joint])
        return out

    def path(self, first: int, last: int) -> list[int]:
        """The joints between two central ones, both included."""
        up, down = self.path_to_root(first), self.path_to_root(last)
        shared = next(j for j in up if j in down)
        return up[: up.index(shared) + 1] + down[: down.index(shared)][::-1]


def find_body(joints: Float64, ends: Float64, parents: Int64, sides: list[str]) -> Body | None:
    """The named body of joints (b,3) with ends (b,3) of bones, and sides "_L", "_R" or ""; None if it is of no kind."""
    tree = _Tree(joints, ends, parents, sides)
    limbs = []
    for first in range(len(parents)):
        parent = int(parents[first])
        if sides[first] and parent >= 0 and not sides[parent]:
            chain = tree.chain(first)
            limbs.append(_Limb(chain, parent, sides[first], ends[chain[-1]]))
    for up in (1, 2):
        legs = _legs(tree, limbs, up)
        carriers = sorted({leg.carrier for leg in legs})
        front = _front_carrier(tree, legs, up)
        arms = _arms(tree, limbs, legs, up)
        if legs and arms and len(carriers) == 1 and parents[carriers[0]] < 0 and len(legs) == 2:
            return Body("humanoid", _names(tree, limbs, legs, arms, arms[0].carrier, up, "humanoid"))
        if len(legs) == 4 and front is not None:
            return Body("quadruped", _names(tree, limbs, legs, [], front, up, "quadruped"))
    return None


def _legs(tree: _Tree, limbs: list[_Limb], up: int) -> list[_Limb]:
    """Limbs that go down to the ground, on both sides equally many."""
    heights = np.concatenate([tree.joints, tree.ends])[:, up]
    ground = float(heights.min()) + GROUND * float(np.ptp(heights))
    reaching = []
    for limb in limbs:
        drop = float(tree.joints[limb.joints[0], up] - limb.tip[up])
        if len(limb.joints) > 1 and limb.tip[up] <= ground and drop >= DOWN * tree.depth(limb.joints[0]):
            reaching.append(limb)
    out = []
    for carrier in dict.fromkeys(limb.carrier for limb in reaching):
        here = [limb for limb in reaching if limb.carrier == carrier]
        left, right = ([limb for limb in here if limb.side == side] for side in ("_L", "_R"))
        for one, other in zip(left, right, strict=False):
            out += [one, other]
    return out


def _arms(tree: _Tree, limbs: list[_Limb], legs: list[_Limb], up: int) -> list[_Limb]:
    """The longest pair of other limbs that hangs on a joint above the legs; [] if there is none."""
    others = [limb for limb in limbs if all(limb is not leg for leg in legs) and len(limb.joints) > 1]
    pairs = [(a, b) for a in others for b in others if a.side == "_L" and b.side == "_R" and a.carrier == b.carrier]
    if not pairs:
        return []
    return list(max(pairs, key=lambda pair: sum(tree.depth(limb.joints[0]) for limb in pair)))


def _front_carrier(tree: _Tree, legs: list[_Limb], up: int) -> int | None:
    """Of the two joints that carry four legs, the one with the longer and higher central chain: a head, not a tail."""
    carriers = list(dict.fromkeys(leg.carrier for leg in legs))
    if len(legs) != 4 or len(carriers) > 2:
        return None
    if len(carriers) == 1:
        return carriers[0]

    def height(carrier: int) -> float:
        other = carriers[1 - carriers.index(carrier)]
        below = _central_below(tree, carrier)
        if other in below:
            below = [c for c in below if c != other and c not in _central_below(tree, other)]
        heads = [c for c in below if c not in tree.path_to_root(other)]
        return max((float(tree.ends[c, up]) for c in heads), default=-np.inf)

    return max(carriers, key=height)


def _central_below(tree: _Tree, joint: int) -> list[int]:
    out = []
    queue = [joint]
    while queue:
        for child in tree.children(queue.pop()):
            if not tree.sides[child]:
                out.append(child)
                queue.append(child)
    return out


def _names(
    tree: _Tree, limbs: list[_Limb], legs: list[_Limb], arms: list[_Limb], front: int, up: int, kind: str
) -> tuple[str, ...]:
    """Names of all joints."""
    names = [""] * len(tree.parents)
    hind = [leg for leg in legs if leg.carrier != front] if kind == "quadruped" else []
    rear = hind[0].carrier if hind else int(np.flatnonzero(tree.parents < 0)[0])
    names[rear] = "hips"
    _number(names, tree.path(rear, front)[1:], "spine")
    if kind == "quadruped" and not hind:
        hind = _rear_half(tree, legs, front, up)
    for leg in legs:
        prefix = "" if kind == "humanoid" else "hind_" if any(leg is other for other in hind) else "front_"
        _name_limb(names, tree, leg, [prefix + word for word in LEG], prefix + "hip")
    for arm in arms:
        _name_limb(names, tree, arm, list(ARM), "shoulder")
    _name_head(names, tree, front, up)
    for child in tree.children(rear):
        chain = tree.chain(child)
        if not names[child] and not tree.sides[child] and (kind == "quadruped" or len(chain) > 1):
            _number(names, chain, "tail")
    _name_others(names, tree)
    return tuple(names)


def _rear_half(tree: _Tree, legs: list[_Limb], front: int, up: int) -> list[_Limb]:
    """Of four legs on one joint, the two that start farther from the head."""
    heads = _central_below(tree, front)
    head = max(heads, key=lambda j: float(tree.ends[j, up])) if heads else front
    far = [float(np.linalg.norm(tree.joints[leg.joints[0]] - tree.ends[head])) for leg in legs]
    return [legs[n] for n in np.argsort(far, kind="stable")[len(legs) // 2 :]]


def _number(names: list[str], chain: list[int], word: str) -> None:
    """`word` for the first of a chain, `word_2`, `word_3`, … for the others."""
    taken = set(names)
    number = 1
    for joint in chain:
        while (name := word if number == 1 else f"{word}_{number}") in taken:
            number += 1
        names[joint] = name
        taken.add(name)


def _name_limb(names: list[str], tree: _Tree, limb: _Limb, words: list[str], before: str) -> None:
    """Names of the chain of a limb: the words in order, after a short bone before the limb."""
    chain = limb.joints
    starts = tree.joints[chain]
    stops = np.concatenate([starts[1:], limb.tip[None]])
    lengths = np.linalg.norm(stops - starts, axis=1)
    first = 1 if len(chain) > 2 and lengths[0] < SHORT * lengths[1:].max() else 0
    if words[-1] == "hand":
        chain = chain[: first + len(words)]  # what follows a hand is a finger
    if first:
        names[chain[0]] = before + limb.side
    for n, joint in enumerate(chain[first:]):
        word = words[n] if n < len(words) else f"{words[-1]}_{n - len(words) + 2}"
        names[joint] = word + limb.side
    last = words[min(len(chain) - first, len(words)) - 1]
    digit = "finger" if last == "hand" else "digit"
    _name_branches(names, tree, chain, digit, limb.side)


def _name_branches(names: list[str], tree: _Tree, chain: list[int], word: str, side: str) -> None:
    """Names of chains that hang on a limb besides its own: `finger_1_L`, `finger_1_2_L`."""
    number = 0
    for joint in chain:
        for child in tree.children(joint):
            if names[child] or child in chain:
                continue
            number += 1
            for depth, digit in enumerate(tree.chain(child), start=1):
                names[digit] = f"{word}_{number}{side}" if depth == 1 else f"{word}_{number}_{depth}{side}"


def _name_head(names: list[str], tree: _Tree, front: int, up: int) -> None:
    """Names of the highest central chain beyond the shoulders: neck and head; ears and a jaw on them."""
    starts = [c for c in tree.children(front) if not tree.sides[c] and not names[c]]
    if not starts:
        return
    highest = max(starts, key=lambda c: float(max(tree.ends[j, up] for j in tree.chain(c))))
    chain = tree.chain(highest)
    if len(chain) > 1:
        _number(names, chain[:-1], "neck")
    names[chain[-1]] = "head"
    for joint in chain:
        ears = [c for c in tree.children(joint) if tree.sides[c] and not names[c]]
        for number, child in enumerate(ears):
            same = [c for c in ears[: number + 1] if tree.sides[c] == tree.sides[child]]
            for depth, part in enumerate(tree.chain(child), start=1):
                number_text = "" if len(same) == 1 else f"_{len(same)}"
                step = "" if depth == 1 else f"_{depth}" if number_text else f"_1_{depth}"
                names[part] = f"ear{number_text}{step}{tree.sides[child]}"
        for child in tree.children(joint):
            if not names[child]:
                _number(names, tree.chain(child), "jaw")


def _name_others(names: list[str], tree: _Tree) -> None:
    """Names of all other chains, by the joint that they hang on: `spine_part_1_L`, then `spine_part_1_2_L`."""
    for first in range(len(names)):
        if names[first]:
            continue
        known = next((names[j] for j in tree.path_to_root(first) if names[j]), "body")
        base = known.removesuffix("_L").removesuffix("_R")
        number, side = 1, tree.sides[first]
        while f"{base}_part_{number}{side}" in names:
            number += 1
        for depth, joint in enumerate(j for j in tree.chain(first) if not names[j]):
            names[joint] = f"{base}_part_{number}{f'_{depth + 1}' if depth else ''}{side}"


#: Name of a humanoid joint -> its name in each standard, for joints that have one. Spines and necks are added below.
_SIDED: dict[str, tuple[str, str, str]] = {
    "shoulder": ("Shoulder", "Shoulder", "clavicle"),
    "upper_arm": ("Arm", "UpperArm", "upperarm"),
    "forearm": ("ForeArm", "LowerArm", "lowerarm"),
    "hand": ("Hand", "Hand", "hand"),
    "upper_leg": ("UpLeg", "UpperLeg", "thigh"),
    "lower_leg": ("Leg", "LowerLeg", "calf"),
    "foot": ("Foot", "Foot", "foot"),
    "toes": ("ToeBase", "Toes", "ball"),
}
#: Joints without which a tree matches no standard.
REQUIRED = ("hips", "spine", "head", *(f"{word}{side}" for word in (*ARM, *LEG[:3]) for side in ("_L", "_R")))
_VRM_SPINE = ("spine", "chest", "upperChest")


def standard_names(names: tuple[str, ...], standard: NameStandard) -> tuple[str, ...]:
    """Names of a humanoid in a standard; joints that it does not have keep theirs. Refused for other trees."""
    if standard == "plain":
        return names
    missing = [word for word in REQUIRED if word not in names]
    if missing:
        raise GeometryError(
            f"--names {standard}: expected a humanoid with {', '.join(REQUIRED[:3])}, arms and legs of three joints, "
            f"found a tree without {', '.join(missing)}; omit --names, or edit the tree with --save-tree and --tree"
        )
    spine = [name for name in names if re.fullmatch(r"spine(_\d+)?", name)]
    necks = [name for name in names if re.fullmatch(r"neck(_\d+)?", name)]
    return tuple(_standard_name(name, standard, spine.index(name) if name in spine else -1, necks) for name in names)


def _standard_name(name: str, standard: NameStandard, place: int, necks: list[str]) -> str:
    column = ("mixamo", "vrm", "unreal").index(standard)
    side = name[-2:] if name.endswith(("_L", "_R")) else ""
    word = name.removesuffix(side)
    if side and word in _SIDED:
        known = _SIDED[word][column]
        whole = "Left" if side == "_L" else "Right"
        return (f"mixamorig:{whole}{known}", f"{whole.lower()}{known}", f"{known}{side.lower()}")[column]
    if name == "hips":
        return ("mixamorig:Hips", "hips", "pelvis")[column]
    if name == "head":
        return ("mixamorig:Head", "head", "head")[column]
    if place >= 0:
        vrm = _VRM_SPINE[place] if place < len(_VRM_SPINE) else name
        return (f"mixamorig:Spine{place or ''}", vrm, f"spine_{place + 1:02d}")[column]
    if name in necks:
        number = necks.index(name)
        return (f"mixamorig:Neck{number or ''}", "neck" if not number else name, f"neck_{number + 1:02d}")[column]
    return name
