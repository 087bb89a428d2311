"""Folders of simulated poses: what is there is not computed again, and what is not asked for any more goes."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.core.kinematics import JointLimit
from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.body import ElasticBody
from osteon.elastic.elements import Material
from osteon.elastic.solid import solid_of_tetrahedra
from osteon.elastic.sweep import PlannedPose
from osteon.io.poses import load_pose_set
from osteon.io.save.atomic import temporary_path
from osteon.pipeline import simulate
from osteon.pipeline.simulate import SimulationPlan, is_simulation, simulate_poses
from osteon_bench.subjects import bar_skeleton, make_bar

Y = (0.0, 1.0, 0.0)
LIMITS = (JointLimit("joint1", Y, -30, 30),)


@pytest.fixture(scope="module")
def body() -> ElasticBody:
    return ElasticBody.of(solid_of_tetrahedra(*make_bar((8, 4, 4))), bar_skeleton())


def plan(*degrees, **changed) -> SimulationPlan:
    poses = [PlannedPose(f"bend_{d:+d}", "train", {1: LIMITS[0].rotation(d)}) for d in degrees]
    return SimulationPlan(poses, LIMITS, **changed)


def files(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_folder_of_poses(tmp_path, body):
    told = []
    done = simulate_poses(body, plan(10, -20), tmp_path / "poses", jobs=1, progress=told.append)
    assert done.computed == 2
    assert done.worst_imbalance < 1e-6
    assert (done.restless, done.inverted) == ([], {})
    assert [event.fraction for event in told] == [0, 0.5, 1]
    assert files(tmp_path / "poses") == {"rest.obj", "bend_+10.obj", "bend_-20.obj", "poses.json"}
    poses = load_pose_set(tmp_path / "poses")
    assert np.array_equal(poses.mesh.rest, body.solid.surface.rest)
    np.testing.assert_allclose(poses.hinge_degrees()[:, 1], [10, -20])
    direct = body.pose({1: LIMITS[0].rotation(-20)}).surface
    np.testing.assert_allclose(poses.frames[1], direct, atol=1e-6)


def test_it_goes_on_where_it_was_stopped(tmp_path, body, monkeypatch):
    class Stopped(Exception):
        pass

    def stop(event):
        if event.fraction > 0.3:
            raise Stopped

    with pytest.raises(Stopped):
        simulate_poses(body, plan(10, 20, 30), tmp_path, jobs=1, progress=stop)
    assert load_pose_set(tmp_path).names == ("bend_+10",)  # what is listed is whole
    left = temporary_path(tmp_path / "bend_+20.obj").name.split("-")
    (tmp_path / "-".join([*left[:2], "00000000", *left[3:]])).write_bytes(b"")  # what a power cut leaves
    assert is_simulation(tmp_path)
    before = (tmp_path / "bend_+10.obj").stat().st_mtime_ns
    done = simulate_poses(body, plan(10, 20, 30), tmp_path, jobs=1)
    assert done.computed == 2
    assert (tmp_path / "bend_+10.obj").stat().st_mtime_ns == before
    assert files(tmp_path) == {"rest.obj", "bend_+10.obj", "bend_+20.obj", "bend_+30.obj", "poses.json"}
    text = (tmp_path / "poses.json").read_text()
    monkeypatch.setattr(simulate, "pose_many", lambda *given: iter(()))
    assert simulate_poses(body, plan(10, 20, 30), tmp_path, jobs=1).computed == 0
    assert (tmp_path / "poses.json").read_text() == text


def test_other_settings_are_computed_anew_and_old_poses_go(tmp_path, body):
    simulate_poses(body, plan(10, 20), tmp_path, jobs=1)
    stiffer = ElasticBody(body.solid, body.skeleton, Material(1.0, 0.3), body.held, body.weights, body.system)
    assert simulate_poses(stiffer, plan(10), tmp_path, jobs=1).computed == 1
    assert files(tmp_path) == {"rest.obj", "bend_+10.obj", "poses.json"}
    assert simulate_poses(stiffer, plan(10, suffix=".ply"), tmp_path, jobs=1).computed == 1
    assert files(tmp_path) == {"rest.ply", "bend_+10.ply", "poses.json"}
    (tmp_path / "bend_+10.ply").unlink()
    assert simulate_poses(stiffer, plan(10, suffix=".ply"), tmp_path, jobs=1).computed == 1
    assert files(tmp_path) == {"rest.ply", "bend_+10.ply", "poses.json"}


def test_the_same_twice_is_the_same(tmp_path, body):
    for name in ("one", "two"):
        simulate_poses(body, plan(10), tmp_path / name, jobs=1)
    for name in files(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_which_folders_are_continued(tmp_path, refused):
    assert is_simulation(tmp_path)
    assert is_simulation(tmp_path / "new")
    (tmp_path / "sculpt.obj").write_text("v 0 0 0\n")
    assert not is_simulation(tmp_path)
    with refused(FileFormatError, "is a file"):
        is_simulation(tmp_path / "sculpt.obj")


def test_files_edited_by_hand_are_replaced_only_with_consent(tmp_path, body, refused):
    simulate_poses(body, plan(10, 20), tmp_path, jobs=1)
    whole = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    edits = {
        "bend_+10.obj": re.sub(rb"\nv .*", b"\nv 9 9 9", whole["bend_+10.obj"], count=1),
        "rest.obj": whole["rest.obj"] + b"# mine\n",
        "poses.json": whole["poses.json"].replace(b"-30", b"-40"),
    }
    for name, edited in edits.items():
        assert edited != whole[name]
        (tmp_path / name).write_bytes(edited)
        with refused(FileFormatError, name, "was changed since"):
            simulate_poses(body, plan(10, 20), tmp_path, jobs=1)
        assert (tmp_path / name).read_bytes() == edited
        asked = []
        simulate_poses(body, plan(10, 20), tmp_path, jobs=1, check_changed=asked.extend)
        assert asked == [tmp_path / name]
        assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == whole
    (tmp_path / "bend_+30.obj").write_bytes(whole["bend_+10.obj"])  # somebody's own
    with refused(FileFormatError, "bend_+30.obj"):
        simulate_poses(body, plan(10, 20, 30), tmp_path, jobs=1)


@pytest.mark.parametrize("damage", [b"", b"\0" * 3000, "half"])
def test_a_damaged_pose_is_computed_again(tmp_path, body, damage):
    simulate_poses(body, plan(10, 20), tmp_path, jobs=1)
    whole = (tmp_path / "bend_+20.obj").read_bytes()
    (tmp_path / "bend_+20.obj").write_bytes(whole[: len(whole) // 2] if damage == "half" else damage)
    assert simulate_poses(body, plan(10, 20), tmp_path, jobs=1).computed == 1
    assert (tmp_path / "bend_+20.obj").read_bytes() == whole


def test_a_list_of_an_earlier_version_is_continued(tmp_path, body):
    simulate_poses(body, plan(10, 20), tmp_path, jobs=1)
    text = (tmp_path / "poses.json").read_text()
    listed = json.loads(text)
    del listed["simulation"]["sha256"], listed["simulation"]["files"]
    for pose in listed["poses"]:
        del pose["simulation"]["sha256"], pose["simulation"]["bytes"]
    (tmp_path / "poses.json").write_text(json.dumps(listed))
    (tmp_path / "bend_+20.obj").write_bytes(b"")
    assert simulate_poses(body, plan(10, 20), tmp_path, jobs=1).computed == 1
    assert (tmp_path / "poses.json").read_text() == text


def test_every_file_is_in_the_list_before_it_is_written(tmp_path, body, monkeypatch):
    """A kill between any two renames leaves a folder that the same command continues."""
    replace, count = os.replace, 0

    class Killed(Exception):
        pass

    def kill(source: object, target: object) -> None:
        nonlocal count
        replace(source, target)  # type: ignore[arg-type]
        count += 1
        if count == stop:
            raise Killed

    for stop in range(1, 12):
        count, folder = 0, tmp_path / f"stop{stop}"
        with monkeypatch.context() as patch, suppress(Killed):
            patch.setattr(os, "replace", kill)
            simulate_poses(body, plan(10, 20), folder, jobs=1)
        simulate_poses(body, plan(10, 20), folder, jobs=1)
        assert files(folder) == {"rest.obj", "bend_+10.obj", "bend_+20.obj", "poses.json"}
        stiffer = ElasticBody(body.solid, body.skeleton, Material(1.0, 0.3), body.held, body.weights, body.system)
        count = 0
        with monkeypatch.context() as patch, suppress(Killed):
            patch.setattr(os, "replace", kill)
            simulate_poses(stiffer, plan(10, 20), folder, jobs=1)
        simulate_poses(stiffer, plan(10), folder, jobs=1)
        assert files(folder) == {"rest.obj", "bend_+10.obj", "poses.json"}


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_folder_that_vanishes_is_an_error(tmp_path, body, refused, what):
    folder = tmp_path / "poses"

    def remove(event):
        if 0 < event.fraction < 1:
            shutil.rmtree(folder) if what == "folder" else (folder / "bend_+10.obj").unlink()

    with refused(FileFormatError, "was removed during the simulation"):
        simulate_poses(body, plan(10, 20), folder, jobs=1, progress=remove)


def test_the_list_tells_how_it_came_out(tmp_path, body):
    poses = [PlannedPose("turned", "validate", {0: rotation_from_axis_angle(np.array(Y), 0.3)}, (1.0, 2.0, 3.0))]
    simulate_poses(body, SimulationPlan(poses, facts={"solid": "bar.mesh"}), tmp_path, jobs=1)
    listed = json.loads((tmp_path / "poses.json").read_text())
    facts = listed["simulation"]
    assert (facts["solid"], facts["poses"], facts["done"]) == ("bar.mesh", 1, 1)
    assert set(facts["files"]) == {"rest.obj"}
    assert len(facts["sha256"]) == 64
    (pose,) = listed["poses"]
    assert pose["translate"] == [1, 2, 3]
    assert set(pose["simulation"]) == {
        *("key", "steps", "load_steps", "imbalance", "energy", "inverted", "least_dilation", "bytes", "sha256"),
    }
