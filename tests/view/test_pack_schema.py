"""One schema for both sides: Python refuses to write what it does not have, and the page reads nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from osteon.core.character import Skeleton
from osteon.core.kinematics import JointLimit
from osteon.core.mesh import Asset, Image, Material, Mesh
from osteon.core.sequence import MeshSequence
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.measure.distortion import measure_distortion
from osteon.synth.baked import bake_cylinder
from osteon.view.pack import arrays as pack_arrays
from osteon.view.pack.model_pack import pack_model, pack_sequence
from osteon.view.pack.poses import ShownPoses
from osteon.view.pack.schema import SCHEMA, PackError, check_pack, pack_pieces

from .engine_cases import models, source_of
from .engine_page import engine_page
from .level_cases import made_levels
from .light_cases import random_light
from .test_pack import read_pack

PAGE = Path(pack_arrays.__file__).parents[1] / "page"
#: What pack.js adds to a header when it reads a pack.
DERIVED = {"counts", "skinned", "hasSource", "still"}


def full_pack() -> tuple[dict, dict[str, np.ndarray]]:
    """A model with everything that a pack can have."""
    model, source = models()["full"], source_of("full")
    places = np.tile(np.eye(3, 4, dtype=np.float32), (model.n_bones, 1, 1))
    places[:, 0, 3] = np.arange(model.n_bones)
    joints = Skeleton(model.track.names, np.arange(-1, model.n_bones - 1, dtype=np.int32), places)
    model = model.with_character(skeleton=joints)
    picture = Image("wood", "image/png", b"\x89PNG12345")
    asset = Asset(
        uvs=np.zeros((len(model.faces), 3, 2), np.float32),
        colors=np.ones((model.n_vertices, 4), np.float32),
        materials=(Material("wood", textures=(("base_color", picture),)),),
        triangle_material=np.zeros(len(model.faces), np.int32),
    )
    model = model.with_mesh(asset=asset)
    found = measure_distortion(source, model.faces, lambda a, b: source[a:b])
    clusters = np.zeros(len(model.faces), np.int32)
    levels = made_levels(model, parts=(0.5,))
    still = np.tile(np.eye(3, 4), (1, model.n_bones, 1, 1))
    known = KnownPoses(model.rest[None], still, ("rest",), np.zeros((model.n_bones, 3)))
    poses = ShownPoses(known, ("validate",), (JointLimit(model.track.names[0], (0.0, 0.0, 1.0), -10.0, 20.0),))
    light = random_light(levels.model, coarse=levels.coarse)
    return read_pack(
        pack_model(levels.model, source, found, clusters=clusters, levels=levels, poses=poses, light=light)
    )


def scripts() -> dict[str, str]:
    """The page's own modules by name."""
    found = [path for path in PAGE.rglob("*.js") if "node_modules" not in path.parts]
    return {str(path.relative_to(PAGE)): path.read_text(encoding="utf-8") for path in found}


def matches(name: str, patterns: list[str]) -> bool:
    return any(re.fullmatch(re.escape(pattern).replace(r"\*", "[^.]+"), name) for pattern in patterns)


def test_what_python_writes_is_what_the_schema_has(monkeypatch):
    header, arrays = full_pack()
    assert header.keys() == {key for key, rule in SCHEMA["header"].items() if "model" in rule["in"]}
    monkeypatch.setattr(pack_arrays, "SOURCE_BYTES", 0)
    sequence = with_a_seam(bake_cylinder(2).sequence)
    short, steps = read_pack(pack_sequence(sequence))
    assert short.keys() == {key for key, rule in SCHEMA["header"].items() if "sequence" in rule["in"]}
    written = {*arrays, *steps}
    rules = {name: {*rule.get("in", ()), *rule.get("may", ())} for name, rule in SCHEMA["arrays"].items()}
    listed = {name for name, kinds in rules.items() if kinds & {"model", "sequence"}}
    unused = {pattern for pattern in listed if not any(matches(name, [pattern]) for name in written)}
    others = {"deformer.*", "coarse.*.deformer.*", "coarse.*.smooth_with"}
    assert unused == others, "every array of the schema is written by somebody"


def with_a_seam(sequence: MeshSequence) -> MeshSequence:
    """The sequence with one corner on a vertex of its own, as a file has it at a texture seam."""
    faces = sequence.faces.copy()
    twin = faces[0, 0]
    faces[0, 0] = sequence.n_vertices
    frames = np.concatenate([sequence.frames, sequence.frames[:, twin : twin + 1]], axis=1)
    rest = np.concatenate([sequence.rest, sequence.rest[twin : twin + 1]])
    return MeshSequence(frames, faces, rest, sequence.clips)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mood": 1}, "unknown key mood"),
        ({"rank": "five"}, "rank is str, expected integer"),
        ({"diagonal": float("nan")}, "diagonal is not finite"),
        ({"clips": [{"name": "walk"}]}, "clips[0] has no start"),
        ({"clips": [{"name": "walk", "start": 0, "stop": 3, "fps": 24.0}]}, "clips end at 3"),
        ({"deformer": {"kind": "linear_blend"}}, "deformer has no arrays"),
        ({"kind": "sequence"}, "unknown key"),
    ],
)
def test_a_header_that_differs_is_refused(changes, words):
    header, arrays = full_pack()
    check_pack(header, arrays)
    with pytest.raises(PackError, match=re.escape(words)):
        check_pack(header | changes, arrays)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wings": np.zeros(3, np.float32)}, "no array wings"),
        ({"rest": np.zeros((4, 3), np.float64)}, "rest is f8, not f4"),
        ({"rest": np.zeros((4, 3), np.float32)}, "for v"),
        ({"bones": np.zeros((4, 3), np.uint16)}, "expected"),
        ({"source_scale": np.zeros((12, 6), np.float32)}, "only some of source_u2, source_scale"),
        ({"joint_tips": np.zeros((2, 3), np.float32)}, "for b"),
        ({"displacement.corrections.coefficients": np.zeros((12, 9), np.float32)}, "for r"),
        ({"segments": np.zeros(3, np.uint16)}, "no array segments"),
    ],
)
def test_arrays_that_differ_are_refused(changes, words):
    header, arrays = full_pack()
    with pytest.raises(PackError, match=re.escape(words)):
        check_pack(header, {**arrays, **changes})


def test_what_is_needed_is_asked_for():
    header, arrays = full_pack()
    del arrays["weights"]
    with pytest.raises(PackError, match="has no array weights"):
        list(pack_pieces(header, arrays))
    with pytest.raises(PackError, match="none of skin, simplex, ssd"):
        list(pack_pieces({"kind": "pose", "methods": {}, "build": "b1"}, {}))


def names_taken(text: str, holder: str) -> set[str]:
    """Names that a script reads from an object: `holder.name` and `const { name, other: x } = holder`."""
    found = set(re.findall(rf"(?<![\w./]){holder}\??\.(\w+)", text))
    for inside in re.findall(rf"\{{([^{{}}]*)\}} = (?:\w+\.)*{holder}[;,)\n]", text):
        found |= {re.split(r"[:=]", name)[0].strip() for name in inside.split(",")}
    return found - {""}


def test_the_page_reads_no_array_that_the_schema_does_not_have():
    patterns = [*SCHEMA["arrays"], *(name.rpartition(".")[2] for name in SCHEMA["arrays"] if name.count(".") == 2)]
    read = set()
    for name, text in scripts().items():
        for taken in names_taken(text, r"(?:\w+\.)*arrays"):
            assert matches(taken, patterns), f"{name} reads arrays.{taken}"
            read.add(taken)
    assert {"rest", "bones", "source_u2", "triangle_cluster", "basis", "segments"} <= read


def test_the_page_reads_no_key_that_the_schema_does_not_have():
    keys = {*SCHEMA["header"], *DERIVED}
    read = set()
    for name, text in scripts().items():
        for taken in names_taken(text, r"(?:\w+\.)*pack"):
            assert taken in keys, f"{name} reads pack.{taken}"
            read.add(taken)
    assert {"name", "clips", "deformer", "displacements", "bone_names", "report", "materials", *DERIVED} <= read


def test_what_the_engine_asks_of_a_pack_is_in_the_schema():
    """The same while it draws: every key and array that is asked for, whichever way it is written."""
    levels = made_levels(models()["full"], parts=(0.5,))
    clusters = np.zeros(len(levels.model.faces), np.int32)
    pack = pack_model(levels.model, source_of("full"), clusters=clusters, levels=levels)
    with engine_page(160, 120) as page:
        asked = page.run("await page.askedOf(given[0])", page.put(pack))
        assert page.complaints == page.said() == []
    keys, names = set(asked["keys"]), set(asked["arrays"])
    assert keys <= {*SCHEMA["header"], *DERIVED}
    assert all(matches(name, list(SCHEMA["arrays"])) for name in names)
    assert {"deformer", "displacements", "influences", "counts", "levels", "coverage", "coarse"} <= keys
    assert {"rest", "weights", "transforms", "bone_points", "source", "triangle_cluster"} <= names


def test_a_mesh_without_anything_is_packed():
    mesh = Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.int32))
    assert pack_arrays.mesh_arrays(mesh).keys() == {"rest", "faces", "normals"}
