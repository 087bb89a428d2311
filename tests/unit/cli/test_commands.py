"""The command line as a new user meets it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from osteon.synth.cloth import ClothOptions, make_cloth

REPORT_KEYS = {
    "input", "preset", "bones", "bone_type", "influences", "weights", "near_rigid_fraction", "tolerance",
    "error_percent", "error_percent_by_rank", "rms", "worst", "normal_deviation_degrees", "heldout_error_percent",
    "compression_ratio", "output_bytes", "seconds", "peak_memory_mb", "seed", "version",
}  # fmt: skip


def test_help_does_not_import_numba():
    program = (
        "import sys; sys.argv = ['osteon', '--help']\n"
        "from osteon.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: ...\n"
        "assert 'numba' not in sys.modules and 'scipy' not in sys.modules, 'heavy import'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "skin" in done.stdout


def test_a_plain_fit_imports_neither_a_compiler_nor_what_it_does_not_use(tmp_path):
    """Once its kernels are in the cache: numba's registries and SciPy's algebra take longer than a small fit."""
    cloth = make_cloth(ClothOptions(frames=4, columns=6, rows=5))
    np.savez(tmp_path / "cloth.npz", frames=cloth.frames, faces=cloth.faces)
    program = (
        "import sys; sys.argv = ['osteon', 'skin', 'cloth.npz', '--bones', '3', '-o', 'cloth.glb', '-q', '--force']\n"
        "from osteon.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print([name for name in ('numba.np.linalg', 'scipy.linalg', 'scipy.spatial') if name in sys.modules])\n"
    )
    said = ""
    for _ in range(2):  # the first may have to compile
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said = done.stdout
    assert said.strip() == "[]"


@pytest.mark.parametrize("command", ["demo", "skin", "compare", "play", "info", "bench"])
def test_every_command_has_help(run, command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: python -m osteon {command}") or "Usage:" in done.stdout


def test_version(run):
    from osteon import __version__

    assert __version__ in run("--version").stdout


def test_skin_writes_a_model_frames_and_a_report(run, tube):
    done = run("skin", tube, "--bones", 3, "-o", "model.npz", "-o", "frames/", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    assert "error E" in done.stdout
    folder = run.folder
    report = json.loads((folder / "report.json").read_text())
    assert report.keys() >= REPORT_KEYS
    assert report["bones"] == 3
    assert report["output_bytes"] == (folder / "model.npz").stat().st_size
    assert {"fit", "total"} <= report["seconds"].keys()
    assert len(list((folder / "frames").glob("*.obj"))) == report["input"]["frames"]


def test_json_on_standard_output_stands_alone(run, tube_npz):
    done = run("skin", tube_npz, "--bones", 2, "-o", "model.npz", "--json", "-")
    assert json.loads(done.stdout)["bones"] == 2


def test_quiet_says_nothing(run, tube_npz):
    done = run("skin", tube_npz, "--bones", 2, "-o", "model.npz", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_same_seed_gives_the_same_file(run, tube_npz):
    for name, threads in (("a.npz", 1), ("b.npz", 2)):
        assert run("skin", tube_npz, "--bones", 3, "--threads", threads, "-o", name, "-q").returncode == 0
    assert (run.folder / "a.npz").read_bytes() == (run.folder / "b.npz").read_bytes()


def test_two_inputs_are_two_clips(run, tube, tube_npz):
    done = run("skin", tube, tube_npz, "--bones", 3, "-o", "both.npz", "-q")
    assert done.returncode == 0, done.stderr
    info = json.loads(run("info", "both.npz", "--json", "-").stdout)
    assert [clip["name"] for clip in info["clips"]] == ["tube", "tube_"] or len(info["clips"]) == 2


def test_info_of_a_sequence_and_of_a_model(run, tube_npz):
    facts = json.loads(run("info", tube_npz, "--json", "-").stdout)
    assert (facts["kind"], facts["shells"]) == ("sequence", 1)
    run("skin", tube_npz, "--bones", 3, "-o", "model.npz", "-q")
    facts = json.loads(run("info", "model.npz", "--json", "-").stdout)
    assert (facts["kind"], facts["bones"]) == ("model", 3)
    assert "model" in run("info", "model.npz").stdout


def test_paper_preset_with_every_weight_method(run, tube_npz):
    for weights in ("tsvd", "nnls", "bounded"):
        delta = ("--delta", 0.1) if weights == "bounded" else ()
        options = ("--preset", "paper", "--weights", weights, *delta, "--bones", 3)
        done = run("skin", tube_npz, *options, "-o", f"{weights}.npz", "--json", "-")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["weights"] == weights


def test_demo_writes_everything(run):
    done = run("demo", "-o", "out", "--bones", 12)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (run.folder / "out").iterdir()} == {
        "fox.glb", "fox-rigid.glb", "report.html", "report.json", "picture.png",
    }  # fmt: skip


def test_interrupt_leaves_nothing_half_written(run, tube_npz, tmp_path: Path):
    command = [sys.executable, "-m", "osteon", "demo", "-o", str(tmp_path / "out")]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has made us, and so our children, deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(3)
    for _ in range(100):  # a library may swallow one while it is being imported
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=3)
            break
        except subprocess.TimeoutExpired:
            continue
    assert process.returncode == 130, errors
    assert errors.strip().splitlines()[-1] == "osteon: stopped; nothing was written"  # after lines of progress
    assert not (tmp_path / "out").exists()
