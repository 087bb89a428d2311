"""What is said of bad input: one line with the file, what is wrong and what to do, in words of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from osteon.cli.demo import _print_next_steps
from osteon.io.save.overwriting import why_unwritable
from osteon.synth.baked import bake_cylinder

from .conftest import Run

Write = Callable[..., Path]


def refusal(run: Run, *arguments: str | Path) -> str:
    """The one line that a command ends with."""
    done = run(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return str(line).removeprefix("osteon: ")


@pytest.mark.parametrize(
    ("name", "proposal"),
    [
        ("x.fbx", "-o x.glb"),
        ("x.bvh", "-o x.glb"),
        ("x.dae", "-o x.glb"),
        ("my cloth.mcx", "-o 'my cloth.pc2'"),
        ("x.stl", "-o 'x_####.ply'"),
        ("x.nonsense", "-o x.glb"),
    ],
)
def test_a_format_that_is_not_written(run_here: Run, tube_npz: Path, name: str, proposal: str) -> None:
    line = refusal(run_here, "skin", tube_npz, "-o", name)
    assert line.startswith(f"-o: {name}: ")
    assert f"take {proposal}" in line
    assert ".glb, .gltf" in line
    assert "a folder, .obj, .ply" in line


def test_a_name_without_a_suffix_asks_what_is_meant(run_here: Run, tube_npz: Path) -> None:
    line = refusal(run_here, "skin", tube_npz, "-o", "x")
    assert line == (
        "-o: x: the name has no suffix; add one for a model (.npz, .glb, .gltf, .usda, .usdc, .usdz, .usd) or for "
        "frames in a file (.obj, .ply, .npy, .mdd, .pc2, .abc), or end it with / for a folder of frames"
    )
    assert not list(run_here.folder.glob("x*"))
    assert run_here("skin", tube_npz, "--bones", "2", "-o", "x/").returncode == 0
    assert (run_here.folder / "x" / "frame_0000.obj").is_file()
    assert run_here("skin", tube_npz, "--bones", "2", "-o", "x", "--quiet", "--force").returncode == 0  # the folder


@pytest.mark.parametrize("name", ["a.glb", "a.gltf", "a.obj", "a.npz", "a.fbx", "a.usdc", "a.abc"])
def test_a_git_lfs_pointer_is_named_as_such(run_here: Run, name: str) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
    (run_here.folder / name).write_text(pointer)
    for command in (("info", name), ("skin", name, "-o", "out.glb")):
        assert "is a Git LFS pointer, not the file itself; fetch the file with: git lfs pull" in refusal(
            run_here, *command
        )


def test_one_frame_is_one_frame(run_here: Run) -> None:
    (run_here.folder / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert "(1 frame at 24 fps)" in run_here("info", "a.obj").stdout


def test_what_is_proposed_can_be_written() -> None:
    for models in (True, False):
        for suffix in (".fbx", ".bvh", ".mcx", ".stl", ".vrm", ".unknown"):
            why = why_unwritable(f"a b{suffix}", models=models)
            assert why is not None
            proposal = shlex.split(why.partition("take ")[2].replace(",", " ").replace("(", " "))[1]
            assert why_unwritable(proposal, models=models) is None, proposal


def test_play_writes_frames_not_models(run_here: Run, tube_npz: Path) -> None:
    line = refusal(run_here, "play", tube_npz, "-o", "x.glb")
    assert line.startswith("-o: x.glb: '.glb' holds models")
    assert "take -o x.abc" in line


def test_a_model_given_as_a_sequence(run_here: Run, tube_npz: Path) -> None:
    assert run_here("skin", tube_npz, "--bones", "2", "--rounds", "1", "-o", "my model.npz", "-q").returncode == 0
    line = refusal(run_here, "skin", "my model.npz", "-o", "out.glb")
    assert line.startswith("my model.npz: is a skinned model")
    command = line.partition("first, ")[2].rpartition(", and")[0]
    assert shlex.split(command) == ["osteon", "play", "my model.npz", "-o", "my model-frames.npz"]
    assert run_here(*shlex.split(command)[1:]).returncode == 0
    assert "load_model" not in line


def test_a_sequence_given_as_a_model(run_here: Run, tmp_path: Path) -> None:
    sequence = bake_cylinder(2).sequence
    np.savez(tmp_path / "my walk.npz", frames=sequence.frames, faces=sequence.faces)
    line = refusal(run_here, "play", tmp_path / "my walk.npz", "-o", "out.npz")
    assert "is not a skinned model" in line
    assert shlex.split(line.partition("make one with: ")[2])[:3] == ["osteon", "skin", str(tmp_path / "my walk.npz")]


def test_nothing_moves_names_the_file(run_here: Run, write_npz: Write) -> None:
    sequence = bake_cylinder(2).sequence
    path = write_npz(frames=np.repeat(sequence.frames[:1], 4, axis=0), faces=sequence.faces)
    line = refusal(run_here, "skin", path, "-o", "out.glb")
    assert line.startswith(f"{path}: nothing moves")
    assert line.endswith(f"osteon view {path}")


def test_one_frame_names_the_file(run_here: Run, write_npz: Write) -> None:
    sequence = bake_cylinder(2).sequence
    path = write_npz(frames=sequence.frames[:1], faces=sequence.faces)
    line = refusal(run_here, "skin", path, "-o", "out.glb")
    assert line.startswith(f"{path}: has one frame")
    assert "folder" in line


def test_no_triangles_names_the_file_and_the_flag(run_here: Run, write_npz: Write) -> None:
    path = write_npz(frames=bake_cylinder(2).sequence.frames, faces=np.zeros((0, 3), np.int32))
    line = refusal(run_here, "skin", path, "-o", "out.glb")
    assert line.startswith(f"{path}: holds no triangles")
    assert "--faces FILE" in line


@pytest.mark.parametrize(
    ("given", "flag"),
    [
        (["--bones", "99999"], "--bones"),
        (["--holdout", "1000"], "--holdout"),
        (["--clip", "nope"], "--clip"),
        (["--rest", "77777"], "--rest"),
        (["--bones", "-1"], "--bones"),
        (["--threads", "-1"], "--threads"),
    ],
)
def test_options_are_called_by_their_flags(run_here: Run, tube_npz: Path, given: list[str], flag: str) -> None:
    assert refusal(run_here, "skin", tube_npz, *given, "-o", "out.glb").startswith(f"{flag}: ")


def test_the_next_steps_of_a_demo_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    _print_next_steps("cartoon", Path("my demo"), "done")
    commands = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  osteon ")]
    assert len(commands) == 3
    for command in commands:
        files = [word for word in shlex.split(command)[2:] if "demo" in word]
        assert files
        assert all(word.startswith("my demo/") for word in files)
