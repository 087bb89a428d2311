"""Flags are made from options classes: the same defaults, and no flag that is ignored."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import click
import numpy as np
import pytest

from osteon.cli.main import COMMANDS
from osteon.cli.option_flags import FlagGroup, read_options
from osteon.core.options import options_in
from osteon.core.skin_options import SkinOptions
from osteon.io import LoadOptions, SaveOptions, save_model, save_sequence
from osteon.pipeline.options import Budget
from osteon.synth.baked import bake_cylinder
from osteon_bench.doc_tables import write_tables

from ...subjects import bent_tube

ROOT = Path(__file__).resolve().parents[3]


def command(name: str) -> click.Command:
    return getattr(import_module(f"osteon.cli.{name}"), name)


def refused(run_here, *arguments: object, says: str) -> None:
    """Exit code 2, one line that names the flag first, nothing written."""
    before = set(run_here.folder.iterdir())
    done = run_here(*map(str, arguments))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(f"osteon: {says}"), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert set(run_here.folder.iterdir()) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_has_more_than_ten_parameters(name):
    assert len(inspect.signature(inspect.unwrap(command(name).callback)).parameters) <= 10


def test_without_flags_all_is_as_in_the_library():
    called = command("skin").make_context("skin", ["in.npz", "-o", "out.npz"])
    parts = {
        "options": FlagGroup(SkinOptions),
        "save": FlagGroup(SaveOptions),
        "load": FlagGroup(LoadOptions),
        "budget": FlagGroup(Budget, optional=True),
    }
    made = read_options(called, parts)
    assert made == {"options": SkinOptions(), "save": SaveOptions(), "load": LoadOptions(), "budget": None}


def test_flags_become_fields():
    words = (
        "in.npz -o a.glb -b 3 --bone-type rigid --eps 0.1 --key-error 0.5 --no-normals --quantize --compress --fps 12"
        " --rest -1"
    )
    called = command("skin").make_context("skin", [*words.split(), "--clip", "a", "--clip", "b", "--faces", "f.npy"])
    parts = {"options": FlagGroup(SkinOptions), "save": FlagGroup(SaveOptions), "load": FlagGroup(LoadOptions)}
    made = read_options(called, parts)
    assert made["options"] == SkinOptions(bones=3, bone_type="rigid", tolerance=0.1)
    assert made["save"] == SaveOptions(quantize=True, compress=True, key_error=0.005, normals=False)
    assert made["load"] == LoadOptions(fps=12.0, faces=Path("f.npy"), rest=-1, clips=("a", "b"))


def test_every_option_has_its_flag_in_the_help():
    with click.Context(command("skin")) as context:
        told = command("skin").get_help(context)
    for cls in (SkinOptions, Budget, SaveOptions, LoadOptions):
        for of in options_in(cls):
            assert of.flag in told


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--preset paper --rounds 24", "--rounds: the paper preset does not refine"),  # also at its default
        ("--preset paper --rounds 3", "--rounds: "),
        ("--preset paper --stiffness 0.1", "--stiffness: the paper preset"),
        ("--preset paper --smooth-weights 0", "--smooth-weights: the paper preset"),
        ("--preset paper --bones 3 --tolerance 0.1", "--tolerance: the paper preset"),
        ("--delta 0.1", "--delta: needs --weights bounded"),
        ("--preset paper --weights tsvd --delta 0", "--delta: needs --weights bounded"),
        ("--preset paper --tsvd-threshold 0.1", "--tsvd-threshold: needs --weights tsvd"),
        ("--weights nnls", "--weights: needs --preset paper"),
        ("--search lsh", "--search: needs --preset paper"),
        ("--bone-type rigid --stiffness 0.005", "--stiffness: rigid bones"),
        ("--helpers 0", "--helpers: adds bones to a rig"),
        ("--rig r.glb --smooth-weights 0.1", "--smooth-weights: weights for a rig"),
        ("--rig r.glb --bones 3", "--bones: a rig has its own number"),
        ("--rig r.glb --holdout 3", "--holdout: not available with a rig"),
        ("--rig r.glb --preset paper --helpers 2", "--helpers: the paper preset adds no bones"),
        ("--rig r.glb --weights tsvd", "--weights: needs --preset paper"),
        ("--rig r.glb --preset paper --bones 3", "--bones: a rig has its own number"),
        ("--rig r.glb --preset paper --rounds 3", "--rounds: the paper preset does not refine"),
        ("--max-error 1 --rig r.glb", "--rig: has its own bones"),
        ("--max-error 1 --rank 0", "--rank: a bound finds the rank"),
        ("--quantize", "--quantize: only glTF"),
        ("--compress", "--compress: only glTF"),
        ("--key-error 0", "--key-error: only glTF"),
        ("--no-normals", "--no-normals: an .npz holds"),
    ],
)
def test_flags_without_effect(run_here, flags, says):
    """Told before the input is looked for."""
    refused(run_here, "skin", "nowhere.npz", "-o", "out.npz", *flags.split(), says=says)


def test_flags_that_no_output_uses(run_here):
    for output in ("out.usdc", "frames/", "out_####.ply", "out.abc"):
        refused(run_here, "skin", "nowhere.npz", "-o", output, "--quantize", says="--quantize: only glTF")
    refused(run_here, "skin", "nowhere.npz", "-o", "frames/", "--no-normals", says="--no-normals: frames are written")
    for flags in ("-o a.npz -o b.glb --quantize", "-o a.npz --rank 2 --no-normals", "-o a.usda --no-normals"):
        done = run_here("skin", "nowhere.npz", *flags.split())
        assert "nowhere.npz" in done.stderr  # nothing to say against the flags


def test_a_rig_that_brings_its_motion(run_here):
    """Only the files tell: its joints are kept as they are, so nothing is refined or solved."""
    baked = bent_tube(2, 8)
    save_sequence(baked.sequence, run_here.folder / "limb.npz")
    save_model(baked.model, run_here.folder / "rig.npz")
    for flags in ("--rounds 24", "--stiffness 0.1", "--bone-type flexible"):
        call = ("skin", "limb.npz", "--rig", "rig.npz", *flags.split(), "-o", "out.npz")
        refused(run_here, *call, says=f"{flags.split()[0]}: the rig defines the motion of every frame")
    call = ("skin", "limb.npz", "--rig", "rig.npz", "--rest", 0, "-o", "out.npz")
    refused(run_here, *call, says="--rest: the rig has the rest pose")


def test_inputs_that_do_not_use_what_is_said_of_them(run_here):
    sequence = bake_cylinder(2).sequence
    save_sequence(sequence, run_here.folder / "tube.npz")
    save_sequence(sequence.take_frames(np.arange(1)), run_here.folder / "one.obj")
    call = ("info", "tube.npz", "--faces", "one.obj")
    refused(run_here, *call, says="--faces: tube.npz holds its own triangles")
    (run_here.folder / "arm.tgf").write_text("1 0 0 0\n2 1 0 0\n#\n1 2\n")
    for flags in ("--fps 24", "--faces one.obj", "--rest 0", "--clip a"):
        refused(run_here, "info", "arm.tgf", *flags.split(), says=f"{flags.split()[0]}: a skeleton file has no frames")


def test_clips_of_a_model_that_holds_frames(run_here):
    save_model(bake_cylinder(2).model, run_here.folder / "model.npz")
    done = run_here("info", "model.npz", "--clip", "nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("arm.tgf --frame 0", "--frame: needs --picture"),
        ("arm.tgf --method ssd --follow 10", "--follow: applies to the simplex method"),
        ("arm.tgf --method ssd --no-translation", "--no-translation: applies to the simplex method"),
        ("arm.tgf --no-translation --follow 3", "--follow: is part of the translation term"),
        ("none --stretch none", "--stretch: applies to bones"),
        ("none --turns least", "--turns: applies to bones"),
        ("none --boundary all", "--boundary: applies to bones"),
        ("none --segmentation plain", "--segmentation: applies to bones"),
        ("none --picture a.png", "--picture: draws a skeleton"),
    ],
)
def test_poses(run_here, flags, says):
    skeleton, *rest = flags.split()
    refused(run_here, "pose", "nowhere.obj", skeleton, "pose.json", "-o", "out.obj", *rest, says=says)


def test_other_commands(run_here):
    refused(run_here, "demo", "figure", "--bones", 32, says="--bones: figure is posed, not skinned")
    refused(run_here, "demo", "cartoon", "--threads", 1, says="--threads: cartoon is posed")
    refused(
        run_here,
        "play",
        "nowhere.glb",
        "-o",
        "out.npz",
        "--format",
        "obj",
        says="--format: sets the format of frames in a folder",
    )


def test_tables_are_current():
    """If not: scripts/write-options."""
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert len(re.findall("<!-- options", text)) >= 7
    assert write_tables(text) == text
    assert write_tables(text.replace("`--rounds`", "`--turns`")) == text
