"""Manifests of batches: what is read, and what is refused before anything starts."""

from __future__ import annotations

import pytest

from osteon.core.errors import FileFormatError
from osteon.scale.manifest import COMMANDS, Defaults, read_manifest

FLAGS = {
    name: {"bones": "--bones", "max-error": "--max-error", "rig": "--rig", "compress": "--compress"}
    for name in COMMANDS
}


@pytest.fixture
def clips(tmp_path):
    for name in ("walk.npz", "run.npz", "hero.glb"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "frames").mkdir()
    return tmp_path


def read(path, **defaults):
    return read_manifest(path, FLAGS, Defaults(**defaults))


def toml(folder, text):
    (folder / "batch.toml").write_text(text)
    return read(folder / "batch.toml")


def test_toml(clips):
    walk, run = toml(
        clips,
        """
        [defaults]
        options = {bones = 30, compress = true}
        [[assets]]
        input = "walk.npz"
        [[assets]]
        name = "both"
        command = "rig"
        input = ["run.npz", "walk.npz"]
        output = "rigs/both.usdc"
        options = {max_error = 0.5, compress = false}
        """,
    )
    assert (walk.name, walk.command, walk.inputs, walk.output) == ("walk", "skin", ("walk.npz",), "walk.glb")
    assert walk.arguments == ("--bones=30", "--compress")
    assert (run.name, run.command, run.output) == ("both", "rig", "rigs/both.usdc")
    assert run.arguments == ("--bones=30", "--max-error=0.5")
    assert run.paths() == [clips / "run.npz", clips / "walk.npz"]


def test_csv(clips):
    (clips / "batch.csv").write_text("input,name,bones,max-error\nwalk.npz,,30,\nrun.npz; walk.npz,both,,0.5\n")
    walk, both = read(clips / "batch.csv")
    assert (walk.name, walk.arguments) == ("walk", ("--bones=30",))
    assert (both.inputs, both.arguments) == (("run.npz", "walk.npz"), ("--max-error=0.5",))


def test_a_pattern_has_an_asset_per_match(clips):
    found = read(clips / "*.npz", command="play", options={"bones": 4})
    assert [(one.name, one.command, one.output) for one in found] == [
        ("run", "play", "run.npz"),
        ("walk", "play", "walk.npz"),
    ]
    assert found[0].arguments == ("--bones=4",)


def test_names_of_inputs(clips):
    (asset,) = toml(clips, '[[assets]]\ninput = "frames"\n')
    assert asset.output == "frames.glb"
    (clips / "frames" / "a.obj").write_text("")
    (asset,) = toml(clips, '[[assets]]\ninput = "frames/*.obj"\nsuffix = ".usdc"\n')
    assert asset.output == "frames.usdc"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[assets]]\ninput = 'walk.npz'\nbones = 3\n", ("asset 1", "'bones'")),
        ("[[assets]]\ninput = 'walk.npz'\noptions = {bonse = 3}\n", ("'walk'", "'bonse'", "did you mean 'bones'")),
        ("[[assets]]\ninput = 'walk.npz'\noptions = {output = 'x'}\n", ("'output'", "set by the batch")),
        ("[[assets]]\ninput = 'wlak.npz'\n", ("there is no file", "wlak.npz")),
        ("[[assets]]\ninput = []\n", ("asset 1", "expected an input")),
        ("[[assets]]\ninput = 'walk.npz'\ncommand = 'skni'\n", ("'skni'", "skin, rig")),
        ("[[assets]]\ninput = 'walk.npz'\n[[assets]]\ninput = 'walk.npz'\n", ("two assets are named 'walk'",)),
        (
            "[[assets]]\ninput = 'walk.npz'\n[[assets]]\ninput = 'run.npz'\noutput = 'WALK.glb'\n",
            ("'run' and 'walk' both write",),
        ),
        (
            "[[assets]]\ninput = 'walk.npz'\noutput = 'a'\n[[assets]]\ninput = 'run.npz'\noutput = 'a/b.glb'\n",
            ("both write",),
        ),
        ("[[assets]]\ninput = 'walk.npz'\noutput = '../walk.glb'\n", ("not a path inside",)),
        ("[[assets]]\ninput = 'walk.npz'\noutput = '/walk.glb'\n", ("not a path inside",)),
        ("[[assets]]\ninput = 'walk.npz'\noutput = 'logs/walk.glb'\n", ("batch itself writes logs",)),
        ("[[assets]]\ninput = 'walk.npz'\nname = '-x'\n", ("nor -",)),
        ("[defaults]\noption = {}\n", ("[defaults]", "did you mean 'options'")),
        ("[[asset]]\ninput = 'walk.npz'\n", ("'asset'", "did you mean 'assets'")),
        ("assets = 3\n", ("expected a table",)),
        ("[defaults]", ("names no asset",)),
        ("[[assets]\n", ("not valid TOML",)),
    ],
)
def test_bad_manifests_are_refused_in_one_line(clips, text, words, refused):
    (clips / "batch.toml").write_text(text)
    with refused(FileFormatError, "batch.toml", *words):
        read(clips / "batch.toml")


def test_bad_tables_are_refused_in_one_line(clips, refused):
    (clips / "batch.csv").write_text("input,bones\nwalk.npz,3,4\n")
    with refused(FileFormatError, "line 2"):
        read(clips / "batch.csv")
    (clips / "batch.csv").write_bytes(b"input\n\xff\n")
    with refused(FileFormatError, "UTF-8"):
        read(clips / "batch.csv")
    with refused(FileFormatError, "matches no file"):
        read(clips / "*.abc")
    with refused(FileFormatError, "expected a manifest"):
        read(clips / "walk.npz")
