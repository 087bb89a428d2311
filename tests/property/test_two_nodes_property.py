"""Whatever a bone does, two nodes do the same at frames and take no detour between them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from osteon.io.two_nodes import NodeTracks, join_transforms, split_transforms

NUMBERS = st.one_of(
    st.floats(-2, 2, width=32),
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-3, 1e-6, 1 + 1e-6]),
)


def halfway(tracks: NodeTracks) -> np.ndarray:
    """(f-1,b,3,4) between frames; quaternions of a clip are in one hemisphere."""

    def mean(track: np.ndarray, unit: bool = False) -> np.ndarray:
        middle = (track[:-1] + track[1:]) / 2
        return middle / np.linalg.norm(middle, axis=-1, keepdims=True) if unit else middle

    return join_transforms(
        NodeTracks(
            mean(tracks.translations),
            mean(tracks.rotations, True),
            mean(tracks.scales),
            mean(tracks.child_rotations, True),
            tracks.needs_child,
        )
    )


@settings(deadline=None, max_examples=150)
@given(arrays(np.float64, (4, 3, 3, 4), elements=NUMBERS))
def test_exact_at_frames(transforms):
    tracks = split_transforms(transforms)
    size = np.abs(transforms[..., :3]).max(axis=(-1, -2), keepdims=True)
    off = np.abs(join_transforms(tracks) - transforms) / np.where(size > 0, size, 1)
    assert off.max() <= np.where(tracks.needs_child, 1e-7, 1e-6).max()
    assert np.abs(np.linalg.norm(tracks.rotations, axis=-1) - 1).max() < 1e-12


@settings(deadline=None, max_examples=150)
@given(arrays(np.float64, (3, 2, 3, 3), elements=NUMBERS), st.sampled_from([1.0, 0.3, 0.01]))
def test_no_detour(steps, size):
    """In the bone's space every point of the unit ball counts; the bound needs no slack for the turn."""
    linear = np.eye(3) + size * np.cumsum(steps, axis=0)
    transforms = np.concatenate([linear, np.zeros((3, 2, 3, 1))], axis=-1)
    middle = halfway(split_transforms(transforms))[..., :3]
    moved = np.linalg.norm(linear[1:] - linear[:-1], ord=2, axis=(-2, -1))
    for end in (linear[:-1], linear[1:]):
        reach = np.linalg.norm(middle - end, ord=2, axis=(-2, -1))
        assert (reach <= moved + 2e-6 * np.abs(linear).max()).all()


@settings(deadline=None, max_examples=150)
@given(arrays(np.float64, (4, 3, 3, 4), elements=NUMBERS))
def test_only_what_turns_inside_out_has_negative_scales(transforms):
    tracks = split_transforms(transforms, positive=True)
    outwards = np.linalg.det(transforms[..., :3]) > 1e-9
    assert (tracks.scales[outwards] >= 0).all()
    size = np.abs(transforms[..., :3]).max(axis=(-1, -2), keepdims=True)
    assert (np.abs(join_transforms(tracks) - transforms) / np.where(size > 0, size, 1)).max() <= 1e-6
