"""The encoders of meshopt streams: what they write is read again, here and by npm's meshoptimizer, and is as short."""

from __future__ import annotations

import base64

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osteon.io.gltf.corner_shift import corner_shift, undo_corner_shift
from osteon.io.gltf.meshopt.attributes import encode_attributes
from osteon.io.gltf.meshopt.filters import Packing, decode_packed, encode_packed, rounded
from osteon.io.gltf.meshopt.indices import encode_indices, encode_triangles
from osteon.io.gltf.write.mesh_order import order_triangles, order_vertices
from tests.formats.node_packages import ask_script
from tests.formats.test_gltf_meshopt import attribute_tasks, decoded, encode_all, grid_triangles, index_tasks, task_of

#: A stream of ours may be longer than npm's by this part.
LONGER = 0.02
#: … and by so many bytes, which weigh in short ones.
BYTES = 2


def encoded(task: dict) -> bytes:
    """A task of `test_gltf_meshopt`, encoded here."""
    elements = np.frombuffer(task["source"], np.uint8).reshape(task["count"], task["stride"])
    if task["mode"] == "ATTRIBUTES":
        return encode_attributes(elements)
    indices = elements.view(f"<u{task['stride']}").reshape(-1).astype(np.uint32)
    return encode_triangles(indices.reshape(-1, 3)) if task["mode"] == "TRIANGLES" else encode_indices(indices)


def same_triangles(one: np.ndarray, other: np.ndarray) -> bool:
    """In the same order, each beginning at any corner."""
    turned = np.stack([np.roll(one.reshape(-1, 3), turn, axis=1) for turn in range(3)])
    return bool((turned == other.reshape(-1, 3)).all(axis=2).any(axis=0).all())


def read_by_npm(tasks: list[dict], streams: list[bytes]) -> list[bytes]:
    given_streams = [task | {"encoded": stream} for task, stream in zip(tasks, streams, strict=True)]
    return [base64.b64decode(a["decoded"]) for a in ask_script("meshopt_streams.mjs", given_streams, "meshoptimizer")]


def all_tasks() -> list[dict]:
    plain = [task for task in attribute_tasks(np.random.default_rng(0)) if task["version"] == 0]
    return plain + index_tasks(np.random.default_rng(1))


def test_npm_reads_what_is_written():
    tasks = all_tasks()
    streams = [encoded(task) for task in tasks]
    for task, stream, found in zip(tasks, streams, read_by_npm(tasks, streams), strict=True):
        assert decoded(task, stream) == found
        kind = f"<u{task['stride']}"
        if task["mode"] == "TRIANGLES":
            assert same_triangles(np.frombuffer(found, kind), np.frombuffer(task["source"], kind))
        else:
            assert found == task["source"]


def test_streams_are_as_short_as_npms():
    tasks = all_tasks()
    for task, (data, _) in zip(tasks, encode_all(tasks), strict=True):
        assert len(encoded(task)) <= (1 + LONGER) * len(data) + BYTES, (task["mode"], task["count"])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 64).flatmap(lambda words: arrays.arrays(np.uint32, st.tuples(st.integers(1, 300), st.just(words))))
)
def test_any_elements_come_back(numbers):
    elements = numbers.astype("<u4").view(np.uint8).reshape(len(numbers), -1)
    task = task_of("ATTRIBUTES", elements, elements.shape[1])
    assert decoded(task, encode_attributes(elements)) == elements.tobytes()


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(np.uint32, st.tuples(st.integers(1, 100), st.just(3)), elements=st.integers(0, 40)))
def test_any_triangles_come_back(corners):
    found = decoded(task_of("TRIANGLES", corners.reshape(-1).astype("<u4"), 4), encode_triangles(corners))
    assert same_triangles(np.frombuffer(found, "<u4"), corners)


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(np.uint32, st.integers(1, 200), elements=st.integers(0, 2**29 - 1)))
def test_any_indices_come_back(indices):
    found = decoded(task_of("INDICES", indices.astype("<u4"), 4), encode_indices(indices))
    assert np.array_equal(np.frombuffer(found, "<u4"), indices)


@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.integers(0, 5)), st.data())
def test_turned_triangles_turn_back(faces, data):
    turns = data.draw(arrays.arrays(np.int64, len(faces), elements=st.integers(0, 2)))
    turned = np.take_along_axis(faces, (np.arange(3) + turns[:, None]) % 3, axis=1)
    assert np.array_equal(undo_corner_shift(turned, np.arange(6), corner_shift(faces)), faces)


def unit(width: int) -> np.ndarray:
    vectors = np.random.default_rng(2).normal(size=(2000, width))
    vectors[: 2 * width] = np.concatenate([np.eye(width), -np.eye(width)])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_unit_vectors_keep_their_direction():
    shown = rounded(unit(3), Packing("OCTAHEDRAL")).astype(float)
    shown /= np.linalg.norm(shown, axis=1, keepdims=True)
    assert np.degrees(np.arccos((shown * unit(3)).sum(axis=1).clip(-1, 1))).max() < 0.75


def test_tangents_keep_their_side():
    sides = np.random.default_rng(3).choice([-1.0, 1.0], 2000)
    assert np.array_equal(rounded(np.c_[unit(3), sides], Packing("OCTAHEDRAL"))[:, 3], 127 * sides)


@pytest.mark.parametrize("bits", [6, 10, 14, 16])
def test_rotations_turn_as_before(bits):
    shown = rounded(unit(4), Packing("QUATERNION", bits)) / 32767
    assert np.abs(np.abs((shown * unit(4)).sum(axis=1)) - 1).max() < 2 * 4.0**-bits * 3 + 5e-5


@pytest.mark.parametrize("bits", [0, 7, 15, 20])
def test_real_numbers_are_off_by_half_a_step(bits):
    values = np.random.default_rng(4).uniform(-7, 7, (500, 3))
    steps = np.abs(rounded(values, Packing("EXPONENTIAL", bits)) - values) * 2.0**bits
    assert 0.45 < steps.max() <= 0.5 + 1e-6


@pytest.mark.parametrize("packing", [Packing("OCTAHEDRAL"), Packing("QUATERNION", 12), Packing("EXPONENTIAL", 14)])
def test_npm_undoes_filters_alike(packing):
    values = unit(4 if packing.filter == "QUATERNION" else 3)
    elements = encode_packed(values, packing)
    task = task_of("ATTRIBUTES", elements, elements.shape[1], filter=packing.filter)
    found = read_by_npm([task], [encode_attributes(elements)])[0]
    stored = np.frombuffer(found, packing.stored).reshape(len(values), -1)[:, : values.shape[1]]
    assert np.array_equal(stored, decode_packed(elements, packing, values.shape[1]))


def test_order_is_a_run_and_shorter():
    corners = np.random.default_rng(5).permutation(grid_triangles(30))
    order = order_triangles(corners, 31 * 31)
    assert np.array_equal(np.sort(order), np.arange(len(corners)))
    vertices = order_vertices(corners[order], 31 * 31)
    place = np.argsort(vertices)
    runs = encode_triangles(place[corners[order]].astype(np.uint32))
    assert len(runs) < 1.12 * len(corners)
    assert len(encode_triangles(corners.astype(np.uint32))) > 2 * len(corners)


def test_vertices_that_no_triangle_uses_come_last():
    assert order_vertices(np.array([[4, 2, 0]]), 6).tolist() == [4, 2, 0, 1, 3, 5]


def test_pieces_that_do_not_touch_are_all_there():
    corners = np.concatenate([grid_triangles(2) + 9 * piece for piece in range(5)])
    assert np.array_equal(np.sort(order_triangles(corners, 45)), np.arange(len(corners)))
