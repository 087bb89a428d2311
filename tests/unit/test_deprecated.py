"""Old public names still work and warn."""

from __future__ import annotations

import pytest

import osteon
from osteon.deprecated import RENAMED


def test_old_names_warn_and_are_the_new_ones() -> None:
    assert RENAMED
    for old, new in RENAMED.items():
        assert old not in osteon.__all__
        with pytest.warns(DeprecationWarning, match=f"osteon.{old} is now osteon.{new}"):
            found = getattr(osteon, old)
        assert found is getattr(osteon, new)
