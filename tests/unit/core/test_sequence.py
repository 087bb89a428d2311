from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset, Material
from osteon.core.sequence import MeshSequence, join_clips

FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)


def sequence(n_frames: int = 4, name: str = "walk", clips: tuple[Clip, ...] = (), **changed: object) -> MeshSequence:
    """A square whose frame f is lifted by f."""
    frames = SQUARE + np.arange(n_frames, dtype=np.float32)[:, None, None] * np.array([0, 0, 1], np.float32)
    return replace(MeshSequence(frames, FACES, SQUARE, clips, name=name), **changed)


def test_counts_and_defaults():
    one = sequence(3)
    assert (one.n_frames, one.n_vertices, one.n_triangles) == (3, 4, 2)
    assert one.clips == (Clip("clip", 0, 3),)
    assert one.diagonal == pytest.approx(np.sqrt(2))
    with pytest.raises(FrozenInstanceError):
        one.name = "other"
    with pytest.raises(ValueError, match="read-only"):
        one.frames[0, 0, 0] = 1


@pytest.mark.parametrize(("start", "stop", "fps"), [(2, 2, 24), (-1, 2, 24), (3, 1, 24), (0, 1, 0), (0, 1, np.nan)])
def test_clips_that_make_no_sense(start, stop, fps, refused):
    with refused(GeometryError, "'run'"):
        Clip("run", start, stop, fps)


@pytest.mark.parametrize(
    "clips",
    [
        (Clip("a", 0, 3),),
        (Clip("a", 1, 4),),
        (Clip("a", 0, 5),),
        (Clip("a", 0, 2), Clip("b", 3, 4)),
        (Clip("a", 0, 3), Clip("b", 2, 4)),
        (Clip("b", 2, 4), Clip("a", 0, 2)),
    ],
)
def test_clips_must_cover_all_frames_in_order(clips, refused):
    with refused(GeometryError, "clips", "4 frames"):
        sequence(4, clips=clips)


def test_clip_of_frame():
    both = sequence(4, clips=(Clip("a", 0, 1), Clip("b", 1, 4)))
    assert [both.clip_of_frame(f).name for f in range(4)] == ["a", "b", "b", "b"]


def test_arrays_must_agree(refused):
    with refused(GeometryError, "rest"):
        sequence(rest=SQUARE[:3])
    with refused(GeometryError, "faces", "0 … 3"):
        sequence(faces=np.array([[0, 1, 4]]))
    with refused(GeometryError, "empty"):
        sequence(0)
    with refused(GeometryError, "colors"):
        sequence(asset=Asset(colors=np.ones((3, 4))))
    with refused(GeometryError, "triangle_material"):
        sequence(asset=Asset(materials=(Material("m"),), triangle_material=np.array([0, 1])))


def test_take_frames_keeps_mesh_rest_and_rate():
    taken = sequence(5, clips=(Clip("a", 0, 5, 60.0),)).take_frames(np.array([3, 1]))
    assert taken.frames[:, 0, 2].tolist() == [3, 1]
    assert taken.clips == (Clip("taken", 0, 2, 60.0),)
    assert np.array_equal(taken.rest, SQUARE)
    assert np.array_equal(taken.faces, FACES)


def test_join_clips_follows_the_order_given():
    walk, run = sequence(2, "walk", (Clip("x", 0, 2, 30.0),)), sequence(3, "run", (Clip("y", 0, 3, 60.0),))
    both = join_clips([walk, run])
    assert both.clips == (Clip("walk", 0, 2, 30.0), Clip("run", 2, 5, 60.0))
    assert both.frames[:, 0, 2].tolist() == [0, 1, 0, 1, 2]
    assert both.name == "walk"


def test_join_clips_keeps_rest_and_asset_of_the_first():
    lifted = sequence(2, "second", rest=SQUARE + 1)
    colored = sequence(2, "first", asset=Asset(colors=np.ones((4, 4))))
    both = join_clips([colored, lifted])
    assert np.array_equal(both.rest, SQUARE)
    assert both.asset.colors is not None


def test_join_clips_makes_names_unique():
    many = sequence(3, "walk", (Clip("walk", 0, 1), Clip("run", 1, 3)))
    joined = join_clips([sequence(1, "walk"), sequence(1, "walk"), many, sequence(1, "run")])
    names = [c.name for c in joined.clips]
    assert len(set(names)) == 5
    assert names[0] == "walk"
    assert all(n.rstrip("_") in ("walk", "run") for n in names)


def test_join_of_one_copies_no_frames():
    one = sequence(3)
    assert np.shares_memory(join_clips([one]).frames, one.frames)


def test_join_clips_refuses_different_meshes(refused):
    with refused(GeometryError, "'other'", "5 vertices", "'walk'", "4"):
        more = np.concatenate([SQUARE, SQUARE[:1]])
        join_clips([sequence(), MeshSequence(more[None], FACES, more, name="other")])
    with refused(GeometryError, "'other'", "'walk'", "differently"):
        join_clips([sequence(), sequence(name="other", faces=FACES[::-1])])


def test_join_of_nothing(refused):
    with refused(GeometryError):
        join_clips([])
