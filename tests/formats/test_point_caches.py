"""Point caches: positions of every frame in one file, with the triangles of another."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, load_sequence, save_played, save_sequence
from tests.scaled_models import scaled_model

FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
REST = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
FRAMES = np.stack([REST, REST + 1, REST * 2, REST - 3])
SUFFIXES = (".mdd", ".pc2", ".npy")


@pytest.fixture
def mesh(tmp_path):
    path = tmp_path / "mesh.obj"
    save_sequence(MeshSequence(REST[None], FACES, REST), path)
    return path


def sequence(fps=24.0, n_frames=4):
    return MeshSequence(FRAMES[:n_frames], FACES, REST, (Clip("wave", 0, n_frames, fps),))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_positions_are_restored_to_the_bit(tmp_path, mesh, suffix):
    path = tmp_path / f"wave{suffix}"
    save_sequence(sequence(), path)
    found = load_sequence(path, options=LoadOptions(faces=mesh))
    assert np.array_equal(found.frames, FRAMES)
    assert np.array_equal(found.faces, FACES)
    assert np.array_equal(found.rest, FRAMES[0])
    assert found.clips == (Clip("wave", 0, 4, 24.0),)


@pytest.mark.parametrize("fps", [1.0, 12.5, 24.0, 30.0, 60.0, 240.0, 24000 / 1001, 30000 / 1001])
def test_the_rate_of_an_mdd_is_that_of_its_times(tmp_path, mesh, fps):
    frames = np.repeat(FRAMES, 500, axis=0)
    save_sequence(MeshSequence(frames, FACES, REST, (Clip("a", 0, len(frames), fps),)), tmp_path / "a.mdd")
    found = load_sequence(tmp_path / "a.mdd", options=LoadOptions(faces=mesh))
    assert found.clips[0].fps == pytest.approx(fps, rel=1e-7)
    assert load_sequence(tmp_path / "a.mdd", options=LoadOptions(faces=mesh, fps=10)).clips[0].fps == 10


def test_headers_are_those_that_other_programs_write(tmp_path):
    save_sequence(sequence(25.0), tmp_path / "a.mdd")
    data = (tmp_path / "a.mdd").read_bytes()
    assert struct.unpack_from(">2i4f3f", data) == pytest.approx((4, 4, 0, 0.04, 0.08, 0.12, 0, 0, 0))
    assert len(data) == 8 + 4 * 4 + FRAMES.nbytes
    save_sequence(sequence(), tmp_path / "a.pc2")
    data = (tmp_path / "a.pc2").read_bytes()
    assert struct.unpack_from("<12siiffi", data) == (b"POINTCACHE2\0", 1, 4, 0.0, 1.0, 4)
    assert len(data) == 32 + FRAMES.nbytes


def test_frames_are_read_when_they_are_needed(tmp_path, mesh):
    save_sequence(sequence(), tmp_path / "a.pc2")
    found = load_sequence(tmp_path / "a.pc2", options=LoadOptions(faces=mesh))
    with (tmp_path / "a.pc2").open("r+b") as file:
        file.truncate(32 + 2 * REST.nbytes)
    assert np.array_equal(found.frame(1), FRAMES[1])
    with pytest.raises(FileFormatError, match="has changed"):
        found.frame(3)


def test_frames_and_steps_are_chosen(tmp_path, mesh):
    save_sequence(sequence(), tmp_path / "a.mdd")
    chosen = load_sequence(tmp_path / "a.mdd", options=LoadOptions(faces=mesh, step=2))
    assert np.array_equal(chosen.frames, FRAMES[::2])
    assert chosen.clips[0].fps == 12
    assert np.array_equal(load_sequence(tmp_path / "a.mdd", options=LoadOptions(faces=mesh, rest=2)).rest, FRAMES[2])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bad_files_are_refused_in_one_line(tmp_path, mesh, suffix, refused):
    path = tmp_path / f"a{suffix}"
    save_sequence(sequence(), path)
    whole = path.read_bytes()
    with refused(FileFormatError, "--faces"):
        load_sequence(path)
    for damaged in (whole[:-1], whole[:9], b"\0" * 40, b"", whole[:4] + b"\xff\xff\xff\xff" + whole[8:]):
        path.write_bytes(damaged)
        with refused(FileFormatError, path.name):
            load_sequence(path, options=LoadOptions(faces=mesh))
    path.write_bytes(whole[:-4] + struct.pack("<f" if suffix != ".mdd" else ">f", np.nan))
    with refused(GeometryError, "NaN"):
        assert load_sequence(path, options=LoadOptions(faces=mesh)).frames is None


@pytest.mark.parametrize("suffix", [".mdd", ".pc2"])
def test_a_mesh_of_another_number_of_vertices_is_refused(tmp_path, suffix, refused):
    more = np.concatenate([REST, REST[:1] + 9])
    save_sequence(MeshSequence(more[None], FACES, more), tmp_path / "more.obj")
    save_sequence(sequence(), tmp_path / f"a{suffix}")
    with refused(GeometryError, "4 vertices", "more.obj has 5"):
        load_sequence(tmp_path / f"a{suffix}", options=LoadOptions(faces=tmp_path / "more.obj"))


def test_uneven_times_need_a_rate(tmp_path, mesh, refused):
    save_sequence(sequence(), tmp_path / "a.mdd")
    data = bytearray((tmp_path / "a.mdd").read_bytes())
    struct.pack_into(">f", data, 8 + 4 * 2, 0.07)
    (tmp_path / "a.mdd").write_bytes(data)
    with refused(FileFormatError, "uneven", "--fps"):
        load_sequence(tmp_path / "a.mdd", options=LoadOptions(faces=mesh))
    assert load_sequence(tmp_path / "a.mdd", options=LoadOptions(faces=mesh, fps=30)).clips[0].fps == 30


def test_one_frame_has_no_rate(tmp_path, mesh):
    save_sequence(sequence(n_frames=1), tmp_path / "a.mdd")
    assert load_sequence(tmp_path / "a.mdd", options=LoadOptions(faces=mesh)).clips[0].fps == 24


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_played_model_is_written_as_it_is_posed(tmp_path, mesh, suffix):
    chain = scaled_model()
    save_sequence(MeshSequence(chain.rest[None], chain.faces, chain.rest), tmp_path / "chain.obj")
    save_played(chain, tmp_path / f"chain{suffix}")
    found = load_sequence(tmp_path / f"chain{suffix}", options=LoadOptions(faces=tmp_path / "chain.obj"))
    assert np.array_equal(found.frames, pose_frames(chain))
