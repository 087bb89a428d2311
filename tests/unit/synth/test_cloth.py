from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.sequence import MeshSequence
from osteon.synth import SUBJECTS
from osteon.synth.cloth import WIDTH, ClothOptions, make_cloth

from .conftest import topology_of


def test_threads_keep_their_length_in_the_plane_of_the_wind() -> None:
    options = ClothOptions(frames=8, columns=20, rows=6)
    frames = make_cloth(options).frames.reshape(8, 7, 21, 3).astype(np.float64)
    steps = np.hypot(*np.moveaxis(np.diff(frames, axis=2)[..., [0, 2]], -1, 0))
    np.testing.assert_allclose(steps, WIDTH / 20, rtol=1e-4)


def test_pole_holds_and_free_end_waves() -> None:
    options = ClothOptions(frames=12, columns=20, rows=6)
    frames = make_cloth(options).frames.reshape(12, 7, 21, 3)
    assert not np.ptp(frames[:, :, 0], axis=0).any()
    assert np.ptp(frames[:, :, -1, 2], axis=0).min() > 0.2


def test_loops_and_is_deterministic() -> None:
    cloth = make_cloth()
    steps = np.linalg.norm(np.diff(cloth.frames, axis=0), axis=2).max(axis=1)
    assert np.linalg.norm(cloth.frames[0] - cloth.frames[-1], axis=1).max() < 1.2 * steps.max()
    assert np.array_equal(cloth.frames, make_cloth().frames)


def test_sheet_is_open_and_carries_uvs() -> None:
    cloth = make_cloth(ClothOptions(frames=1))
    assert topology_of(cloth.n_vertices, cloth.faces).triangles_at_edge == {1, 2}
    assert cloth.asset.uvs is not None
    assert cloth.asset.uvs.min() == 0
    assert cloth.asset.uvs.max() == 1


def test_calm_cloth_is_flat() -> None:
    calm = make_cloth(ClothOptions(frames=2, strength=0))
    np.testing.assert_allclose(calm.frames[1], calm.rest, atol=1e-6)


def test_refuses() -> None:
    with pytest.raises(OptionError):
        ClothOptions(strength=7)
    with pytest.raises(OptionError):
        ClothOptions(frames=0)


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_subject_can_be_made(name: str) -> None:
    sequence = SUBJECTS[name]()
    assert isinstance(sequence, MeshSequence)
    assert sequence.n_frames > 1
    assert SUBJECTS[name].__doc__
