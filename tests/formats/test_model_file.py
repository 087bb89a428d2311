"""The model file: all fields, versions, damage."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Asset, Material
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.io import load_model, load_sequence, save_model

REST = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


@pytest.fixture(name="model")
def _model() -> SkinnedModel:
    rng = np.random.default_rng(5)
    return linear_blend_model(
        rest=REST,
        faces=FACES,
        skin=Skin(np.array([[0, 1], [1, 0], [0, 0], [1, 1]]), np.array([[0.5, 0.5], [0.25, 0.75], [1, 0], [1, 0]])),
        track=BoneTrack(rng.normal(size=(5, 2, 3, 4)), "rigid", ("hip", "knee ü\x00")),
        clips=(Clip("walk", 0, 2, 24.0), Clip("run", 2, 5, 59.94)),
        corrections=Corrections(rng.normal(size=(3, 4, 3)), rng.normal(size=(5, 3))),
        skeleton=Skeleton(("root", "leg"), np.array([-1, 0]), rng.normal(size=(2, 3, 4))),
        asset=Asset(
            uvs=rng.random((2, 3, 2)),
            colors=rng.random((4, 4)),
            materials=(Material("m", (0.1, 0.2, 0.3, 0.4), 0.5, 0.6, True), Material("n")),
            triangle_material=np.array([1, 0]),
            polygon_of_triangle=np.array([0, 0]),
            primitive_of_triangle=np.array([0, 1]),
            primitive_names=("body", "visor"),
        ),
        name="dog",
    )


def test_everything_comes_back(model, tmp_path):
    save_model(model, tmp_path / "dog.npz")
    again = load_model(tmp_path / "dog.npz")
    assert (again.clips, again.name, again.track.names) == (model.clips, "dog", ("hip", "knee ü\x00"))
    assert again.track.bone_type == "rigid"
    assert again.asset.materials == model.asset.materials
    assert again.asset.primitive_names == model.asset.primitive_names
    assert again.skeleton.names == ("root", "leg")
    for path in (
        *("rest", "faces", "skin.bones", "skin.weights", "track.transforms"),
        *("corrections.basis", "corrections.coefficients", "skeleton.parents", "skeleton.world_from_joint"),
        *("asset.uvs", "asset.colors", "asset.triangle_material"),
        *("asset.polygon_of_triangle", "asset.primitive_of_triangle"),
    ):
        one, other = model, again
        for part in path.split("."):
            one, other = getattr(one, part), getattr(other, part)
        assert np.array_equal(one, other), path
        assert one.dtype == other.dtype, path


def test_absent_parts_stay_absent(model, tmp_path):
    bare = linear_blend_model(model.rest, model.faces, model.skin, model.track)
    save_model(bare, tmp_path / "bare.npz")
    again = load_model(tmp_path / "bare.npz")
    assert again.corrections is None
    assert again.skeleton is None
    assert again.asset == Asset()
    assert again.clips == bare.clips


def test_equal_models_give_equal_bytes(model, tmp_path):
    save_model(model, tmp_path / "a.npz")
    save_model(load_model(tmp_path / "a.npz"), tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_needs_no_pickle(model, tmp_path):
    save_model(model, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    assert str(arrays["format"]) == "osteon-model"
    assert int(arrays["version"]) == 1


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"version": np.array(3)}, FileFormatError, "osteon-model version 3"),
        ({"version": np.array(0)}, FileFormatError, "version 0"),
        ({"version": np.array("new")}, FileFormatError, "'version'"),
        ({"version": None}, FileFormatError, "no version"),
        ({"format": np.array("osteon-sequence")}, FileFormatError, "osteon-sequence"),
        ({"format": None}, FileFormatError, "no format"),
        ({"rest": None}, FileFormatError, "'rest'"),
        ({"coefficients": None}, FileFormatError, "'coefficients'"),
        ({"header": None}, FileFormatError, "header"),
        ({"header": np.array("{}")}, FileFormatError, "header"),
        ({"weights": np.ones((4, 2))}, GeometryError, "sums to 2"),
        ({"bones": np.full((4, 2), 9)}, GeometryError, "bone 9"),
        ({"rest": REST[:2]}, GeometryError, "faces"),
        ({"transforms": np.zeros((4, 2, 3, 4))}, GeometryError, "clips must follow"),
    ],
)
def test_spoiled_models(model, tmp_path, refused, change, kind, says):
    path = tmp_path / "bad.npz"
    save_model(model, path)
    with np.load(path) as stored:
        arrays = {key: stored[key] for key in stored.files} | change
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    with refused(kind, "bad.npz", says):
        load_model(path)


def test_a_model_is_no_sequence_and_the_reverse(model, tmp_path, refused):
    save_model(model, tmp_path / "model.npz")
    with refused(FileFormatError, "model.npz", "is a skinned model"):
        load_sequence(tmp_path / "model.npz")
    np.savez(tmp_path / "plain.npz", frames=REST[None], faces=FACES)
    with refused(FileFormatError, "plain.npz", "osteon-model"):
        load_model(tmp_path / "plain.npz")
    with refused(FileFormatError, "missing.npz", "no such file"):
        load_model(tmp_path / "missing.npz")
    with refused(FileFormatError, "folder"):
        load_model(tmp_path)
