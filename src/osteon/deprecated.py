"""Public names that changed: the old name works for one more version and warns."""

from __future__ import annotations

__all__ = ["RENAMED"]

#: Old names of `osteon` and their new names.
RENAMED = {
    "transforms_of_turns": "transforms_of_joint_rotations",
    "turns_of_transforms": "joint_rotations_of_transforms",
}
