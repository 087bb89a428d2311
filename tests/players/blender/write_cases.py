"""Writes the file of every case into a folder, and beside it the vertices that `osteon play` shows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from osteon.deform.pose import pose_frames
from osteon.io import load_model
from osteon.io.engines import ENGINES
from osteon_bench.players.cases import Case, make_cases
from osteon_bench.players.deviation import TOLERANCE, sampled_frames


def write_case(case: Case, folder: Path) -> None:
    """NAME.glb, and NAME.npz with the vertices of some frames."""
    path = case.save(folder)
    model = load_model(path)
    frames = [sampled_frames(clip) for clip in model.clips]
    places = [pose_frames(model, clip.start, clip.stop)[f] for clip, f in zip(model.clips, frames, strict=True)]
    np.savez(
        path.with_suffix(".npz"),
        case=case.name,
        clips=np.array([clip.name for clip in model.clips]),
        rates=np.array([clip.fps for clip in model.clips]),
        counts=np.array([len(f) for f in frames]),
        frames=np.concatenate(frames),
        vertices=np.concatenate(places),
        faces=model.faces,
        diagonal=np.linalg.norm(np.ptp(model.rest, axis=0)),
        tolerance=TOLERANCE,
    )


if __name__ == "__main__":
    for each in make_cases():
        if each.options.compress and not ENGINES["blender"].meshopt:
            continue
        write_case(each, Path(sys.argv[1]))
