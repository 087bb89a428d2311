"""glTF animations between and beyond their keys."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import key_rate
from osteon.io import LoadOptions, load_sequence
from osteon.io.gltf.channels import Channel

TIMES = np.array([0.0, 1.0, 3.0])


def channel(path, interpolation, values, times=TIMES):
    return Channel(0, path, interpolation, np.asarray(times, float), np.asarray(values, float))


def about_z(degrees):
    half = np.radians(degrees) / 2
    return np.array([0, 0, np.sin(half), np.cos(half)])


def test_step_holds_until_the_next_key():
    stepped = channel("translation", "STEP", [[1, 0, 0], [2, 0, 0], [3, 0, 0]])
    assert stepped.at(np.array([-1, 0, 0.99, 1, 2.9, 3, 9]))[:, 0].tolist() == [1, 1, 1, 2, 2, 3, 3]


def test_linear_is_straight_and_stands_still_outside():
    straight = channel("scale", "LINEAR", [[1, 0, 0], [2, 0, 0], [6, 0, 0]])
    assert np.allclose(straight.at(np.array([-1, 0, 0.5, 1, 2, 3, 9]))[:, 0], [1, 1, 1.5, 2, 4, 6, 6])


def test_one_key_is_constant():
    for interpolation in ("STEP", "LINEAR"):
        assert channel("weights", interpolation, [[0.5, 2]], [1.0]).at(np.array([0, 1, 2.0])).tolist() == [[0.5, 2]] * 3


def test_rotations_follow_the_shorter_arc_at_constant_speed():
    turned = channel("rotation", "LINEAR", [about_z(0), -about_z(90), about_z(60)])
    expected = [about_z(0), about_z(45), about_z(90), about_z(75)]
    got = turned.at(np.array([0, 0.5, 1, 2]))
    assert np.allclose(np.abs(np.einsum("fi,fi->f", got, expected)), 1)
    assert np.allclose(np.linalg.norm(got, axis=1), 1)


def test_nearly_equal_rotations_and_long_quaternions():
    close = channel("rotation", "LINEAR", [about_z(0), about_z(1e-5), 7 * about_z(1e-5)])
    assert np.allclose(np.linalg.norm(close.at(np.linspace(0, 3, 7)), axis=1), 1)
    assert np.allclose(close.at(np.array([0.5]))[0], about_z(5e-6))


def test_cubic_splines_meet_keys_and_tangents():
    keys = np.array([[0.0, 5, -2], [3, 1, 4], [1, 2, 0]])[:, :, None] * [1, 2, 3]
    curve = channel("translation", "CUBICSPLINE", keys)
    assert np.allclose(curve.at(TIMES), keys[:, 1])
    step = 1e-6
    leaving = (curve.at(np.array([step])) - curve.at(np.array([0.0]))) / step
    arriving = (curve.at(np.array([3.0])) - curve.at(np.array([3 - step]))) / step
    assert np.allclose(leaving, keys[0, 2], atol=1e-4)
    assert np.allclose(arriving, keys[2, 0], atol=1e-4)
    assert np.allclose(curve.at(np.array([-1, 9]))[:, 0], [5, 2])


def test_cubic_spline_of_a_cubic_is_exact():
    values = np.stack([3 * TIMES**2, TIMES**3, 3 * TIMES**2], axis=1)[:, :, None]
    at = np.linspace(0, 3, 13)
    assert np.allclose(channel("weights", "CUBICSPLINE", values).at(at)[:, 0], at**3)


def test_cubic_rotations_stay_unit():
    keys = np.zeros((3, 3, 4))
    keys[:, 1] = [about_z(0), about_z(80), about_z(160)]
    got = channel("rotation", "CUBICSPLINE", keys).at(np.linspace(0, 3, 9))
    assert np.allclose(np.linalg.norm(got, axis=1), 1)


@pytest.mark.parametrize(
    ("frames", "rate", "expected"),
    [
        ([0, 1, 7], 24, 24),
        ([0, 2, 3], 30, 30),
        ([1, 2, 3], 25, 25),
        ([0, 1], 60, 60),
        ([0, 0.37, 1], 30, 30),
        ([0, 2], 1, 24),
    ],
)
def test_rate_on_which_the_keys_fall(frames, rate, expected):
    times = (np.array(frames) / rate).astype(np.float32).astype(float) + 0.125
    assert key_rate(times) == expected


@pytest.fixture(name="moving")
def _moving(triangle_glb, tmp_path):
    def load(interpolation, times, values, **options):
        sampler = {
            "input": triangle_glb.accessor(times),
            "output": triangle_glb.accessor(values),
            "interpolation": interpolation,
        }
        target = {"node": 0, "path": "translation"}
        animation = {"samplers": [sampler], "channels": [{"sampler": 0, "target": target}]}
        triangle_glb.json["animations"] = [animation]
        return load_sequence(triangle_glb.save(tmp_path / "m.glb"), options=LoadOptions(**options))

    return load


def test_frames_run_from_first_to_last_key(moving):
    sequence = moving("LINEAR", [0.5, 1.75], [[0, 0, 0], [10, 0, 0]], fps=2)
    assert np.allclose(sequence.frames[:, 0, 0], [0, 4, 8, 10])  # the last frame is the last key
    assert sequence.clips[0].fps == 2


def test_steps_come_on_time_although_times_are_rounded(moving):
    times = np.arange(49, dtype=np.float32) / np.float32(24)
    sequence = moving("STEP", times, np.arange(49)[:, None] * [1.0, 0, 0])
    assert sequence.frames[:, 0, 0].tolist() == list(range(49))


def test_splines_are_sampled(moving):
    values = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0], [8, 0, 0], [0, 0, 0]])
    sequence = moving("CUBICSPLINE", [0.0, 2.0], values, fps=1)
    u, start, stop = 0.5, 0.0, 8.0
    middle = (3 * u**2 - 2 * u**3) * stop + (u**3 - 2 * u**2 + u) * 2 * 1 + (u**3 - u**2) * 2 * 1
    assert np.allclose(sequence.frames[:, 0, 0], [start, middle, stop])


def test_one_key_is_one_frame(moving):
    assert moving("LINEAR", [2.0], [[3, 0, 0]]).frames[:, 0, 0].tolist() == [3]
