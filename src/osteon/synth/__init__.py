"""Built-in subjects, all procedural: nothing is read from files, and the same call always returns the same vertices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from osteon.core.sequence import MeshSequence

__all__ = ["SUBJECTS"]


def _make(module: str, function: str) -> MeshSequence:
    made = getattr(import_module(f"osteon.synth.{module}"), function)()
    sequence: MeshSequence = getattr(made, "sequence", made)
    return sequence


#: Subjects by name. Modules are imported when a subject is made.
SUBJECTS: dict[str, Callable[[], MeshSequence]] = {
    "creature": partial(_make, "creature", "make_creature"),  # a galloping fox, about 8,000 vertices, 48 frames
    "cloth": partial(_make, "cloth", "make_cloth"),  # a flag in the wind
    # Baked from a known skin:
    "cylinder": partial(_make, "baked", "bake_cylinder"),  # a tube with three joints, four bones
    "chain": partial(_make, "baked", "bake_chain"),  # six linked rings, six bones
    "shells": partial(_make, "baked", "bake_shells"),  # five separate shells, eight bones
    "rigid": partial(_make, "baked", "bake_rigid_body"),  # a tumbling ring, one bone
    "random": partial(_make, "baked", "bake_random_model"),  # a lumpy ball, eight bones, four influences
}
