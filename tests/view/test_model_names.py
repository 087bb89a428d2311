"""What the page calls models, and what stays of one that is closed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.io import save_model
from osteon.view.server.app import fit_form
from osteon.view.server.collection import Collection, Item, Peers, prepare_item
from osteon.view.server.model_files import method_name, named_after_file
from tests.posable import posable_model


def test_methods_have_their_usual_names() -> None:
    assert [method_name(word) for word in ("ssd", "dqs", "as", "mwe")] == [
        "LBS",
        "DQS",
        "Animation Space",
        "Multi-Weight",
    ]
    assert method_name("mine") == "mine"
    (model,) = [field for field in fit_form() if field["name"] == "model"]
    assert model["choices"] == ["lbs", "dqs", "as", "mwe"]
    assert model["names"] == ["LBS", "DQS", "Animation Space", "Multi-Weight"]


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("rest", "arm.glb", "arm"),
        ("rest", "poses/rest.obj", "poses"),
        ("horse", "a.glb", "horse"),
        ("", "a.npz", "a"),
        ("poses", "hand.glb", "hand"),
    ],
)
def test_a_name_that_says_nothing_gives_way_to_that_of_the_file(name: str, path: str, expected: str) -> None:
    model = posable_model().with_mesh(name=name)
    assert named_after_file(model, path).name == expected
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    sequence = MeshSequence(corners[None], np.array([[0, 1, 2]], np.int32), corners, name=name)
    assert named_after_file(sequence, path).name == expected


def test_a_character_learned_from_a_rest_pose_is_called_by_its_file(tmp_path: Path) -> None:
    save_model(posable_model().with_mesh(name="rest"), tmp_path / "hand.npz")
    item = prepare_item("m1", (str(tmp_path / "hand.npz"),), tmp_path / "m1.bin")
    assert item.name == "hand"


def test_the_pack_of_a_closed_model_stays_as_long_as_another_needs_it(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    for item_id, source in (("m1", ""), ("m2", "m1")):
        pack = collection.pack_of(item_id)
        pack.write_bytes(b"pack")
        collection.add(Item(item_id, item_id, "model", pack, peers=Peers("m1", source)))
    collection.close(collection.items["m1"])
    assert [item.id for item in collection.shown] == ["m2"]
    assert collection.items["m1"].pack.is_file()  # the frames of the source are in it
    collection.close(collection.items["m2"])
    assert collection.shown == []
    assert list(tmp_path.iterdir()) == []
