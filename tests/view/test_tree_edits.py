"""Edits of a tree in the page's script, by Node, against Python's reading of the file that they write."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model, save_sequence
from osteon.io.skeletons.section_tree import SectionTree, load_section_tree
from osteon.pipeline.options import RigOptions
from osteon.view.jobs.tasks import RefitFiles, refit_tree, same_rest
from osteon.view.pack.arrays import bone_arrays, joint_arrays
from tests.posable import NAMES, PARENTS, PLACES, posable_model

from .page_person import ROOT

SCRIPT = ROOT / "src/osteon/view/page/tree/joint_tree.js"
RUN = """
const trees = await import(process.argv[1]);
let text = "";
for await (const piece of process.stdin) text += piece;
const { pack: stored, edits } = JSON.parse(text);
const { bones, weights, points, parents, ...header } = stored;
const arrays = { bones: Uint16Array.from(bones), weights: Float32Array.from(weights),
  joint_points: Float32Array.from(points), joint_parents: Int32Array.from(parents) };
const pack = { ...header, arrays };
const number = (tree, name) => name === null ? -1 : tree.findIndex((joint) => joint.name === name);
const resolved = (tree, [act, joint, value]) =>
  [act, number(tree, joint), act === "hang" ? number(tree, value) : value];
let [tree, refused] = [trees.treeOf(pack), ""];
try {
  for (const edit of edits) {
    const [act, j, value] = resolved(tree, edit);
    const before = JSON.stringify(tree), next = trees[act](tree, j, value);
    if (JSON.stringify(tree) !== before) throw new Error(`${act} changed its input`);
    tree = next;
  }
} catch (error) {
  refused = error.message;
}
console.log(JSON.stringify({ file: await trees.treeText(tree, pack), problem: trees.problemOf(tree, pack), refused }));
"""
TIP = [1.1, 1.2, 0.05]


@pytest.fixture(scope="module")
def model() -> SkinnedModel:
    return posable_model()


def edited(model: SkinnedModel, edits: list[list[Any]], **changes: Any) -> dict[str, Any]:
    """The text of the tree after these edits, what is wrong with it, and why an edit was refused."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed, so the script of the page cannot run")
    held = bone_arrays(model) | joint_arrays(model)
    pack: dict[str, Any] = {
        "bones": held["bones"].ravel().tolist(),
        "weights": held["weights"].ravel().tolist(),
        "points": held["joint_points"].ravel().tolist(),
        "parents": held["joint_parents"].tolist(),
        "bone_names": list(NAMES),
        "counts": {"vertices": model.n_vertices, "bones": model.n_bones},
        "vertices_of_model": model.n_vertices,
    }
    command = ["node", "--input-type=module", "-e", RUN, SCRIPT.as_uri()]
    request = json.dumps({"pack": pack | changes, "edits": edits})
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def read(tmp_path: Path, found: dict[str, Any]) -> SectionTree:
    assert not found["refused"]
    path = tmp_path / "tree.json"
    path.write_text(found["file"])
    return load_section_tree(path)


def as_lines(tree: SectionTree) -> dict[str, tuple[str | None, tuple[int, ...]]]:
    """Parent and sections of each joint, by name."""
    names = [joint.name for joint in tree.joints]
    return {j.name: (names[j.parent] if j.parent >= 0 else None, j.sections) for j in tree.joints}


def weights_of(model: SkinnedModel) -> np.ndarray:
    out = np.zeros((model.n_vertices, model.n_bones))
    np.add.at(out, (np.arange(model.n_vertices)[:, None], model.skin.bones), model.skin.weights.astype(np.float64))
    return out


def test_without_edits_the_tree_is_that_of_the_model(model: SkinnedModel, tmp_path: Path) -> None:
    tree = read(tmp_path, edited(model, []))
    above = [NAMES[parent] if parent >= 0 else None for parent in PARENTS]
    assert as_lines(tree) == {name: (above[j], (j,)) for j, name in enumerate(NAMES)}
    assert not any(joint.moved for joint in tree.joints)
    np.testing.assert_allclose(tree.places, PLACES, atol=1e-6)
    order = [NAMES.index(joint.name) for joint in tree.joints]
    np.testing.assert_allclose(tree.dense(model.rest.astype(np.float64)), weights_of(model)[:, order], atol=1e-4)


def test_rename_hang_and_move(model: SkinnedModel, tmp_path: Path) -> None:
    place = [0.7, 0.1, -0.25]
    edits: list[list[Any]] = [["rename", "head", "skull"], ["hang", "arm", "hip"], ["move", "chest", place]]
    tree = read(tmp_path, edited(model, edits))
    expected = {"hip": (None, (0,)), "chest": ("hip", (1,)), "arm": ("hip", (2,))}
    assert as_lines(tree) == expected | {"hand": ("arm", (3,)), "skull": ("chest", (4,))}
    chest = next(joint for joint in tree.joints if joint.name == "chest")
    np.testing.assert_allclose(chest.position, place, atol=1e-6)
    assert [joint.name for joint in tree.joints if joint.moved] == ["chest"]


def test_another_root_turns_the_way_to_it_round(model: SkinnedModel, tmp_path: Path) -> None:
    tree = read(tmp_path, edited(model, [["hang", "arm", None]]))
    parents = {name: parent for name, (parent, _) in as_lines(tree).items()}
    assert parents == {"arm": None, "chest": "arm", "hip": "chest", "head": "chest", "hand": "arm"}


def test_a_merged_joint_gives_its_vertices_and_children_to_its_parent(model: SkinnedModel, tmp_path: Path) -> None:
    tree = read(tmp_path, edited(model, [["merge", "arm", None]]))
    assert as_lines(tree)["chest"] == ("hip", (1, 2))
    assert as_lines(tree)["hand"] == ("chest", (3,))
    dense, whole = tree.dense(model.rest.astype(np.float64)), weights_of(model)
    names = [joint.name for joint in tree.joints]
    np.testing.assert_allclose(dense[:, names.index("chest")], whole[:, 1] + whole[:, 2], atol=1e-4)


def test_a_split_takes_the_vertices_beyond_it(model: SkinnedModel, tmp_path: Path) -> None:
    tree = read(tmp_path, edited(model, [["split", "arm", TIP], ["rename", "arm 2", "elbow"]]))
    names = [joint.name for joint in tree.joints]
    elbow = tree.joints[names.index("elbow")]
    assert (names[elbow.parent], names[elbow.split_from], elbow.sections) == ("arm", "arm", ())
    np.testing.assert_allclose(elbow.position, 0.5 * (PLACES[2] + PLACES[3]), atol=1e-6)
    assert as_lines(tree)["hand"] == ("elbow", (3,))
    rest = model.rest.astype(np.float64)
    dense, whole = tree.dense(rest), weights_of(model)[:, 2]
    along = (rest - elbow.position) @ (np.array(elbow.position) - PLACES[2])
    clear = abs(along) > 1e-3  # a ring of vertices is exactly at the cut
    lower, upper = (np.where(clear, dense[:, names.index(name)], 0) for name in ("elbow", "arm"))
    np.testing.assert_allclose(lower, np.where(clear & (along > 0), whole, 0), atol=1e-4)
    np.testing.assert_allclose(upper, np.where(clear & (along < 0), whole, 0), atol=1e-4)
    assert dense[:, names.index("elbow")].sum() > 1


def test_the_last_joint_is_split_towards_its_tip(model: SkinnedModel, tmp_path: Path) -> None:
    tree = read(tmp_path, edited(model, [["split", "hand", TIP]]))
    np.testing.assert_allclose(tree.joints[-1].position, 0.5 * (PLACES[3] + TIP), atol=1e-6)


def test_merging_what_was_split_is_the_tree_as_it_was(model: SkinnedModel) -> None:
    before = edited(model, [])
    assert edited(model, [["split", "arm", TIP], ["merge", "arm 2", None]])["file"] == before["file"]
    gone = edited(model, [["split", "arm", TIP], ["merge", "arm", None]])
    assert json.loads(gone["file"])["joints"] == json.loads(edited(model, [["merge", "arm", None]])["file"])["joints"]


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([["rename", "arm", " "]], "needs a name"),
        ([["rename", "arm", "hand"]], "Another joint is called hand"),
        ([["hang", "arm", "hand"]], "part of the branch"),
        ([["hang", "arm", "arm"]], "part of the branch"),
        ([["merge", "hip", None]], "root has no parent"),
        ([["split", "arm", TIP], ["split", "arm 2", TIP]], "refit before you split it again"),
        ([["split", "arm", TIP], ["merge", "hand", None]], "refit before you merge"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(model: SkinnedModel, edits: list[Any], words: str) -> None:
    found = edited(model, edits)
    assert words in found["refused"]
    assert found["file"] == edited(model, edits[:-1])["file"]


def test_names_are_made_unique_and_a_joint_of_no_vertices_is_a_problem(model: SkinnedModel) -> None:
    names = ["hip", "", "hip", "joint 1", "head"]
    assert list(json.loads(edited(model, [], bone_names=names)["file"])["joints"]) == [
        "hip",
        "joint 1",
        "hip (2)",
        "joint 1 (2)",
        "head",
    ]
    bones = np.where((held := bone_arrays(model)["bones"]) == 3, 2, held).ravel().tolist()
    assert edited(model, [], bones=bones)["problem"] == "hand moves no vertices; merge it into its parent."
    assert not edited(model, [["merge", "hand", None]], bones=bones)["problem"]
    assert "2 roots (hip, arm)" in edited(model, [], parents=[-1, 0, -1, 2, 1])["problem"]


def test_a_refit_is_in_the_rest_pose_of_its_model(model: SkinnedModel, tmp_path: Path) -> None:
    """Although the sequence alone has another one: the places of the tree are in that of the model."""
    frames = pose_frames(model)
    save_model(model, tmp_path / "before.npz")
    save_sequence(MeshSequence(frames, model.faces, frames[3], model.clips), tmp_path / "frames.npz")
    (tmp_path / "tree.json").write_text(edited(model, [["rename", "head", "skull"]])["file"])
    names = [str(tmp_path / name) for name in ("tree.json", "before.npz", "pack.bin", "after.npz")]
    options = RigOptions(form="free", threads=1)
    found = refit_tree((str(tmp_path / "frames.npz"),), RefitFiles(*names), options, lambda event: None)
    after = load_model(tmp_path / "after.npz")
    assert same_rest(after.rest, model.rest)
    assert not same_rest(frames[3], model.rest)
    assert after.skeleton is not None
    assert "skull" in after.skeleton.names
    assert found["before_percent"] < 0.01
    assert found["error_percent"] < 2
    assert found["about"] == "5 joints, free"
