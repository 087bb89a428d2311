"""Families of deformers in the page: what the shader and the script pose, and what the page does not know."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.deform.edits import Edits
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.multi_weight import WORLD
from osteon.deform.pose import pose_frames, pose_points
from osteon.deform.registry import DEFORMERS, DISPLACEMENTS
from osteon.view.pack.model_pack import pack_model, pack_sequence

from ..contract.families import DEFORMER_CASES, DISPLACEMENT_CASES
from .dual_quaternion_case import reference, screw_model
from .engine_cases import models, pack_of, source_of
from .engine_page import PAGE, decode, engine_page

CLOSE = 1e-6  # of the diagonal
CONTRACT = 1e-5
FAMILIES = {"eight influences": 2.6, "corrections": 6.0, "rigid": 3.0}


@pytest.fixture(scope="module")
def page():
    with engine_page(400, 300) as started:
        yield started


@pytest.fixture
def engine(page):
    yield page
    page.run("(engine.crowdMethod = 'palette', engine.endCrowd())")
    page.set_view(mode="result", paint="material", axes=False, wireframe=False)
    assert page.complaints == []
    assert page.said() == []


def apart(found, expected, model) -> float:
    return float(np.linalg.norm(found.astype(np.float64) - expected, axis=1).max()) / model.diagonal


@pytest.mark.parametrize(("registry", "folder"), [(DEFORMERS, "deformers"), (DISPLACEMENTS, "displacements")])
def test_the_page_knows_every_registered_kind(registry, folder):
    index = (PAGE / "engine" / folder / "index.js").read_text()
    for kind in registry:
        if kind == Edits.kind:
            continue  # a pack has them in its rest pose
        assert (PAGE / "engine" / folder / f"{kind}.js").is_file(), f"{kind} has no file in engine/{folder}"
        assert f"./{kind}.js" in index


@pytest.mark.parametrize("kind", [*DEFORMER_CASES, *DISPLACEMENT_CASES])
def test_shader_and_script_equal_python(engine, kind):
    """The contract of every registered family: the page shows what Python poses, to 1e-5 of the diagonal."""
    model = (DEFORMER_CASES | DISPLACEMENT_CASES)[kind]()
    assert engine.load(pack_model(model))
    for f in range(model.n_frames):
        expected = pose_frames(model, f, f + 1)[0]
        assert apart(engine.positions(f), expected, model) <= CONTRACT
        assert apart(scripted(engine, f, 0), expected, model) <= CONTRACT


def test_the_page_finds_coefficients_from_bones(engine):
    """What follows the joints, evaluated in script for bones at any place, is what Python evaluates."""
    model = DISPLACEMENT_CASES["eigenskin"]()
    assert engine.load(pack_model(model))
    expected = model.character.displacements[0].coefficients(model.animation)
    code = """await import("/engine/displacements/eigenskin.js").then(({ jointValues }) => {
      const { displacements, arrays, counts } = engine.character.pack;
      const bones = arrays.transforms.subarray(12 * counts.bones * given[0], 12 * counts.bones * (given[0] + 1));
      return [...jointValues(displacements[0].arrays, bones)];
    })"""
    for f in range(model.n_frames):
        np.testing.assert_allclose(engine.run(code, f), expected[f], atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "angle"), FAMILIES.items())
def test_dual_quaternions_in_every_frame(engine, name, angle):
    model = screw_model(name, angle)
    assert engine.load(pack_model(model))
    for f in range(model.n_frames):
        expected = reference(model, f)
        assert apart(engine.positions(f), expected, model) <= CLOSE
        assert apart(scripted(engine, f, 0), expected, model) <= CLOSE


@pytest.mark.parametrize(("name", "angle"), FAMILIES.items())
def test_dual_quaternions_between_frames(engine, name, angle):
    model = screw_model(name, angle)
    assert engine.load(pack_model(model))
    for frame, part in ((0, 0.5), (3, 0.25), (model.clips[0].stop - 2, 0.875)):
        expected = reference(model, frame, part)
        assert apart(engine.positions(frame + part), expected, model) <= CLOSE
        assert apart(scripted(engine, frame, part), expected, model) <= CLOSE


@pytest.mark.parametrize("kind", ["animation_space", "multi_weight"])
def test_families_of_matrices_between_frames(engine, kind):
    """Bones go straight from frame to frame, and what is blended of them is what Python blends."""
    model = DEFORMER_CASES[kind]()
    assert engine.load(pack_model(model))
    matrices = model.track.transforms.astype(np.float64)
    for frame, part in ((0, 0.5), (3, 0.25)):
        mixed = (1 - part) * matrices[frame : frame + 1] + part * matrices[frame + 1 : frame + 2]
        expected = pose_points(model.deformer, model.rest.astype(np.float64)[None], mixed)[0]
        assert apart(engine.positions(frame + part), expected, model) <= CONTRACT
        assert apart(scripted(engine, frame, part), expected, model) <= CONTRACT


def test_models_as_printed(engine):
    """Sums that are not one refer to the origin of the input, and the page shows matrices about the body's centre."""
    rng = np.random.default_rng(3)
    for kind in ("animation_space", "multi_weight"):
        model = DEFORMER_CASES[kind]()
        away = model.track.transforms + np.array([0, 0, 0, 3.0], np.float32) * model.diagonal
        given = model.deformer
        weights = (given.weights + 0.1 * rng.normal(size=given.weights.shape)).astype(np.float32)
        if kind == "multi_weight":
            changed = replace(given, weights=weights, reference=np.full(model.n_vertices, WORLD, np.int32))
        else:
            changed = replace(given, weights=weights, free=True)
        model = model.with_character(deformer=changed)
        model = model.with_animation(track=replace(model.track, transforms=away.astype(np.float32)))
        assert engine.load(pack_model(model))
        for f in (0, 4):
            expected = pose_frames(model, f, f + 1)[0]
            assert apart(engine.positions(f), expected, model) <= CONTRACT
            assert apart(scripted(engine, f, 0), expected, model) <= CONTRACT


def test_multi_weights_of_world_axes(engine):
    model = DEFORMER_CASES["multi_weight"]()
    reference = np.where(np.arange(model.n_vertices) % 2, model.deformer.reference, WORLD)
    model = model.with_character(deformer=replace(model.deformer, reference=reference))
    assert engine.load(pack_model(model))
    expected = pose_frames(model, 4, 5)[0]
    assert apart(engine.positions(4), expected, model) <= CONTRACT
    assert apart(scripted(engine, 4, 0), expected, model) <= CONTRACT


@pytest.mark.parametrize("kind", ["animation_space", "multi_weight"])
def test_a_crowd_of_families_by_both_methods(engine, kind):
    engine.load(pack_model(DEFORMER_CASES[kind]()))
    engine.run("await page.crowd({ count: 6, seed: 5 }, [])")
    engine.run("(engine.group.seconds = 0.11)")
    palette = engine.picture(f"crowd-{kind}").astype(int)
    engine.run("(engine.crowdMethod = 'stream')")
    stream = engine.picture(f"crowd-{kind}-stream").astype(int)
    assert (np.abs(palette - stream).max(axis=2) > 40).mean() < 0.005
    assert (np.abs(palette - palette[2, 2]).max(axis=2) > 40).mean() > 0.02


def scripted(engine, frame, part):
    """(v,3) what the page's script poses."""
    return decode(engine.run("page.scripted(...given)", frame, part)).reshape(-1, 3)


def test_it_is_no_linear_blend(engine):
    model = screw_model("rigid", 3.0)
    engine.load(pack_model(model))
    linear = model.with_character(deformer=LinearBlend(model.skin))
    screws = engine.positions(model.n_frames - 1)
    engine.load(pack_model(linear))
    assert apart(engine.positions(model.n_frames - 1), screws, model) > 1e-2


def test_errors_axes_and_weights_of_dual_quaternions(engine):
    model = screw_model("corrections", 6.0)
    source = np.stack([reference(model, f) for f in range(model.n_frames)]).astype(np.float32)
    source[5, 17] += 0.1
    engine.load(pack_model(model, source=source))
    worst = engine.run("engine.worst()")
    assert (worst["frame"], worst["vertex"]) == (5, 17)
    by_rank = decode(engine.run("page.errorByRank()"))
    motion = ((source - source.mean(axis=0, dtype=np.float64)) ** 2).sum()
    assert by_rank[-1] == pytest.approx(100 * np.sqrt(3 * 0.1**2 / motion), rel=1e-3)
    assert by_rank[0] > 1.2 * by_rank[-1]
    for paint in ("bones", "weights", "error"):
        engine.set_view(paint=paint, axes=True)
        picture = engine.picture(f"dual-quaternions-{paint}")
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100


def test_a_crowd_of_dual_quaternions_by_both_methods(engine):
    engine.load(pack_model(screw_model("corrections", 3.0)))
    engine.run("await page.crowd({ count: 12, seed: 5 }, [given[0]])", engine.put(pack_of("rigid")))
    engine.run("(engine.group.seconds = 0.21)")
    palette = engine.picture("crowd-dual-quaternions").astype(int)
    engine.run("(engine.crowdMethod = 'stream')")
    stream = engine.picture("crowd-dual-quaternions-stream").astype(int)
    assert (np.abs(palette - stream).max(axis=2) > 40).mean() < 0.005
    assert (np.abs(palette - palette[2, 2]).max(axis=2) > 40).mean() > 0.02


def test_a_sequence_has_no_bones_and_is_drawn_from_its_frames(engine):
    model, source = models()["flexible"], source_of("flexible")
    engine.load(pack_model(model, source=source))
    engine.set_view(mode="source")
    beside = engine.picture("source-of-a-model").astype(int)
    clusters = np.arange(len(model.faces), dtype=np.int32) % 5
    sequence = MeshSequence(source, model.faces, model.rest, clips=model.clips, asset=model.asset)
    assert engine.load(pack_sequence(sequence, clusters))
    assert engine.run("[engine.character.pack.skinned, engine.character.pack.counts.bones]") == [False, 0]
    alone = engine.picture("sequence").astype(int)
    assert (np.abs(alone - beside).max(axis=2) > 24).mean() < 0.001
    np.testing.assert_allclose(engine.positions(4), source[4], atol=1e-5)
    between = 0.75 * source[4].astype(np.float64) + 0.25 * source[5]
    np.testing.assert_allclose(engine.positions(4.25), between, atol=1e-5)
    assert engine.run("[engine.worst(), engine.errorByRank(), engine.errorAt(0)]") == [None, None, None]


def test_a_sequence_shows_what_it_can(engine):
    model, source = models()["flexible"], source_of("flexible")
    engine.load(pack_sequence(MeshSequence(source, model.faces, model.rest), np.zeros(len(model.faces), np.int32)))
    plain = engine.picture("sequence-plain")
    for view in ({"paint": "bones"}, {"paint": "weights"}, {"paint": "error"}, {"axes": True}, {"mode": "side"}):
        engine.set_view(**{"paint": "material", "axes": False, "mode": "result", **view})
        np.testing.assert_array_equal(engine.picture("sequence-asked"), plain, err_msg=str(view))
    engine.set_view(paint="clusters", wireframe=True)
    assert (engine.picture("sequence-clusters") != plain).mean() > 0.05
    engine.set_view(paint="material", wireframe=False)
    picked = engine.run("engine.pick(200, 150)")
    assert (picked["weights"], picked["error"], picked["role"]) == ([], None, "source")
    engine.run("engine.lookAtVertex(given[0])", picked["vertex"])
    engine.picture("sequence-marked")
    engine.run("(engine.unmark(), engine.beginPosing(), page.draw(), engine.endPosing(), page.draw())")


def test_a_crowd_of_sequences_is_refused_in_words(page):
    model = models()["flexible"]
    page.load(pack_sequence(MeshSequence(source_of("flexible"), model.faces, model.rest)))
    assert page.run("engine.crowd({ count: 3 })") is False
    assert page.said() == ["A crowd needs skinned models; fit the sequence first."]
    page.run("void (page.said.length = 0)")


def with_header(pack: bytes, **changes: object) -> bytes:
    """A pack whose header says something else."""
    length = struct.unpack("<I", pack[8:12])[0]
    header = json.loads(pack[12 : 12 + length]) | changes
    text = json.dumps(header).encode()
    text = text.ljust(-(-(len(text) + 12) // 16) * 16 - 12)
    return pack[:8] + struct.pack("<I", len(text)) + text + pack[12 + length :]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deformer": {"kind": "jelly", "arrays": {}}}, "deformer jelly is not known"),
        ({"displacements": [{"kind": "waves", "arrays": {}}]}, "displacement waves is not known"),
        ({"kind": "cloud"}, "kind cloud"),
        ({"rank": "five"}, "rank is no integer"),
        ({"mood": 1}, "has mood"),
        ({"arrays": {}}, "has no rest, faces"),
    ],
)
def test_what_the_schema_does_not_have_is_refused_in_words(page, changes, words):
    said = page.run(
        "await page.load(given[0]).then(() => page.said.splice(0).join(), (error) => error.message)",
        page.put(with_header(pack_of("rigid"), **changes)),
    )
    assert words in said
    assert "\n" not in said
