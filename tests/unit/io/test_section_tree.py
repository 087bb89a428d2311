"""Trees as text files: saved and read again, every edit, and what is refused by the name of the joint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io.skeletons.section_tree import SectionJoint, SectionTree, load_section_tree, save_section_tree

PLACES = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 1, 0]])


def tree() -> SectionTree:
    names, parents = ("hips", "spine", "head", "arm"), (-1, 0, 1, 1)
    joints = tuple(
        SectionJoint(name, parent, tuple(PLACES[j].tolist()), (j,))
        for j, (name, parent) in enumerate(zip(names, parents, strict=True))
    )
    bones = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [3, 1], [3, 0]])
    weights = np.array([[1.0, 0], [0.75, 0.25], [0.5, 0.5], [1, 0], [0.6, 0.4], [1, 0]])
    return SectionTree(joints, bones, weights, PLACES)


@pytest.fixture
def edited(tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], None]], SectionTree]:
    """Reads the tree after an edit of its joints."""
    path = tmp_path / "tree.json"
    save_section_tree(tree(), path)
    stored = json.loads(path.read_text())

    def read(edit: Callable[[dict[str, Any]], None]) -> SectionTree:
        edit(stored["joints"])
        path.write_text(json.dumps(stored))
        return load_section_tree(path)

    return read


def test_saved_and_read_again(edited) -> None:
    again, before = edited(lambda joints: None), tree()
    assert again.joints == before.joints
    assert np.array_equal(again.bones, before.bones)
    np.testing.assert_allclose(again.weights, before.weights, atol=1e-4)
    assert np.array_equal(again.places, before.places)
    assert not any(joint.moved for joint in again.joints)


def test_the_file_is_made_to_be_edited(tmp_path: Path) -> None:
    save_section_tree(tree(), tmp_path / "tree.json")
    lines = (tmp_path / "tree.json").read_text().splitlines()
    assert '    "arm": {"parent": "spine", "position": [1.0, 1.0, 0.0], "sections": [3]}' in lines


def test_rehung_renamed_and_moved(edited) -> None:
    def edit(joints: dict[str, Any]) -> None:
        joints["limb"] = {**joints.pop("arm"), "parent": "head", "position": [1, 1.5, 0]}

    limb = edited(edit).joints[-1]
    assert limb == SectionJoint("limb", 2, (1.0, 1.5, 0.0), (3,), moved=True)


def test_merged(edited) -> None:
    def edit(joints: dict[str, Any]) -> None:
        joints["spine"]["sections"] = [1, 3]
        del joints["arm"]

    merged = edited(edit)
    dense = merged.dense(np.zeros((6, 3)))
    assert [joint.name for joint in merged.joints] == ["hips", "spine", "head"]
    np.testing.assert_allclose(dense[4], [0, 1, 0], atol=1e-4)
    np.testing.assert_allclose(dense.sum(axis=1), 1)


def test_split_by_the_plane_through_the_new_joint(edited) -> None:
    def edit(joints: dict[str, Any]) -> None:
        joints["spine_2"] = {"parent": "spine", "position": [1.5, 0, 0], "split_from": "spine"}
        joints["head"]["parent"] = "spine_2"

    split = edited(edit)
    number = {joint.name: j for j, joint in enumerate(split.joints)}
    rest = np.array([[0.0, 0, 0], [1.2, 0, 0], [1.8, 0, 0], [2, 0, 0], [1, 1, 0], [0, 0, 0]])
    dense = split.dense(rest)
    np.testing.assert_allclose(dense[1, number["spine"]], 0.75, atol=1e-4)
    np.testing.assert_allclose(dense[2, number["spine_2"]], 0.5, atol=1e-4)
    assert dense[2, number["spine"]] == 0
    assert split.joints[number["head"]].parent == number["spine_2"]
    np.testing.assert_allclose(dense.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("name", "entry", "says"),
    [
        ("arm", {"parent": "spin"}, "the joint 'spin' is unknown; .*'spine'"),
        ("arm", {"parent": None}, "null, found .hips., .arm."),
        ("hips", {"parent": "arm"}, "found none"),
        ("spine", {"parent": "arm"}, "the joint 'spine' is its own ancestor"),
        ("arm", {"sections": [1]}, "section 1 is already in 'spine'"),
        ("arm", {"sections": [7]}, "there is no section 7; they are numbered 0 … 3"),
        ("arm", {"sections": []}, "neither 'sections' nor 'split_from'"),
        ("arm", {"sections": [], "split_from": "arm"}, "has no sections itself"),
        ("arm", {"position": [1, 2]}, "expected a place"),
        ("arm", {"color": "red"}, "the key 'color' is unknown"),
    ],
)
def test_what_is_refused(edited, name: str, entry: dict[str, Any], says: str) -> None:
    with pytest.raises(FileFormatError, match=says):
        edited(lambda joints: joints[name].update(entry))


def test_a_joint_that_is_gone_leaves_its_section(edited) -> None:
    with pytest.raises(FileFormatError, match="no joint has section 3; to merge"):
        edited(lambda joints: joints.pop("arm"))


def test_damaged_sections(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    save_section_tree(tree(), path)
    stored = json.loads(path.read_text())
    for change in ({"weights": "AAAA"}, {"weights": "?"}, {"vertices": 5}, {"count": 3}):
        path.write_text(json.dumps({**stored, "sections": {**stored["sections"], **change}}))
        with pytest.raises(FileFormatError, match=r"damaged|no section|unknown"):
            load_section_tree(path)
