"""Damaged and hostile USD: refused in one line, and nothing outside the folder of the input is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, holds_model, load_model, load_sequence, save_model

from ..tolerance import assert_same_points
from .usd_models import corrected, rigid

pytestmark = pytest.mark.usefixtures("quick_children")

OUTSIDE = """#usda 1.0
def Mesh "m" {
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
}
"""
MOVING = """points.timeSamples = {
        0: [(0, 0, 0), (1, 0, 0), (1, 1, 0)],
        800000: [(0, 0, 1), (1, 0, 1), (1, 1, 1)],
    }"""


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.usda", b"", "empty"),
        ("a.usda", b"solid cube", "not a USD file"),
        ("a.usda", b"PXR-USDC" + bytes(90), "not a USD file"),
        ("a.usdc", b"#usda 1.0\n", "not a USD file"),
        ("a.usd", b"glTF\x02\x00\x00\x00", "not a USD file"),
        ("a.usda", b'#usda 1.0\ndef Mesh "a" { int x = \n', "cannot be read as USD"),
        ("a.usda", b"#usda 1.0\n\xff\xfe\xfa", "cannot be read as USD"),
        ("a.usdc", b"PXR-USDC" + bytes(90), "cannot be read as USD"),
        ("a.usdz", b"PK\x03\x04" + bytes(90), "truncated"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, refused, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    for load in (load_sequence, load_model, holds_model):
        with refused(FileFormatError, name, said):
            load(tmp_path / name)


@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usdz"])
def test_a_truncated_file_is_refused(tmp_path: Path, suffix: str) -> None:
    """In a process of its own, which must say nothing else."""
    save_model(corrected(), tmp_path / f"whole{suffix}")
    code = f"""
from pathlib import Path
from osteon_bench.fuzzing.forked import forked_children
from osteon.core.errors import FileFormatError
from osteon.io import load_model, load_sequence
folder = Path({str(tmp_path)!r})
whole = (folder / "whole{suffix}").read_bytes()
for part in range(25):
    cut = folder / f"cut_{{part}}{suffix}"
    cut.write_bytes(whole[: part * len(whole) // 25])
    for load in (load_model, load_sequence):
        try:
            with forked_children():
                load(cut)
        except FileFormatError as error:
            if cut.name in str(error) and "\\n" not in str(error):
                continue
        raise SystemExit(f"{{part}} of 25 was not refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stderr == ""


@pytest.mark.parametrize(
    "text",
    [
        'def "a" (references = @../outside.usda@</m>) {}',
        'def "a" (payload = @../outside.usda@</m>) {}',
        'def "a" (references = @./folder/../../outside.usda@</m>) {}',
        'def "a" (references = @ABSOLUTE@</m>) {}',
        'def "a" (references = @./link.usda@</m>) {}',
        'def "a" (references = @https://example.org/m.usda@</m>) {}',
        'def "a" (references = @`"${PLACE}.usda"`@</m>) {}',
        'def "a" (variants = { string v = "x" } prepend variantSets = "v")\n'
        '{ variantSet "v" = { "x" (references = @../outside.usda@</m>) {} } }',
        'def "a" (clips = { dictionary default = { asset[] assetPaths = [@../outside.usda@] } }) {}',
        'def "a" (references = @./inner.usda@) {}',
    ],
)
def test_nothing_outside_the_folder_is_read(tmp_path: Path, refused, text: str) -> None:
    from pxr import Sdf

    (tmp_path / "outside.usda").write_text(OUTSIDE)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.usda").symlink_to(tmp_path / "outside.usda")
    (inside / "inner.usda").write_text("#usda 1.0\n(subLayers = [@../outside.usda@]\n defaultPrim = 'm')\n")
    (inside / "a.usda").write_text("#usda 1.0\n" + text.replace("ABSOLUTE", str(tmp_path / "outside.usda")) + "\n")
    for load in (load_sequence, load_model, holds_model):
        with refused(FileFormatError, "a.usda"):
            load(inside / "a.usda")
    assert Sdf.Layer.Find(str(tmp_path / "outside.usda")) is None


def test_a_sublayer_outside_is_refused(tmp_path: Path, refused) -> None:
    (tmp_path / "outside.usda").write_text(OUTSIDE)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.usda").write_text("#usda 1.0\n(subLayers = [@../outside.usda@])\n")
    with refused(FileFormatError, "a.usda", "outside its folder"):
        load_sequence(tmp_path / "inside" / "a.usda")


def test_a_missing_layer_is_named(tmp_path: Path, refused) -> None:
    (tmp_path / "a.usda").write_text('#usda 1.0\ndef "a" (references = @./gone.usda@) {}\n')
    with refused(FileFormatError, "a.usda", "gone.usda"):
        load_sequence(tmp_path / "a.usda")


@pytest.mark.parametrize("notes", ["{", "[]", '{"version": 9}', '{"version": 1}', '{"version": 1, "joint_of_bone": 3}'])
def test_notes_that_make_no_sense(tmp_path: Path, notes: str) -> None:
    """The stage is read as one of others."""
    from pxr import Usd

    save_model(rigid(), tmp_path / "a.usda")
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    stage.GetDefaultPrim().SetCustomDataByKey("osteon", notes)
    stage.GetRootLayer().Export(str(tmp_path / "b.usda"))
    got = load_model(tmp_path / "b.usda")
    assert_same_points(pose_frames(got), pose_frames(rigid()), 1e-5)
    assert load_sequence(tmp_path / "b.usda").n_frames == got.n_frames


def test_the_command_line_says_one_line(tmp_path: Path) -> None:
    save_model(rigid(), tmp_path / "a.usdc")
    (tmp_path / "cut.usdc").write_bytes((tmp_path / "a.usdc").read_bytes()[:2000])
    command = [sys.executable, "-m", "osteon", "info", str(tmp_path / "cut.usdc")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cut.usdc" in done.stderr


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch, refused) -> None:
    save_model(rigid(), tmp_path / "a.usda")
    monkeypatch.setitem(sys.modules, "pxr", None)
    with refused(FileFormatError, "a.usda", "osteon[usd]"):
        load_model(tmp_path / "a.usda")
    with refused(FileFormatError, "b.usda", "osteon[usd]"):
        save_model(rigid(), tmp_path / "b.usda")
    assert [p.name for p in tmp_path.iterdir()] == ["a.usda"]


def test_formats_are_known_without_loading_their_libraries() -> None:
    code = "import sys, osteon.io; print(sorted({'pxr', 'alembic3d', 'ufbx', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_current_folder_is_no_place_to_look(tmp_path: Path, monkeypatch, refused) -> None:
    """USD looks up a bare name in the current folder too."""
    (tmp_path / "outside.usda").write_text(OUTSIDE)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.usda").write_text('#usda 1.0\ndef "a" (references = @outside.usda@</m>) {}\n')
    monkeypatch.chdir(tmp_path)
    with refused(FileFormatError, "a.usda", "outside its folder"):
        load_sequence(tmp_path / "inside" / "a.usda")


def test_layers_inside_a_package_are_read(tmp_path: Path) -> None:
    from pxr import Sdf

    save_model(rigid(), tmp_path / "inner.usdc")
    (tmp_path / "outer.usda").write_text('#usda 1.0\ndef "a" (references = @./inner.usdc@) {}\n')
    (tmp_path / "package").mkdir()
    writer = Sdf.ZipFileWriter.CreateNew(str(tmp_path / "package" / "a.usdz"))
    for name in ("outer.usda", "inner.usdc"):
        writer.AddFile(str(tmp_path / name), name)
    assert writer.Save()
    assert_same_points(load_sequence(tmp_path / "package" / "a.usdz").frames, pose_frames(rigid()), 1e-5)


def test_a_package_that_points_outside_is_refused(tmp_path: Path, refused) -> None:
    from pxr import Sdf

    (tmp_path / "outside.usda").write_text(OUTSIDE)
    (tmp_path / "outer.usda").write_text(f'#usda 1.0\ndef "a" (references = @{tmp_path}/outside.usda@</m>) {{}}\n')
    (tmp_path / "package").mkdir()
    writer = Sdf.ZipFileWriter.CreateNew(str(tmp_path / "package" / "a.usdz"))
    writer.AddFile(str(tmp_path / "outer.usda"), "outer.usda")
    assert writer.Save()
    with refused(FileFormatError, "a.usdz", "outside its folder"):
        load_sequence(tmp_path / "package" / "a.usdz")


def test_one_damaged_moment_makes_no_hours(tmp_path, refused):
    path = tmp_path / "a.usda"
    path.write_text(OUTSIDE.replace("points = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]", MOVING))
    with refused(FileFormatError, "a.usda", "800001 frames", "key times"):
        load_sequence(path)
    assert load_sequence(path, options=LoadOptions(fps=0.01)).n_frames == 335


def test_a_colour_of_too_few_numbers_does_not_fit(tmp_path):
    """What Osteon noted no longer fits the stage, so the stage counts."""
    kept = Path(__file__).parents[1] / "fuzz" / "corpus" / "usd" / "colour-of-two-numbers.usda"
    (tmp_path / "a.usda").write_bytes(kept.read_bytes())
    assert [m.name for m in load_sequence(tmp_path / "a.usda").asset.materials] == ["red", "blue"]
