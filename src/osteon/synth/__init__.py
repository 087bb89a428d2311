"""Built-in subjects, all procedural: nothing is read from files, the same call always gives the same vertices."""

from __future__ import annotations

from collections.abc import Callable

from osteon.core.sequence import MeshSequence

__all__ = ["SUBJECTS"]


def _creature() -> MeshSequence:
    """A galloping fox of about 8,000 vertices, 48 frames; flesh with muscles, not a skin."""
    from osteon.synth.creature import make_creature

    return make_creature()


def _cloth() -> MeshSequence:
    """A flag in the wind."""
    from osteon.synth.cloth import make_cloth

    return make_cloth()


def _cylinder() -> MeshSequence:
    """A tube that bends at three joints; played from a known skin of four bones."""
    from osteon.synth.baked import bake_cylinder

    return bake_cylinder().sequence


def _chain() -> MeshSequence:
    """Six linked rings; played from a known skin of six bones."""
    from osteon.synth.baked import bake_chain

    return bake_chain().sequence


def _shells() -> MeshSequence:
    """Five separate shells; played from a known skin of eight bones."""
    from osteon.synth.baked import bake_shells

    return bake_shells().sequence


def _rigid() -> MeshSequence:
    """A tumbling ring; played from a single bone."""
    from osteon.synth.baked import bake_rigid_body

    return bake_rigid_body().sequence


def _random() -> MeshSequence:
    """A lumpy ball; played from a known skin of eight bones, four influences."""
    from osteon.synth.baked import bake_random_model

    return bake_random_model().sequence


#: What `osteon demo` can make, by name. Imports happen when a subject is made.
SUBJECTS: dict[str, Callable[[], MeshSequence]] = {
    "creature": _creature,
    "cloth": _cloth,
    "cylinder": _cylinder,
    "chain": _chain,
    "shells": _shells,
    "rigid": _rigid,
    "random": _random,
}
