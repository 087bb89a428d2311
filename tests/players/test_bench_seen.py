"""`osteon bench seen` in a real browser: equal things look equal, and other things do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from osteon.core.animation import BoneTrack
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.synth.cloth import make_cloth
from osteon_bench import seen
from osteon_bench.players.cases import make_cases
from osteon_bench.run import BenchRun
from osteon_bench.seen import look_at, replace_name
from osteon_bench.seen_pictures import flip_score, lacking_tools, open_studio, tight_views
from osteon_bench.seen_sheet import draw_sheet
from osteon_bench.seen_surface import make_surface

from .conftest import need


def still_and_textured() -> SkinnedModel:
    """Two materials, one of them textured, and bones that all turn alike: a player shows the source exactly."""
    model = next(case.model for case in make_cases() if case.name == "two materials")
    turn = np.zeros((model.n_frames, model.n_bones, 3, 4), np.float32)
    angles = np.linspace(0, 1, model.n_frames)
    turn[:, :, 0, 0] = turn[:, :, 2, 2] = np.cos(angles)[:, None]
    turn[:, :, 0, 2], turn[:, :, 2, 0] = np.sin(angles)[:, None], -np.sin(angles)[:, None]
    turn[:, :, 1, 1] = 1
    return model.with_animation(track=BoneTrack(turn, "rigid"))


def test_a_file_that_is_exact_looks_like_its_source(tmp_path):
    from osteon.io import save_model

    need(lacking_tools())
    model = still_and_textured()
    save_model(model, tmp_path / "file.glb")
    source = MeshSequence(pose_frames(model), model.faces, model.rest, model.clips, model.asset)
    surface, frame = make_surface(source, model), model.n_frames - 1
    view = tight_views(source.frame(frame))[0]
    with open_studio() as studio:
        studio.open_file(tmp_path / "file.glb")
        studio.open_surface(surface)
        wanted = studio.surface_picture(*surface.at(source.frame(frame)), view)
        shown = studio.file_picture(0, frame / model.clips[0].fps, view)
        places, normals = surface.at(source.frame(frame))
        dark = studio.surface_picture(places, -normals, view)
    colors = wanted[wanted[..., 3] == 255][:, :3].astype(int)
    assert len(colors) > 50_000  # a tight frame
    assert np.ptp(colors[:, 0] - colors[:, 2]) > 40  # both materials, and vertex colours
    assert flip_score([(wanted, shown)]).mean < 0.005
    assert flip_score([(wanted, dark)]).mean > 0.2


def test_a_small_subject_from_fit_to_sheet(monkeypatch, tmp_path):
    need(lacking_tools())
    monkeypatch.setattr(seen, "FRAMES", 2)
    cloth = make_cloth()
    few = MeshSequence(cloth.frames[::4], cloth.faces, cloth.rest)
    run = BenchRun(tmp_path, 2)
    subject = look_at(run, replace_name(few, "flag"))
    assert set(subject.pictures) == {"source", *subject.scores}
    assert {len(each) for each in subject.pictures.values()} == {4}
    assert subject.nbytes > 1000
    assert 0 < subject.scores["ours"].mean < subject.scores["before"].mean
    assert all(score.mean <= score.p99 for score in subject.scores.values())
    for name, texture in subject.textures.items():
        assert texture.nbytes <= int(name[-1]) * subject.nbytes
    sheet = tmp_path / "sheet.png"
    draw_sheet({"flag": subject, "again": replace(subject, bones=1)}, sheet)
    with Image.open(sheet) as picture:
        assert picture.size[0] > 3 * picture.size[1] / 2
    assert Path(sheet).stat().st_size < 400_000
