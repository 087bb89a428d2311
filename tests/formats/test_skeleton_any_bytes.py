"""Whatever stands in a skeleton or pose file, it is read or refused with an error of ours that names it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from osteon.core.errors import OsteonError
from osteon.core.sticks import StickSkeleton
from osteon.io.poses import load_poses
from osteon.io.skeletons import load_skeleton, save_skeleton

LEG = StickSkeleton(np.array([[0, 2, 0], [0, 1, 0], [0, 0, 0]], float), [[0, 1], [1, 2]], ("hip", "knee", "foot"))
LINE = {"name": "ear", "rest": [[0, 0, 0], [0, 0, 1]], "posed": [[1, 0, 0], [2, 0, 0]], "domain": {"tube": 0.5}}
POSES = {
    "fps": 24,
    "poses": [
        {"rotate": {"knee": 30}, "translate": [1, 0], "lines": [LINE], "pins": {"3": [0, 0, 1]}},
        {"joints": {"foot": [1, 0]}, "bones": {"hip-knee": {"stretch": 2, "twist": [0, 9]}}, "pins": {"3": [0, 1]}},
    ],
}
SEEDS = {
    "a.tgf": b"1 0 2 0 4e291\n2 0 1 0 1 x\n3 0 0 0\n#\n1 2\n2 3 1\n#\n",
    "a.skel": b"3\n0 2 0 hip root\n0 1 0 knee hip\n0 0 0 foot 1\n",
    "a.json": json.dumps(
        {"joints": {"hip": [0, 2], "knee": [0, 1], "foot": [0, 0]}, "bones": [[0, 1], [1, 2]]}
    ).encode(),
    "p.json": json.dumps(POSES).encode(),
}
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["hip", "knee", "hip-knee", "", "\n", "1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["hip", "foot", "hip-knee", "rest", "twist", "axis", "0", "x"]), inner)
    ),
    max_leaves=8,
)
KEYS = ["joints", "rotate", "translate", "bones", "lines", "pins", "poses", "fps", "name", "parents", "root"]
quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_seeds_are_fine(tmp_path, name):
    (tmp_path / name).write_bytes(SEEDS[name])
    assert np.isfinite(load_poses([tmp_path / name], LEG).joints).all()


@pytest.mark.parametrize("name", sorted(SEEDS))
@quick
@given(data=st.data())
def test_spoiled_in_a_few_places(tmp_path, name, data):
    spoiled = bytearray(SEEDS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(spoiled)))
        cut = data.draw(st.integers(0, 4))
        spoiled[at : at + cut] = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([b"-", b"9" * 12, b"\n", b"nan ", b"NaN", b"1e99", b"{", b"[]", b'"'])
        )
    _read_or_refuse(tmp_path / name, bytes(spoiled))


@pytest.mark.parametrize("suffix", [".tgf", ".skel", ".json", ".glb", ".npz"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=80))
def test_arbitrary_bytes(tmp_path, suffix, data):
    _read_or_refuse(tmp_path / f"any{suffix}", data)


@quick
@given(content=st.dictionaries(st.sampled_from(KEYS), ANY_JSON, max_size=4))
def test_arbitrary_json(tmp_path, content):
    _read_or_refuse(tmp_path / "any.json", json.dumps(content).encode())
    _read_or_refuse(tmp_path / "many.json", json.dumps({"poses": [content, {}]}).encode())


def _read_or_refuse(path, data):
    path.write_bytes(data)
    for load in (load_skeleton, lambda p: load_poses([p], LEG), lambda p: load_poses([p], None)):
        try:
            found = load(path)
        except OsteonError as error:
            message = str(error)
        else:
            assert np.isfinite(found.joints).all()
            continue
        assert path.name in message
        assert "\n" not in message


coordinates = arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6), unique=True)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(joints=coordinates, parents=st.tuples(*(st.integers(0, j) for j in range(3))), root=st.integers(0, 3))
def test_what_is_saved_is_loaded(tmp_path, joints, parents, root):
    """All digits and the root come back; only JSON keeps the order of joints when the root is not the first."""
    bones = np.array([(parent, child) for child, parent in enumerate(parents, 1)])
    lengths = np.linalg.norm(joints[bones[:, 1]] - joints[bones[:, 0]], axis=1)
    if lengths.min() <= 1e-6 * math.dist(joints.min(axis=0), joints.max(axis=0)):
        return
    skeleton = StickSkeleton(joints, bones, ("a", "b", "c", "d"), root)
    for suffix in (".tgf", ".skel", ".json"):
        path = tmp_path / f"s{suffix}"
        save_skeleton(skeleton, path)
        found = load_skeleton(path)
        assert np.array_equal(load_poses([path], skeleton).joints[0], joints)
        assert found.names[found.root] == skeleton.names[root]
        if suffix == ".json":
            assert np.array_equal(found.joints, joints)
            assert np.array_equal(found.bones, bones)
