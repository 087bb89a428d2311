"""Rigs as sticks: merging, matching by name, and the place of joints in real files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.io import load_model, load_sequence
from osteon.io.load.source import Source
from osteon.io.skeletons import load_skeleton
from osteon.io.skeletons.rig import Flesh, Rig, complete_rig, match_rig, printable_names, sticks_of_rig

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SOURCE = Source(Path("rig.glb"))


def rig(**joints):
    """Joints by name: (parent, x)."""
    names = tuple(joints)
    parents = [-1 if parent is None else names.index(parent) for parent, _ in joints.values()]
    return Rig(names, parents, np.array([[x, 0.0, 0.0] for _, x in joints.values()]))


def bones(skeleton):
    return {skeleton.bone_name(b) for b in range(skeleton.n_bones)}


def test_joints_in_the_place_of_their_parent_are_merged():
    made = sticks_of_rig(
        rig(
            toe=("foot", 3),
            root=(None, 0),
            hip=("root", 1e-9),
            hip_twist=("hip", 0),
            knee=("hip_twist", 1),
            foot=("knee", 2),
            prop=(None, 9),
        ),
        SOURCE,
    )
    assert bones(made) == {"root-knee", "knee-foot", "foot-toe"}
    assert made.names[made.root] == "root"
    assert "prop" not in made.names


def test_what_carries_a_bone_is_the_parent_of_its_child():
    file = rig(root=(None, 0), hip=("root", 0), knee=("hip", 1), foot=("knee", 2))
    skeleton = sticks_of_rig(file, SOURCE)
    joints, carriers = match_rig(file, skeleton, SOURCE)
    assert [file.names[j] for j in joints] == ["root", "knee", "foot"]
    assert [file.names[j] for j in carriers] == ["hip", "knee"]
    turned = StickSkeleton(skeleton.joints, skeleton.bones[:, ::-1], skeleton.names)
    assert match_rig(file, turned, SOURCE)[1] == carriers


def test_another_rig(refused):
    file = rig(root=(None, 0), knee=("root", 1), foot=("knee", 2))
    points = np.arange(9.0).reshape(3, 3)
    with refused(GeometryError, "rig.glb", "another skeleton", "did you mean 'knee'"):
        match_rig(file, StickSkeleton(points[:2], np.array([[0, 1]]), ("root", "kneee")), SOURCE)
    with refused(GeometryError, "rig.glb", "another skeleton", "no bone 'root-foot'"):
        match_rig(file, StickSkeleton(points, np.array([[0, 1], [0, 2]]), ("root", "knee", "foot")), SOURCE)


def test_rigs_without_a_bone(refused):
    with refused(GeometryError, "rig.glb", "only the joint 'root'"):
        sticks_of_rig(rig(root=(None, 0)), SOURCE)
    with refused(GeometryError, "rig.glb", "2 joints", "no bone"):
        sticks_of_rig(rig(a=(None, 0), b=(None, 1)), SOURCE)
    with refused(GeometryError, "rig.glb", "2 joints", "no bone"):
        sticks_of_rig(rig(a=(None, 0), b=("a", 0)), SOURCE)
    with refused(GeometryError, "rig.glb", "NaN"):
        sticks_of_rig(rig(a=(None, 0), b=("a", np.nan)), SOURCE)


def flesh(**points):
    """Vertices by the joint that moves them, for `rig(root, hip, knee, foot)`."""
    joints = [("root", "hip", "knee", "foot").index(name) for name in points]
    return Flesh(np.array(list(points.values()), float), np.array(joints, np.int32)[:, None], np.ones((len(points), 1)))


def test_a_last_joint_that_moves_vertices_has_an_end():
    file = rig(root=(None, 0), hip=("root", 1), knee=("hip", 2), foot=("knee", 3))
    made = complete_rig(file, flesh(root=[0, 0, 0], hip=[1, 0, 0], knee=[2, 0, 0], foot=[3, 2, 0]))
    assert made.names == ("root", "hip", "knee", "foot", "foot.end")
    assert made.parents == [-1, 0, 1, 2, 3]
    assert np.allclose(made.places[4], [3, 1.8, 0])
    for foot in ({}, {"foot": [3, 0, 0]}):  # it moves nothing, or only what is in its place
        assert complete_rig(file, flesh(root=[0, 0, 0], knee=[2, 0, 0], **foot)).names == file.names


def test_vertices_all_around_the_last_joint():
    file = rig(root=(None, 0), hip=("root", 1), knee=("hip", 2))
    points = np.array([[4.0, 0, 0], [0, 0, 0], [2, 1, 0], [2, -1, 0]])
    made = complete_rig(file, Flesh(points, np.full((4, 1), 2, np.int32), np.ones((4, 1))))
    assert np.allclose(made.places[-1], [3.8, 0, 0])


def test_a_handle_is_left_out():
    file = rig(root=(None, 0), hip=("root", 1), knee=("hip", 2), foot=("knee", 3))
    made = complete_rig(file, flesh(hip=[1, 0, 0], knee=[2, 0, 0]))
    assert made.names == ("hip", "knee", "foot")
    assert made.parents == [-1, 0, 1]
    assert made.places.tolist() == file.places[1:].tolist()


def test_names_that_can_be_shown():
    assert printable_names(("a\nb", "a_b", " ", "ok")) == ("a_b", "a_b_", "joint", "ok")


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the repository")
@pytest.mark.parametrize(("name", "n_bones"), [("CesiumMan", 23), ("Fox", 27), ("RiggedFigure", 23), ("Soldier", 61)])
def test_real_rigs_stand_in_their_mesh(name, n_bones):
    path = DATA / "characters" / f"{name}.glb"
    skeleton = load_skeleton(path)
    assert skeleton.n_bones == n_bones == skeleton.n_joints - 1
    for rest in (load_sequence(path).rest, load_model(path).rest):
        slack = 0.01 * np.linalg.norm(np.ptp(rest, axis=0))  # an end may stand out of a flat paw
        assert (skeleton.joints > rest.min(axis=0) - slack).all()
        assert (skeleton.joints < rest.max(axis=0) + slack).all()


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the repository")
def test_a_skin_by_name(refused):
    path = DATA / "characters" / "Soldier.glb"
    assert load_skeleton(path, skin=1).names == load_skeleton(path, skin="vanguard_visor").names
    with refused(OptionError, "Soldier.glb", "2 skins"):
        load_skeleton(path, skin=2)
    with refused(OptionError, "Soldier.glb", "did you mean 'vanguard_visor'"):
        load_skeleton(path, skin="vanguard_viso")


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the repository")
@pytest.mark.parametrize(
    ("name", "n_bones"), [("arm.tgf", 4), ("hand.tgf", 20), ("armadillo.skel", 39), ("armadillo_full.skel", 39)]
)
def test_real_sticks(name, n_bones):
    skeleton = load_skeleton(DATA / "meshes" / name)
    assert skeleton.n_bones == n_bones == skeleton.n_joints - 1
    assert np.abs(skeleton.joints).max() < 10
