"""Pictures of a stage that is no package: files beside it that USD itself finds, and nobody's work is lost to them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon.core.mesh import Image
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence, save_model, save_sequence
from osteon.io.save.atomic import OutputBatch, output_batch
from osteon.io.save.overwriting import OverwriteGuard

from .usd_models import PNG, textured

pytestmark = pytest.mark.usefixtures("quick_children")

BESIDE = [".usda", ".usdc", ".usd"]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def with_picture(data: bytes) -> SkinnedModel:
    model = textured()
    first = replace(model.asset.materials[0], textures=(("base_color", Image("dots", "image/png", data)),))
    return model.with_mesh(asset=replace(model.asset, materials=(first, model.asset.materials[1])))


def resolved(path: Path) -> set[str]:
    """Where USD finds the pictures of a stage."""
    from pxr import Usd, UsdShade

    stage = Usd.Stage.Open(str(path))
    shaders = [UsdShade.Shader(prim) for prim in stage.Traverse() if prim.IsA(UsdShade.Shader)]
    inputs = [shader.GetInput("file") for shader in shaders if shader.GetIdAttr().Get() == "UsdUVTexture"]
    return {str(file.Get().resolvedPath) for file in inputs}


@pytest.mark.parametrize("suffix", BESIDE)
@pytest.mark.parametrize("name", ["walk", "the walk.2", "a[1]@b", "läuft"])
def test_usd_finds_the_pictures(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"{name}{suffix}"
    save_model(textured(), path)
    (found,) = resolved(path)
    assert Path(found).read_bytes() == PNG
    assert Path(found).parent.parent == tmp_path
    assert Path(found).parent.name.endswith("_textures")
    textures = load_model(path).asset.materials[0].textures
    assert {(image.name, image.data) for _, image in textures} == {("dots", PNG)}


@pytest.mark.parametrize("suffix", BESIDE)
def test_a_sequence_has_them_too(tmp_path: Path, suffix: str) -> None:
    model = textured()
    sequence = MeshSequence(pose_frames(model), model.faces, model.rest, model.clips, model.asset)
    save_sequence(sequence, tmp_path / f"a{suffix}")
    assert load_sequence(tmp_path / f"a{suffix}").asset.materials == model.asset.materials
    assert len(files(tmp_path)) == 2


def test_the_folder_may_move_with_the_stage(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    save_model(textured(), tmp_path / "here" / "a.usda")
    (tmp_path / "here").rename(tmp_path / "there")
    assert load_model(tmp_path / "there" / "a.usda").asset.materials[0].textures


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    save_model(textured(), tmp_path / "a.usda")
    (picture,) = (tmp_path / "a_textures").iterdir()
    before = picture.stat()
    save_model(textured(), tmp_path / "a.usda")
    save_model(textured(), tmp_path / "a.usdc")
    assert (picture.stat().st_ino, picture.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    save_model(with_picture(PNG + b"other"), tmp_path / "a.usda")
    assert len(files(tmp_path / "a_textures")) == 2  # a.usdc still has its own
    assert load_model(tmp_path / "a.usdc").asset.materials[0].textures[0][1].data == PNG
    assert load_model(tmp_path / "a.usda").asset.materials[0].textures[0][1].data == PNG + b"other"


def test_two_stages_of_one_name_in_one_batch(tmp_path: Path) -> None:
    with output_batch():
        save_model(textured(), tmp_path / "a.usda")
        save_model(textured(), tmp_path / "a.usdc")
        assert not (tmp_path / "a.usda").exists()
    assert [Path(name).suffix for name in files(tmp_path)] == [".usda", ".usdc", ".png"]


def test_all_or_none(tmp_path: Path) -> None:
    def fail() -> None:
        with output_batch():
            save_model(textured(), tmp_path / "a.usda")
            raise FileFormatError("the second output fails")

    with pytest.raises(FileFormatError, match="second output"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_others_is_never_overwritten(tmp_path: Path, refused) -> None:
    save_model(textured(), tmp_path / "a.usda")
    (picture,) = (tmp_path / "a_textures").iterdir()
    (tmp_path / "a.usda").unlink()
    picture.write_bytes(b"someone's own")
    with refused(FileFormatError, picture.name, "--force"), output_batch(OutputBatch(OverwriteGuard().check)):
        save_model(textured(), tmp_path / "a.usda")
    assert picture.read_bytes() == b"someone's own"
    assert files(tmp_path) == [f"a_textures/{picture.name}"]
    with output_batch(OutputBatch(OverwriteGuard(force=True).check)):
        save_model(textured(), tmp_path / "a.usda")
    assert picture.read_bytes() == PNG


def test_the_command_line_writes_and_replaces(tmp_path: Path) -> None:
    save_model(textured(), tmp_path / "in.npz")
    for force in ([], ["--force"]):
        command = [sys.executable, "-m", "osteon", "play", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.usda")]
        done = subprocess.run(command + force, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert len(files(tmp_path / "out_textures")) == 1


def test_a_picture_outside_the_folder_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    save_model(textured(), tmp_path / "in" / "a.usda")
    (picture,) = (tmp_path / "in" / "a_textures").iterdir()
    picture.rename(tmp_path / "secret.png")
    picture.symlink_to(tmp_path / "secret.png")
    assert load_model(tmp_path / "in" / "a.usda").asset.materials[0].textures == ()
