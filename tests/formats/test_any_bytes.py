"""Whatever stands in a file, it is read or refused with an error of ours that names it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osteon.core.errors import InputError
from osteon.core.mesh import Asset
from osteon.io import load_model, load_sequence
from osteon.io.meshes.ply import PlyWriter

FACES = np.array([[0, 1, 2], [0, 2, 3], [3, 1, 0]], np.int32)
VERTICES = np.arange(12, dtype=np.float32).reshape(4, 3)
COLORED = Asset(colors=np.ones((4, 4), np.float32), polygon_of_triangle=np.array([0, 0, 1], np.int32))
GLTF = {
    "asset": {"version": "2.0"},
    "buffers": [{"byteLength": 36, "uri": "data:;base64," + "AAAA" * 12}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "nodes": [{"mesh": 0, "children": [1]}, {"rotation": [0, 0, 0, 1]}],
}
SEEDS = {
    "a.obj": b"v 0 0 0\nv 1 0 0 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 1\nusemtl x\no y\nf 1/1 2//1 3/1/1 \\\n 4\nf -4 -3 -2\n",
    "a.off": b"COFF\n4 2 0\n0 0 0 255 0 0 9\n1 0 0 1 2 3 4\n1 1 0 1 1 1 1\n0 1 0 1 1 1 1\n4 0 1 2 3\n3 0 1 2 9 0\n",
    "t.ply": PlyWriter(FACES, COLORED, "ascii").frame(VERTICES),
    "l.ply": PlyWriter(FACES, COLORED, "binary_little_endian").frame(VERTICES),
    "b.ply": PlyWriter(FACES, COLORED, "binary_big_endian").frame(VERTICES),
    "a.gltf": json.dumps(GLTF).encode(),
}


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_seeds_are_fine(tmp_path, name):
    (tmp_path / name).write_bytes(SEEDS[name])
    assert load_sequence(tmp_path / name).n_triangles >= 1


@pytest.mark.parametrize("name", sorted(SEEDS))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_spoiled_in_a_few_places(tmp_path, name, data):
    seed = SEEDS[name]
    spoiled = bytearray(seed)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(spoiled)))
        cut = data.draw(st.integers(0, 4))
        spoiled[at : at + cut] = data.draw(
            st.one_of(st.binary(max_size=4), st.sampled_from([b"-", b"9" * 12, b"\n", b"nan "]))
        )
    _read_or_refuse(tmp_path / name, bytes(spoiled))


@pytest.mark.parametrize("suffix", [".obj", ".off", ".ply", ".npy", ".npz", ".glb", ".gltf"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=80))
def test_arbitrary_bytes(tmp_path, suffix, data):
    _read_or_refuse(tmp_path / f"any{suffix}", data)


def _read_or_refuse(path, data):
    path.write_bytes(data)
    for load in (load_sequence, load_model) if path.suffix == ".npz" else (load_sequence,):
        try:
            load(path)
        except InputError as error:
            message = str(error)
        else:
            continue
        assert path.name in message
        assert "\n" not in message
