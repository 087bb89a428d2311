"""Names of nodes that no importer confuses: each unique, and different from those of clips and corrections.

Importers look things up by name: a track that names its node, an action that is named like its object, a joint that
is named twice. The model's own names are in the file's extras, where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from osteon.core.model import SkinnedModel

__all__ = ["NodeNames", "name_nodes", "target_names"]


@dataclass(frozen=True, slots=True)
class NodeNames:
    """What the nodes of a file are called."""

    joints: tuple[str, ...]  # (b,)
    movers: tuple[str, ...]  # (b,) of the node above a joint that needs two
    mesh: str  # and its node
    armature: str
    coarse: tuple[str, ...] = ()  # of coarser meshes


def name_nodes(model: SkinnedModel, joints: Sequence[str], n_coarse: int = 0) -> NodeNames:
    """Names as near as they go to those of the model; joints come first, because clips of others ask for them."""
    taken = {clip.name for clip in model.clips} | set(target_names(model.n_columns))
    names = tuple(_free(name or f"bone_{b}", "joint", taken) for b, name in enumerate(joints))
    movers = tuple(_free(f"{name}_affine", "joint", taken) for name in names)
    mesh, armature = _free(model.name or "mesh", "mesh", taken), _free("armature", "root", taken)
    coarse = tuple(_free(f"{mesh}_LOD{number}", "mesh", taken) for number in range(1, n_coarse + 1))
    return NodeNames(names, movers, mesh, armature, coarse)


def target_names(rank: int) -> list[str]:
    """Of the morph targets."""
    return [f"correction_{r}" for r in range(rank)]


def _free(name: str, ending: str, taken: set[str]) -> str:
    """The name, or the first of `name_ending`, `name_ending_2`, … that is not taken; it is from now on."""
    others = (f"{name}_{ending}" + (f"_{n}" if n > 1 else "") for n in count(1))
    found = name if name not in taken else next(other for other in others if other not in taken)
    taken.add(found)
    return found
