"""`osteon bench seen` without a browser: textures, cameras, surfaces and rows."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.mesh import Asset
from osteon.core.normals import angles_between, vertex_normals
from osteon.core.sequence import MeshSequence
from osteon.synth.baked import BakeOptions, bake_cylinder
from osteon_bench import seen
from osteon_bench.run import BenchRun
from osteon_bench.seen import SeenSubject, _frames, _rows, bench_seen
from osteon_bench.seen_pictures import SIZE, FlipScore, flip_map, flip_score, tight_views
from osteon_bench.seen_surface import make_surface
from osteon_bench.vertex_texture import bake_vertex_texture, fitting_frames

TUBE = bake_cylinder(2, options=BakeOptions(frames=9))


def poses(sequence: MeshSequence) -> tuple[np.ndarray, np.ndarray]:
    normals = np.stack([vertex_normals(sequence.frame(f), sequence.faces) for f in range(sequence.n_frames)])
    return np.asarray(sequence.frames, np.float64), normals


@pytest.mark.parametrize(("bits", "step"), [(16, 1 / 65535), (8, 1 / 255)])
def test_a_texture_of_all_frames_is_off_by_rounding_alone(bits, step):
    frames, normals = poses(TUBE.sequence)
    texture = bake_vertex_texture(frames, normals, TUBE.sequence.faces, len(frames), bits)
    span = np.ptp(frames, axis=(0, 1)).max()
    for f in range(len(frames)):
        places, turned = texture.at(f)
        assert np.abs(places - frames[f]).max() <= 0.5001 * step * span
        assert angles_between(turned, normals[f]).max() < 1.0  # of two bytes on an octahedron


def test_a_texture_goes_straight_between_its_frames():
    frames, normals = poses(TUBE.sequence)
    texture = bake_vertex_texture(frames, normals, TUBE.sequence.faces, 3, 16)
    assert texture.keys.tolist() == [0, 4, 8]
    halfway = (frames[0] + frames[4]) / 2
    assert np.abs(texture.at(2)[0] - halfway).max() < 1e-4 * np.ptp(frames)
    assert np.allclose(np.linalg.norm(texture.at(2)[1], axis=1), 1)
    still = bake_vertex_texture(frames, normals, TUBE.sequence.faces, 1, 16)
    assert np.array_equal(still.at(7)[0], still.at(0)[0])


def test_as_many_frames_as_fit():
    faces = TUBE.sequence.faces
    v, indices = TUBE.sequence.n_vertices, 2 * TUBE.sequence.faces.size
    assert fitting_frames(indices + 8 * v * 5, 9, v, faces, 16) == 5
    assert fitting_frames(indices + 8 * v * 5 - 1, 9, v, faces, 16) == 4
    assert fitting_frames(indices + 8 * v * 5, 9, v, faces, 8) == 8
    assert fitting_frames(10**9, 9, v, faces, 16) == 9
    assert fitting_frames(indices, 9, v, faces, 8) == 0
    frames, normals = poses(TUBE.sequence)
    assert bake_vertex_texture(frames, normals, faces, 5, 16).nbytes == indices + 8 * v * 5


def test_cameras_hold_the_frame_and_hardly_more():
    points = TUBE.sequence.frame(3)
    views = tight_views(points)
    assert len(views) >= 2
    for view in views:
        seen_at = (points - view.middle) @ view.axes.T / view.half
        assert np.abs(seen_at[:, :2]).max() <= 1
        assert np.abs(seen_at[:, :2]).max() > 0.9
        assert np.allclose(view.axes @ view.axes.T, np.eye(3))


def still(frames: int) -> MeshSequence:
    return MeshSequence(np.zeros((frames, 3, 3)), [[0, 1, 2]], np.zeros((3, 3)))


def test_one_frame_of_each_part_and_always_the_same():
    frames = _frames(still(240))
    assert [frame // 20 for frame in frames] == list(range(12))
    assert frames == _frames(still(240))
    assert _frames(still(1)) == [0]


@pytest.mark.parametrize("kept", [35, 47, 60, 73, 100, 120])
def test_frames_do_not_beat_with_those_that_a_texture_keeps(kept):
    """Even distances hit all of the kept frames, or none; these hit them about as often as any frame is one."""
    keys = np.linspace(0, 239, kept).round()
    share = np.isin(_frames(still(240)), keys).mean()
    assert abs(share - kept / 240) < 0.3


def test_a_surface_has_the_source_s_normals_and_seams():
    sequence = TUBE.sequence
    plain = make_surface(sequence, TUBE.model)
    places, normals = plain.at(sequence.frame(4))
    assert len(places) == sequence.n_vertices
    assert angles_between(normals, vertex_normals(sequence.frame(4), sequence.faces)[plain.vertex]).max() < 0.01
    uvs = np.random.default_rng(0).random((len(sequence.faces), 3, 2)).astype(np.float32)
    seams = make_surface(sequence.with_parts(asset=Asset(uvs=uvs)), TUBE.model)
    assert len(seams.vertex) == sequence.faces.size
    assert np.allclose(seams.uvs[seams.corners][..., 0], uvs[..., 0])
    layout, data = seams.packed()
    assert len(data) == 4 * (sequence.faces.size + 2 * len(seams.vertex))
    assert layout["groups"] == [[0, sequence.faces.size]]


def square(grey: int, side: int) -> np.ndarray:
    """A square in the middle of nothing."""
    picture = np.zeros((SIZE, SIZE, 4), np.uint8)
    at = slice(SIZE // 2 - side, SIZE // 2 + side)
    picture[at, at] = (grey, grey, grey, 255)
    return picture


def test_flip_counts_what_is_covered_alone():
    pytest.importorskip("flip_evaluator", reason="flip-evaluator is not installed")
    assert flip_score([(square(200, 50), square(200, 50))]) == FlipScore(0.0, 0.0)
    small, large = (flip_score([(square(200, side), square(60, side))]).mean for side in (40, 160))
    assert large > 0.5
    assert abs(small - large) < 0.15  # not the sixteenth part of it
    found, counted = flip_map(square(200, 40), square(200, 50))
    assert counted.sum() == 100 * 100
    assert found[counted].max() > 0.3


SCORES = {"ours": 0.02, "before": 0.1, "Dem Bones": 0.03, "texture x 1": 0.05, "texture x 2": 0.01}


def test_rows_have_the_bounds_of_their_sequence():
    frames, normals = poses(TUBE.sequence)
    texture = bake_vertex_texture(frames, normals, TUBE.sequence.faces, 3, 16)
    subject = SeenSubject({}, {k: FlipScore(v, 2 * v) for k, v in SCORES.items()}, 1000, 5, {"texture x 2": texture})
    held = {name: {r.metric: r for r in _rows(name, subject) if r.bound is not None} for name in ("flag", "cow")}
    assert {m: r.bound for m, r in held["flag"].items()} == {"mean FLIP / before": 0.4, "mean FLIP / Dem Bones": 1.0}
    assert held["flag"]["mean FLIP / before"].ok
    assert list(held["cow"]) == ["mean FLIP / Dem Bones", "mean FLIP / texture x 2"]
    assert not held["cow"]["mean FLIP / texture x 2"].ok
    metrics = [row.metric for row in _rows("cow", subject)]
    assert "99th percentile of FLIP, Dem Bones" in metrics
    assert "frames kept, texture x 2" in metrics


def test_without_a_browser_nothing_is_seen(monkeypatch, tmp_path):
    monkeypatch.setattr(seen, "lacking_tools", lambda: "Chromium is not installed")
    run = BenchRun(tmp_path, 1)
    assert bench_seen(run) == []
    assert run.missing == ["pictures: omitted, Chromium is not installed"]


def test_built_in_subjects_stand_in(monkeypatch, tmp_path):
    looked = []
    monkeypatch.setattr(seen, "lacking_tools", lambda: "")
    monkeypatch.setattr(seen, "look_at", lambda run, sequence: looked.append(sequence.name))
    monkeypatch.setattr(seen, "_rows", lambda name, subject: [])
    run = BenchRun(tmp_path, 1)
    bench_seen(run)
    assert looked == ["horse", "flag"]
    assert len(run.missing) == len(seen.SEQUENCES)
