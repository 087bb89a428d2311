"""The examples of docs/poses.md are files that load."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from osteon.io.poses import load_poses
from osteon.io.skeletons import load_skeleton

DOCS = Path(__file__).resolve().parents[2] / "docs" / "poses.md"
BLOCK = re.compile(r"^```(\w+) ?(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_examples(tmp_path):
    found = {}
    for suffix, name, text in BLOCK.findall(DOCS.read_text(encoding="utf-8")):
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
