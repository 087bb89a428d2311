"""Alembic out and in: our own files come back whole, and files made with the library itself read as they should."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip, frame_times
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Asset, Image, Material
from osteon.core.sequence import MeshSequence
from osteon.io import LoadOptions, load_sequence, save_sequence
from osteon.io.alembic.read import read_alembic_sequence
from osteon.io.formats.options import ReadRequest
from osteon.io.meshes.mesh import join_polygons, reversed_corners

alembic3d = pytest.importorskip("alembic3d")
imath = pytest.importorskip("imath")
Abc, AbcGeom, Core = alembic3d.Abc, alembic3d.AbcGeom, alembic3d.AbcCoreAbstract

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)


def rich_sequence() -> MeshSequence:
    """A pentagon and a triangle with everything an asset can carry, in two clips of different rates."""
    rng = np.random.default_rng(3)
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [4, 1, 0]], np.int32)
    corner = rng.random((8, 2)).astype(np.float32)
    asset = Asset(
        uvs=corner[[[0, 1, 2], [0, 2, 3], [0, 3, 4], [5, 6, 7]]],
        colors=rng.random((5, 4)),
        materials=(Material("a/b", double_sided=True), Material("a_b", (0.1, 0.2, 0.3, 0.4), 1.0, 0.25)),
        triangle_material=np.array([1, 1, 1, 0], np.int32),
        polygon_of_triangle=np.array([0, 0, 0, 1], np.int32),
        primitive_of_triangle=np.array([0, 0, 0, 1], np.int32),
        primitive_names=("body", "hat"),
    )
    clips = (Clip("walk", 0, 4, 30.0), Clip("run", 4, 7, 25.0))
    return MeshSequence(rng.normal(size=(7, 5, 3)), faces, rng.normal(size=(5, 3)), clips, asset, "a figure")


def assert_same(got: MeshSequence, wanted: MeshSequence) -> None:
    assert (got.clips, got.name) == (wanted.clips, wanted.name)
    for key in ("frames", "faces", "rest"):
        np.testing.assert_array_equal(getattr(got, key), getattr(wanted, key), err_msg=key)
    for key in (field.name for field in fields(Asset) if field.compare):
        np.testing.assert_array_equal(getattr(got.asset, key), getattr(wanted.asset, key), err_msg=key)


class Scene:
    """A file made with the library itself."""

    def __init__(self, path: Path, times: object = (1 / 24, 0.0)) -> None:
        self.path = path
        self.archive = Abc.OArchive(str(path))
        sampling = Core.TimeSampling(*times) if isinstance(times, tuple) else times
        self.clock = self.archive.addTimeSampling(sampling)
        self.top = self.archive.getTop()

    def xform(self, shifts: list[float], parent: object = None) -> object:
        made = AbcGeom.OXform(self.top if parent is None else parent, f"x{len(shifts)}")
        made.getSchema().setTimeSampling(self.clock)
        for shift in shifts:
            matrix, sample = imath.M44d(), AbcGeom.XformSample()
            matrix.setTranslation(imath.V3d(shift, 0, 0))
            sample.setMatrix(matrix)
            made.getSchema().set(sample)
        return made

    def mesh(self, frames: list, polygons: list | None = None, parent: object = None, name: str = "m") -> object:
        """One sample for each of `frames`; `polygons` one for all, or one a frame."""
        made = AbcGeom.OPolyMesh(self.top if parent is None else parent, name)
        schema = made.getSchema()
        schema.setTimeSampling(self.clock)
        for f, points in enumerate(frames):
            shape = (polygons or [[[0, 3, 2, 1]]] * len(frames))[f]
            corners = np.concatenate([np.array(p, np.int32) for p in shape])
            sample = AbcGeom.OPolyMeshSchemaSample(
                imath.V3fArrayFromBuffer(np.ascontiguousarray(points, np.float32)),
                imath.IntArrayFromBuffer(corners),
                imath.IntArrayFromBuffer(np.array([len(p) for p in shape], np.int32)),
            )
            schema.set(sample)
        return made

    def close(self) -> Path:
        self.archive = self.top = None
        return self.path


def test_turning_polygons_is_its_own_inverse() -> None:
    order = reversed_corners(np.array([4, 3]))
    assert order.tolist() == [0, 3, 2, 1, 4, 6, 5]
    assert order[order].tolist() == list(range(7))


def test_a_polygon_has_one_material() -> None:
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4]], np.int32)
    asset = Asset(
        materials=(Material("a"), Material("b")),
        triangle_material=np.array([0, 0, 1], np.int32),
        polygon_of_triangle=np.zeros(3, np.int32),
    )
    sizes, mask = join_polygons(faces, asset)
    assert sizes.tolist() == [4, 3]
    assert faces[mask].tolist() == [0, 1, 2, 3, 0, 3, 4]


def test_clips_follow_each_other_in_time() -> None:
    times = frame_times((Clip("a", 0, 2, 10.0), Clip("b", 2, 4, 20.0)))
    np.testing.assert_allclose(times, [0, 0.1, 0.2, 0.25])


def test_all_of_a_sequence_comes_back(tmp_path: Path) -> None:
    sequence = rich_sequence()
    save_sequence(sequence, tmp_path / "a.abc")
    assert_same(load_sequence(tmp_path / "a.abc"), sequence)


def test_a_bare_sequence_comes_back(tmp_path: Path) -> None:
    sequence = MeshSequence(np.stack([SQUARE, SQUARE + 1]), np.array([[0, 1, 2], [0, 2, 3]]), SQUARE)
    save_sequence(sequence, tmp_path / "a.abc")
    assert_same(load_sequence(tmp_path / "a.abc"), sequence)


def test_images_stay_behind(tmp_path: Path) -> None:
    painted = Material("skin", textures=(("base_color", Image("dots", "image/png", b"\x89PNG")),))
    asset = Asset(materials=(painted,), triangle_material=np.zeros(2, np.int32))
    sequence = MeshSequence(SQUARE[None], np.array([[0, 1, 2], [0, 2, 3]]), SQUARE, asset=asset)
    save_sequence(sequence, tmp_path / "a.abc")
    assert load_sequence(tmp_path / "a.abc").asset.materials == (Material("skin"),)


def test_one_clip_at_another_rate(tmp_path: Path) -> None:
    sequence = rich_sequence()
    save_sequence(sequence, tmp_path / "a.abc")
    got = load_sequence(tmp_path / "a.abc", options=LoadOptions(fps=60, clips=("walk",)))
    assert got.clips == (Clip("walk", 0, 7, 60.0),)
    np.testing.assert_array_equal(got.frames[::2], sequence.frames[:4])
    np.testing.assert_allclose(got.frames[1], (sequence.frames[0] + sequence.frames[1]) / 2, atol=1e-6)


def test_faces_are_wound_clockwise_in_the_file(tmp_path: Path) -> None:
    sequence = MeshSequence(SQUARE[None], np.array([[0, 1, 2]]), SQUARE)
    save_sequence(sequence, tmp_path / "a.abc")
    archive = Abc.IArchive(str(tmp_path / "a.abc"))
    stored = AbcGeom.IPolyMesh(archive.getTop(), "mesh").getSchema().getFaceIndicesProperty().samples[0]
    assert list(stored) == [0, 2, 1]


def test_meshes_below_moving_transforms_are_merged(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "a.abc", (1 / 25, 2.0))
    outer = scene.xform([0.0, 1.0, 2.0])
    inner = scene.xform([10.0], outer)
    scene.mesh([SQUARE], parent=inner, name="left")
    scene.mesh([SQUARE, SQUARE + 1, SQUARE + 2], [[[0, 3, 1], [1, 3, 2]]] * 3, name="right")
    del outer, inner
    got = load_sequence(scene.close())
    assert got.clips == (Clip("a", 0, 3, 25.0),)
    assert sorted(got.asset.primitive_names) == ["left", "right"]
    first = got.asset.primitive_names.index("left") * 4
    for f in range(3):
        np.testing.assert_allclose(got.frames[f, first : first + 4], SQUARE + np.array([10 + f, 0, 0]), atol=1e-6)
        np.testing.assert_allclose(got.frames[f, 4 - first : 8 - first], SQUARE + f, atol=1e-6)
    assert got.n_triangles == 4
    normals = np.cross(*(got.rest[got.faces[:, i]] - got.rest[got.faces[:, 0]] for i in (1, 2)))
    assert (normals[:, 2] > 0).all()


def test_shutter_samples_of_a_cyclic_clock_are_no_frames(tmp_path: Path) -> None:
    moments = Core.TimeVector()
    for time in (0.0, 0.02):
        moments.append(time)
    scene = Scene(tmp_path / "a.abc", Core.TimeSampling(Core.TimeSamplingType(2, 0.1), moments))
    scene.mesh([SQUARE + t for t in (0.0, 0.2, 1.0, 1.2, 2.0, 2.2)])
    got = load_sequence(scene.close())
    assert got.clips[0].fps == pytest.approx(10)
    np.testing.assert_allclose(got.frames[:, 0, 0], [0, 1, 2], atol=1e-5)


def test_uneven_samples_are_taken_at_a_rate_that_meets_them(tmp_path: Path) -> None:
    moments = Core.TimeVector()
    for time in (0.0, 0.04, 0.16):
        moments.append(time)
    kind = Core.TimeSamplingType(Core.AcyclicFlag.kAcyclic)
    scene = Scene(tmp_path / "a.abc", Core.TimeSampling(kind, moments))
    scene.mesh([SQUARE, SQUARE + 1, SQUARE + 4])
    got = load_sequence(scene.close())
    assert got.clips[0].fps == 25.0
    np.testing.assert_allclose(got.frames[:, 0, 0], [0, 1, 2, 3, 4], atol=1e-5)


def test_one_damaged_moment_makes_no_hours(tmp_path: Path, refused) -> None:
    moments = Core.TimeVector()
    for time in (0.0, 0.04, 8000.0):
        moments.append(time)
    kind = Core.TimeSamplingType(Core.AcyclicFlag.kAcyclic)
    scene = Scene(tmp_path / "a.abc", Core.TimeSampling(kind, moments))
    scene.mesh([SQUARE, SQUARE + 1, SQUARE])
    path = scene.close()
    with refused(FileFormatError, "a.abc", "200001 frames", "key times"):
        load_sequence(path)
    assert load_sequence(path, options=LoadOptions(fps=0.1)).n_frames == 801


def test_numbers_beyond_all_bounds_are_refused_without_a_warning(tmp_path: Path, refused) -> None:
    kept = Path(__file__).parents[1] / "fuzz" / "corpus" / "alembic" / "positions-beyond-all-bounds.abc"
    (tmp_path / "a.abc").write_bytes(kept.read_bytes())
    with warnings.catch_warnings(), refused(GeometryError, "a.abc", "NaN or infinite"):
        warnings.simplefilter("error")
        read_alembic_sequence(tmp_path / "a.abc", ReadRequest(LoadOptions()))


def test_face_sets_become_materials(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "a.abc")
    mesh = scene.mesh([SQUARE], [[[0, 2, 1], [0, 3, 2]]])
    faces = AbcGeom.OFaceSetSchemaSample(imath.IntArrayFromBuffer(np.array([1], np.int32)))
    mesh.getSchema().createFaceSet("red").getSchema().set(faces)
    del mesh
    asset = load_sequence(scene.close()).asset
    assert [m.name for m in asset.materials] == ["red", "default"]
    assert asset.triangle_material.tolist() == [1, 0]


def test_changing_faces_are_refused_by_frame(tmp_path: Path, refused) -> None:
    scene = Scene(tmp_path / "a.abc")
    scene.mesh([SQUARE] * 3, [[[0, 2, 1]], [[0, 2, 1]], [[0, 3, 1]]])
    with refused(GeometryError, "a.abc (frame 2)", "connectivity"):
        load_sequence(scene.close())


def test_changing_vertices_are_refused_by_frame(tmp_path: Path, refused) -> None:
    scene = Scene(tmp_path / "a.abc")
    scene.mesh([SQUARE, SQUARE[:3]], [[[0, 2, 1]]] * 2)
    with refused(GeometryError, "a.abc (frame 1)", "3 vertices"):
        load_sequence(scene.close())


def test_a_file_without_meshes_is_refused(tmp_path: Path, refused) -> None:
    scene = Scene(tmp_path / "a.abc")
    scene.xform([1.0])
    with refused(GeometryError, "a.abc", "holds no polygons"):
        load_sequence(scene.close())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "HDF5"),
        (b"solid cube", "not an Alembic file"),
        (b"Ogawa\xff\x00\x01", "not an Alembic file"),
        (b"Ogawa\x00\x00\x01" + bytes(40), "never closed"),
        (b"Ogawa\xff\x00\x01" + bytes(40), "cut off"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, refused, data: bytes, said: str) -> None:
    (tmp_path / "a.abc").write_bytes(data)
    with refused(FileFormatError, "a.abc", said):
        load_sequence(tmp_path / "a.abc")


def test_a_truncated_file_is_refused_at_every_length(tmp_path: Path) -> None:
    """In a process of its own: a crash of the library must not take the tests with it."""
    save_sequence(rich_sequence(), tmp_path / "whole.abc")
    code = f"""
from pathlib import Path
from osteon.core.errors import FileFormatError
from osteon.io import load_sequence
folder = Path({str(tmp_path)!r})
whole = (folder / "whole.abc").read_bytes()
for size in range(0, len(whole), 29):
    (folder / "cut.abc").write_bytes(whole[:size])
    try:
        load_sequence(folder / "cut.abc")
    except FileFormatError as error:
        if "cut.abc" in str(error) and "\\n" not in str(error):
            continue
    raise SystemExit(f"length {{size}} was not refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


def test_the_command_line_says_one_line(tmp_path: Path) -> None:
    save_sequence(rich_sequence(), tmp_path / "whole.abc")
    (tmp_path / "cut.abc").write_bytes((tmp_path / "whole.abc").read_bytes()[:3000])
    command = [sys.executable, "-m", "osteon", "info", str(tmp_path / "cut.abc")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cut.abc" in done.stderr


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch, refused) -> None:
    save_sequence(rich_sequence(), tmp_path / "a.abc")
    monkeypatch.setitem(sys.modules, "alembic3d", None)
    with refused(FileFormatError, "a.abc", "osteon[alembic]"):
        load_sequence(tmp_path / "a.abc")
    with refused(FileFormatError, "b.abc", "osteon[alembic]"):
        save_sequence(rich_sequence(), tmp_path / "b.abc")
    assert [p.name for p in tmp_path.iterdir()] == ["a.abc"]


def test_a_texture_coordinate_that_is_not_there_is_refused(tmp_path: Path, refused) -> None:
    """The library itself would read beyond its array."""
    scene = Scene(tmp_path / "a.abc")
    mesh = AbcGeom.OPolyMesh(scene.top, "m")
    index = imath.UnsignedIntArray(imath.DoubleArrayFromBuffer(np.array([0.0, 1.0, 4e9, 1.0])))
    values = imath.V2fArrayFromBuffer(np.zeros((2, 2), np.float32))
    uvs = AbcGeom.OV2fGeomParamSample(values, index, AbcGeom.GeometryScope.kFacevaryingScope)
    corners, sizes = (imath.IntArrayFromBuffer(np.array(a, np.int32)) for a in ([0, 3, 2, 1], [4]))
    points = imath.V3fArrayFromBuffer(SQUARE.copy())
    mesh.getSchema().set(AbcGeom.OPolyMeshSchemaSample(points, corners, sizes, uvs))
    del mesh
    with refused(FileFormatError, "a.abc", "names value"):
        load_sequence(scene.close())


def test_a_file_that_ends_the_library_is_refused(tmp_path, refused):
    """It passes the check of its outline; the library ends its process."""
    kept = Path(__file__).parents[1] / "fuzz" / "corpus" / "alembic" / "the-library-dies.abc"
    (tmp_path / "a.abc").write_bytes(kept.read_bytes())
    with refused(FileFormatError, "a.abc", "the library failed on it"):
        load_sequence(tmp_path / "a.abc")
