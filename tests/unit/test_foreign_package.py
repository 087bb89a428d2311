"""A package that adds a format, a model format and a deformer through entry points, and one that is broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import numpy as np

from osteon.core.animation import Clip
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import LinearBlend
from osteon.io.formats.format_types import SequenceFormat


def read(path, request):
    n_frames = int(path.read_text())
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
    frames = np.stack([square + f for f in range(n_frames)])
    return MeshSequence(frames, np.array([[0, 1, 2], [0, 2, 3]]), square, (Clip("walk", 0, n_frames, 24.0),))


def write(path, sequence):
    path.write_text(str(len(sequence.frames)))


class Wire(LinearBlend):
    kind = "wire"


FOREIGN = SequenceFormat(".foreign", "foreign frames", read, write)
WRONG = 3
"""

POINTS = """
[osteon.formats]
foreign = tiny_formats:FOREIGN
gone = no_such_module:FORMAT
wrong = tiny_formats:WRONG
obj = tiny_formats:FOREIGN

[osteon.deformers]
wire = tiny_formats:Wire
other = tiny_formats:Wire
gone = no_such_module:Wire
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a small package as an installer leaves it: a module, and metadata with its entry points."""
    (tmp_path / "tiny_formats.py").write_text(MODULE)
    metadata = tmp_path / "tiny_formats-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-formats\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    (tmp_path / "x.foreign").write_text("5")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [str(folder), *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)


def test_a_package_adds_a_format(installed: Path) -> None:
    code = """
import osteon
sequence = osteon.load_sequence("x.foreign")
print(sequence.frames.shape, sequence.clips[0].name)
osteon.save_sequence(sequence, "y.foreign")
print(open("y.foreign").read())
"""
    result = run(installed, "-c", code)
    assert result.stderr == ""
    assert result.stdout == "(5, 4, 3) walk\n5\n"
    info = run(installed, "-m", "osteon", "info", "x.foreign")
    assert info.returncode == 0
    assert "walk" in info.stdout


def test_a_model_of_an_added_deformer_is_saved_and_loaded(installed: Path) -> None:
    code = """
import numpy as np
from tiny_formats import Wire
import osteon
from osteon.synth.baked import RandomOptions, bake_random_model
plain = bake_random_model(4, options=RandomOptions(vertices=60, bones=3, frames=4)).model
model = plain.with_character(deformer=Wire(plain.skin), fallback=plain.skin)
osteon.save_model(model, "wire.npz")
"""
    assert run(installed, "-c", code).stderr == ""
    loading = """
import osteon
model = osteon.load_model("wire.npz")
print(type(model.deformer).__module__, model.deformer.kind, model.n_bones)
"""
    result = run(installed, "-c", loading)
    assert (result.stdout, result.stderr) == ("tiny_formats wire 3\n", "")


@pytest.mark.parametrize(
    ("name", "words"), [("x.gone", "No module named 'no_such_module'"), ("x.wrong", "is not a MeshFormat")]
)
def test_a_broken_format_is_one_line_and_stops_no_other(installed: Path, name: str, words: str) -> None:
    (installed / name).write_text("0")
    result = run(installed, "-m", "osteon", "info", name)
    assert result.returncode == 2
    assert words in result.stderr
    assert "the package tiny-formats" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    frames = installed / "frames"
    frames.mkdir()
    (frames / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (frames / name).write_text("0")
    assert run(installed, "-m", "osteon", "info", "frames").returncode == 0
    unknown = run(installed, "-m", "osteon", "info", "x.obj2", "--quiet")
    assert unknown.returncode == 2
    assert len(unknown.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "words"), [("gone", "No module named"), ("other", "not a class whose kind"), ("none", "is not known")]
)
def test_a_broken_deformer_is_one_line(installed: Path, kind: str, words: str) -> None:
    code = f"""
from osteon.deform.registry import deformer_class
from osteon.core.errors import OsteonError
try:
    deformer_class({kind!r})
except OsteonError as error:
    print(error)
"""
    result = run(installed, "-c", code)
    assert words in result.stdout
    assert len(result.stdout.splitlines()) == 1


def test_plugins_are_looked_up_only_where_needed(installed: Path) -> None:
    """Neither `osteon --help` of a command nor a file of Osteon's own formats looks for installed packages."""
    (installed / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    code = """
import sys
import osteon
osteon.load_sequence("a.obj")
from osteon.core.plugins import find_plugins
print(find_plugins.cache_info().currsize, "tiny_formats" in sys.modules)
"""
    assert run(installed, "-c", code).stdout == "0 False\n"
