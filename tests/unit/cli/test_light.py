"""`osteon light`: every format, the table, what is refused, and runs that continue."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from osteon.apply.light.environment import project_image
from osteon.apply.light.model_light import ModelLight
from osteon.apply.light.precompute import FrameFolder, LightPlan, transfer_of_keys
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import load_stored_light, save_model, save_sequence
from osteon.lod.model_levels import load_levels, save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels
from osteon_bench.fuzzing.exr_seeds import PIZ, sample_colors
from tests.light_models import SMALL, moving_body

QUICK = ("--directions", "64", "--rank", "4", "--ground-points", "8")


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory) -> dict[str, Path]:
    """A model, one with levels, and a sequence without a skin."""
    folder, model = tmp_path_factory.mktemp("bodies"), moving_body()
    save_model(model, folder / "plain.glb")
    levels = fit_levels(model, options=LodOptions(triangles="50%", threads=1))
    save_levels(levels.levels, folder / "levels.glb")
    save_sequence(MeshSequence(pose_frames(model), model.faces, model.rest), folder / "sequence.npz")
    Image.fromarray(np.full((8, 16, 3), 180, np.uint8)).save(folder / "room.png")
    (folder / "empty.hdr").write_bytes(b"")
    (folder / "noise.png").write_bytes(b"no picture")
    (folder / "noise.exr").write_bytes(b"no picture")
    (folder / "sky.exr").write_bytes(PIZ["f2"])
    return {path.name: path for path in folder.iterdir()}


def light_of(path: Path) -> ModelLight:
    stored = load_stored_light(path)
    assert stored is not None
    return ModelLight.from_stored(stored)


def test_light_is_written_to_every_format_with_a_table(run_here, files):
    done = run_here(
        *("light", files["plain.glb"], "studio", files["room.png"], *QUICK, "--baked"),
        *("-o", "a.glb", "-o", "a.npz", "--json", "a.json"),
    )
    assert done.returncode == 0, done.stderr
    assert "rank  transfer %  ground %  baked %" in done.stdout
    facts = json.loads((run_here.folder / "a.json").read_text())
    assert facts["environments"] == ["studio", "room"]
    assert [row["rank"] for row in facts["ranks"]] == [0, 1, 2, 3, 4]
    assert facts.keys() >= {"kind", "order", "points", "frames", "bytes", "outputs", "plays", "notes", "seconds"}
    for name in ("a.glb", "a.npz"):
        light = light_of(run_here.folder / name)
        assert [one.name for one in light.environments] == ["studio", "room"]
        assert light.baked is not None
        assert light.ground is not None
    assert not list(run_here.folder.glob("*.frames"))


def test_an_openexr_image_is_an_environment(run_here, files):
    done = run_here("light", files["plain.glb"], files["sky.exr"], *QUICK, "-o", "a.npz")
    assert done.returncode == 0, done.stderr
    (sky,) = light_of(run_here.folder / "a.npz").environments
    assert sky.name == "sky"
    np.testing.assert_array_equal(sky.coefficients, project_image(sample_colors()).coefficients)


def test_occlusion_needs_no_environment(run_here, files):
    done = run_here("light", files["plain.glb"], "--occlusion", "--directions", "64", "--no-ground", "-o", "a.glb")
    assert done.returncode == 0, done.stderr
    assert "ambient occlusion" in done.stdout
    light = light_of(run_here.folder / "a.glb")
    assert light.is_occlusion
    assert light.ground is None


def test_levels_stay_and_get_light(run_here, files):
    done = run_here("light", files["levels.glb"], "overcast", *QUICK, "-o", "a.glb")
    assert done.returncode == 0, done.stderr
    levels = load_levels(run_here.folder / "a.glb")
    assert len(light_of(run_here.folder / "a.glb").coarse) == len(levels.coarse) > 0


def test_new_levels_keep_the_light(run_here, files):
    assert run_here("light", files["plain.glb"], "overcast", *QUICK, "-o", "lit.npz").returncode == 0
    done = run_here("lod", run_here.folder / "lit.npz", "--triangles", "50%", "-o", "a.glb")
    assert done.returncode == 0, done.stderr
    before, after = light_of(run_here.folder / "lit.npz"), light_of(run_here.folder / "a.glb")
    np.testing.assert_array_equal(after.transfer.basis, before.transfer.basis)
    assert len(after.coarse) == len(load_levels(run_here.folder / "a.glb").coarse) > 0


def test_a_run_continues_with_finished_frames(run_here, files):
    from osteon.io import load_model

    model = load_model(files["plain.glb"])
    folder = run_here.folder / "a.glb.frames"
    done = run_here("light", files["plain.glb"], "studio", *QUICK, "-o", "a.glb")
    assert done.returncode == 0, done.stderr
    first = (run_here.folder / "a.glb").read_bytes()
    transfer_of_keys(LightPlan.of(model, SMALL), folder=FrameFolder(folder))
    for path in sorted(folder.iterdir())[::2]:
        path.unlink()
    assert run_here("light", files["plain.glb"], "studio", *QUICK, "-o", "a.glb", "--force").returncode == 0
    assert (run_here.folder / "a.glb").read_bytes() == first
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("plain.glb",), "name an environment"),
        (("plain.glb", "empty.hdr"), "is empty"),
        (("plain.glb", "noise.png"), "cannot be read as an image"),
        (("plain.glb", "noise.exr"), "is no OpenEXR image"),
        (("plain.glb", "plain.glb"), "is no image of an environment"),
        (("plain.glb", "none.hdr"), "does not exist"),
        (("sequence.npz", "studio"), "sequence.npz"),
        (("plain.glb", "studio", "--occlusion"), "needs no environment"),
        (("plain.glb", "studio", "--colors", "morphed"), "needs --baked"),
        (("plain.glb", "studio", "--order", "7"), "order"),
        (("plain.glb", "studio", "--albedo", "0.5"), "bounces"),
    ],
)
def test_bad_usage_is_one_line_and_writes_nothing(run_here, files, arguments, words):
    named = [files.get(word, word) for word in arguments]
    done = run_here("light", *named, "-o", "a.glb")
    assert done.returncode == 2
    assert words in done.stderr
    assert not list(run_here.folder.iterdir())


def test_other_formats_are_refused(run_here, files):
    for name in ("a.usda", "a.obj"):
        done = run_here("light", files["plain.glb"], "studio", "-o", name)
        assert done.returncode == 2
        assert "write a .glb" in done.stderr
