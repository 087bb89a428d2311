"""The examples of docs/poses.md are files that load, and lines that run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

import osteon
from osteon.io import save_model
from osteon.io.poses import load_poses
from osteon.io.skeletons import load_skeleton
from tests.posable import posable_model

DOCS = Path(__file__).resolve().parents[2] / "docs" / "poses.md"
BLOCK = re.compile(r"^```(\w+) ?(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_examples(tmp_path):
    found = {}
    for suffix, name, text in BLOCK.findall(DOCS.read_text(encoding="utf-8")):
        if suffix == "python":
            continue
        found[name or suffix] = path = tmp_path / f"{name or suffix}.{suffix}"
        path.write_text(text, encoding="utf-8")
    assert set(found) == {"tgf", "skel", "skeleton", "pose", "turned", "lines"}
    leg, *others = (load_skeleton(found[key]) for key in ("skeleton", "skel", "tgf"))
    for other in others:
        assert other.names == leg.names
        assert np.array_equal(other.joints, leg.joints)
        assert np.array_equal(other.bones, leg.bones)
    track = load_poses([found["pose"], found["skel"]], leg)
    assert [clip.name for clip in track.clips] == ["kick", "skel"]
    assert track.n_frames == 4
    turned = load_poses([found["turned"]], leg)
    assert np.allclose(turned.joints, leg.joints)
    assert np.allclose(turned.twist[0, 0], [0, np.pi / 3])
    lines = load_poses([found["lines"]], None).lines
    assert lines.lines[0].domain.tube == 0.5
    assert np.allclose(lines.twist[0, 0], [0, np.pi / 2])


def test_the_lines_of_python_pose_a_model(tmp_path, monkeypatch):
    (text,) = (text for suffix, _, text in BLOCK.findall(DOCS.read_text(encoding="utf-8")) if suffix == "python")
    monkeypatch.chdir(tmp_path)
    model = posable_model()
    save_model(model, "body.glb")
    Path("wave.json").write_text(json.dumps({"rotate": {"arm": {"axis": [0, 0, 1], "degrees": 30}}}))
    known = {"osteon": osteon}
    exec(text, known)
    assert known["posed"].shape == (1, model.n_vertices, 3)
    assert np.abs(known["posed"] - model.rest).max() > 0.1
    np.testing.assert_allclose(known["transforms"], model.track.transforms, atol=1e-5)
