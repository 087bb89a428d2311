"""`osteon compare` as people use it, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.options import command_text
from osteon.io import load_model, load_sequence, save_sequence

from ...subjects import bent_tube


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten poses, each shown twice."""
    sequence = bent_tube(3, n_frames=10).sequence
    frames = np.concatenate([sequence.frames, sequence.frames])
    path = tmp_path_factory.mktemp("walk") / "walk.npz"
    save_sequence(sequence.with_parts(frames=frames, clips=(), name="walk"), path)
    return path


def test_everything_is_written(run, walk):
    done = run("compare", walk, "--train", 4, "--bones", 3, "-o", "page.html", "--json", "found.json")
    assert done.returncode == 0, done.stderr
    for words in ("unseen poses", "training poses", "ssd", "dqs", "numbers/vertex", "10 distinct", "page.html"):
        assert words in done.stdout
    assert "10 of 20 frames repeat poses and were not used" in done.stdout
    page = (run.folder / "page.html").read_text(encoding="utf-8")
    assert "models compared" in page
    found = json.loads((run.folder / "found.json").read_text())
    assert (found["bones"], len(found["training_poses"]), len(found["unseen_poses"])) == (3, 4, 6)
    assert set(found["models"]) == {"ssd", "dqs", "mwe", "as", "mwe-zero", "eigenskin"}
    assert found["verdict"][0].split()[0] in done.stdout
    assert {"load", "fit", "page", "wall"} <= found["seconds"].keys()


def test_json_on_standard_output_stands_alone(run_here, walk):
    done = run_here("compare", walk, "--models", "ssd", "--poses", "0,3,-1", "--bones", 2, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["training_poses"] == [0, 3, 19]
    assert list(found["models"]) == ["ssd"]


def test_same_seed_same_figures(run_here, walk):
    told = []
    for threads in (1, 2):
        done = run_here("compare", walk, "--train", 4, "--bones", 3, "--threads", threads, "--json", "-")
        models = json.loads(done.stdout)["models"]
        told.append([(models[word]["training"], models[word]["unseen"]) for word in models])
    assert told[0] == told[1]


def test_lambda_is_one_number_or_the_best_of_several(run_here, walk):
    models = {}
    for values in ("0.01", "1000", "0.01,1000"):
        flags = ("--models", "ssd,as,mwe-zero,as-zero", "--lambda", values, "--train", 4, "--bones", 3, "--json", "-")
        done = run_here("compare", walk, *flags)
        assert done.returncode == 0, done.stderr
        models[values] = json.loads(done.stdout)["models"]
    assert models["0.01"]["ssd"]["lambda"] is None
    assert models["0.01"]["as"]["lambda"] == 0.01
    assert models["0.01,1000"]["as"]["lambda"] == "infinite"  # nothing is closer than the skin
    for word in ("mwe-zero", "as-zero"):
        assert models["0.01"][word]["lambda"] == 0.01
        assert models["0.01"][word]["sweep"] is None
        assert models["0.01"][word]["training"]["rms"] < models["1000"][word]["training"]["rms"]
        assert models["0.01,1000"][word]["sweep"]["strengths"] == [0.01, 1000]
        assert models["0.01,1000"][word]["lambda"] == 0.01
        assert models["0.01,1000"][word]["cost"]["slots"] == 3  # all bones


def test_quiet_says_nothing(run_here, walk):
    done = run_here("compare", walk, "--train", 4, "--bones", 2, "--models", "ssd", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--models", "ssd,foo"), "--models: unknown model 'foo'; known are ssd, dqs, mwe, as"),
        (("--train", 9), "--train: 9 of the 10 distinct poses of 'walk' leave fewer than 2 unseen; train with 8"),
        (("--train", 3, "--poses", "0,1,2"), "--train: the training poses are named with --poses; omit it"),
        (("--poses", "0,40"), "--poses: there is no frame 40; the sequence has frames 0 … 19"),
        (("--poses", "0,10,4"), "frame 10 repeats a pose that is named before it"),
        (("--poses", "0,x"), "expected frame numbers with commas"),
        (("--train", 4, "--bones", 100000), "--bones: 100000 asked for, but the mesh has only"),
        (("--lambda", "0.1,-1"), "expected positive numbers with commas"),
        (("--lambda", "x"), "expected positive numbers with commas"),
        (("--lambda", "nan"), "expected positive numbers with commas"),
        (("--lambda", "1,1.0"), "a number is listed twice"),
        (("--models", "ssd,dqs", "--lambda", "1"), "--lambda: no selected model is regularised; add one of mwe, as"),
        (("-o", "page.txt"), "-o: expected a name that ends in .html"),
        (("--frames", "0:2"), "2 distinct poses; a comparison needs at least 3"),
        (("--frames", "0,10"), "all frames show one pose"),
    ],
)
def test_one_line_and_nothing_written(run_here, walk, arguments, says):
    done = run_here("compare", walk, *arguments)
    assert done.returncode == 2
    assert says in done.stderr.replace("\n", " ")
    assert done.stdout == ""
    assert list(run_here.folder.iterdir()) == []


def test_nobodys_file_is_overwritten(run_here, walk):
    path = run_here.folder / "page.html"
    path.write_text("mine")
    done = run_here("compare", walk, "--train", 4, "-o", "page.html")
    assert done.returncode == 2
    assert path.read_text() == "mine"


def test_models_are_saved_with_the_command_that_shows_them(run_here, walk):
    done = run_here(
        "compare", walk, "--train", 4, "--bones", 3, "--models", "ssd,as", "--save", "models", "--json", "f.json"
    )
    assert done.returncode == 0, done.stderr
    folder = run_here.folder / "models"
    assert sorted(path.name for path in folder.iterdir()) == ["as.npz", "comparison.json", "ssd.npz"]
    command = command_text("osteon", "view", "models", walk)
    assert command in done.stdout
    written = json.loads((run_here.folder / "f.json").read_text())["written"]
    assert written["view"] == command
    assert written["models"] == {"ssd": "models/ssd.npz", "as": "models/as.npz"}
    assert written["source"] is None
    model = load_model(folder / "as.npz")
    assert (model.n_frames, model.deformer.kind, model.n_bones) == (20, "animation_space", 3)
    again = run_here(
        "compare", walk, "--train", 4, "--bones", 3, "--models", "ssd", "--save", "models", "-q", "--force"
    )
    assert again.returncode == 0, again.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["comparison.json", "ssd.npz"]


@pytest.mark.parametrize("arguments", [("--frames", "0:9"), ("--step", 2)])
def test_a_source_that_no_input_names_is_saved_too(run_here, walk, arguments):
    done = run_here(
        *("compare", walk, "--train", 3, "--bones", 2, "--models", "ssd", "--save", "my models", "--json", "-"),
        *arguments,
    )
    assert done.returncode == 0, done.stderr
    written = json.loads(done.stdout)["written"]
    assert written["view"] == command_text("osteon", "view", "my models")
    source = load_sequence(run_here.folder / written["source"])
    assert source.n_frames == load_model(run_here.folder / written["models"]["ssd"]).n_frames


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_a_folder_of_others_is_refused_before_the_work(run_here, walk, more):
    folder = run_here.folder / "models"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    done = run_here("compare", walk, "--train", 4, "--save", "models", *more)
    assert done.returncode == 2
    assert "models: holds 'mine.txt', which is not part of this output" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_outputs_of_one_run_do_not_take_each_other(run_here, walk):
    done = run_here("compare", walk, "--train", 4, "--save", "models", "-o", "models/page.html")
    assert done.returncode == 2
    assert "is in models, which --save replaces" in done.stderr
    inside = run_here.folder / "walk"
    inside.mkdir()
    (inside / "walk.npz").write_bytes(walk.read_bytes())
    done = run_here("compare", inside / "walk.npz", "--train", 4, "--save", "walk")
    assert done.returncode == 2
    assert (inside / "walk.npz").is_file()


def test_a_stop_while_models_are_written_leaves_nothing(run_here, walk, monkeypatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("osteon.io.comparisons._facts_of", stop)
    done = run_here("compare", walk, "--train", 4, "--bones", 2, "--models", "ssd", "--save", "m", "--json", "f.json")
    assert done.returncode == 130
    assert "nothing was written" in done.stderr
    assert list(run_here.folder.iterdir()) == []
