"""Saving and loading is the identity."""

from __future__ import annotations

import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.frames import FrameSource
from osteon.core.mesh import Asset, Material
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import linear_blend_model
from osteon.io import load_model, load_sequence, save_model, save_sequence, write_sequence
from osteon.io.meshes.ply import PlyWriter

FLOATS = st.floats(-(2.0**100), 2.0**100, width=32)
UNIT = st.floats(0, 1, width=32)
NAMES = st.text(max_size=8)
PLAIN_NAMES = st.text("abcXYZ019_.-äß", min_size=1, max_size=6)


def same(one: object, other: object) -> bool:
    """Equality through data classes and arrays, with the same types; where an asset was read from does not count."""
    if is_dataclass(one):
        compared = (f.name for f in fields(one) if f.name != "origin")
        return type(one) is type(other) and all(same(getattr(one, n), getattr(other, n)) for n in compared)
    if isinstance(one, FrameSource):
        return isinstance(other, FrameSource) and same(one.read(0, one.n_frames), other.read(0, other.n_frames))
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return one == other


def floats(*shape: int) -> st.SearchStrategy:
    return arrays.arrays(np.float32, shape, elements=FLOATS)


def indices(count: int, *shape: int) -> st.SearchStrategy:
    return arrays.arrays(np.int32, shape, elements=st.integers(0, count - 1))


@st.composite
def polygon_meshes(draw):
    """Faces (t,3) of random polygons, their numbers, and how many vertices there are."""
    n_vertices = draw(st.integers(5, 9))
    sizes = draw(st.lists(st.integers(3, 5), min_size=1, max_size=4))
    faces, polygon = [], []
    for p, size in enumerate(sizes):
        corners = draw(st.permutations(range(n_vertices)))[:size]
        faces += [[corners[0], corners[i], corners[i + 1]] for i in range(1, size - 1)]
        polygon += [p] * (size - 2)
    numbers = np.array(polygon, np.int32) if max(sizes) > 3 else None
    return np.array(faces, np.int32), numbers, n_vertices


def in_order_of_use(labels: np.ndarray) -> np.ndarray:
    """Labels renumbered by first appearance, the way a text file can tell them."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


@st.composite
def assets(draw, faces, polygon, n_vertices, names=NAMES):
    """Everything an asset can carry; labels and texture coordinates agree within a polygon."""
    n_triangles = len(faces)
    first = np.arange(n_triangles) if polygon is None else np.searchsorted(polygon, polygon)
    materials = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    of_material = in_order_of_use(draw(indices(len(materials), n_triangles))[first])
    of_primitive = in_order_of_use(draw(indices(2, n_triangles))[first])
    uvs = draw(arrays.arrays(np.float32, (n_vertices, 2), elements=UNIT))[faces]
    colors = (draw(arrays.arrays(np.uint8, (n_vertices, 4))) / 255).astype(np.float32)
    return Asset(
        uvs=uvs,
        colors=colors,
        materials=tuple(Material(n, (0.25, 0.5, draw(UNIT), 1.0), draw(UNIT)) for n in materials)[
            : of_material.max() + 1
        ],
        triangle_material=of_material,
        polygon_of_triangle=polygon,
        primitive_of_triangle=of_primitive,
        primitive_names=("left", "right")[: of_primitive.max() + 1],
    )


@st.composite
def sequences(draw, names=NAMES, with_clips=True):
    faces, polygon, n_vertices = draw(polygon_meshes())
    n_frames = draw(st.integers(1, 3))
    frames = draw(floats(n_frames, n_vertices, 3))
    asset = draw(st.one_of(st.just(Asset(polygon_of_triangle=polygon)), assets(faces, polygon, n_vertices, names)))
    rest = draw(floats(n_vertices, 3)) if with_clips else frames[0]
    cut = draw(st.integers(0, n_frames - 1)) if with_clips else 0
    rate = draw(st.floats(1, 240))
    clips = (Clip(draw(NAMES), 0, n_frames, rate),)
    if cut:
        clips = (Clip("a", 0, cut, rate), Clip("b", cut, n_frames, 24.0))
    return MeshSequence(frames, faces, rest, clips, asset, draw(NAMES))


@st.composite
def models(draw):
    base = draw(sequences())
    n_bones, n_slots, rank = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    raw = draw(arrays.arrays(np.float64, (base.n_vertices, n_slots), elements=st.floats(0.0625, 1)))
    names = tuple(draw(st.lists(NAMES, min_size=n_bones, max_size=n_bones)))
    skeleton = Skeleton(("root", draw(NAMES)), np.array([-1, 0]), draw(floats(2, 3, 4)))
    basis, coefficients = draw(floats(rank, base.n_vertices, 3)), draw(floats(base.n_frames, rank))
    return linear_blend_model(
        base.rest,
        base.faces,
        Skin(draw(indices(n_bones, base.n_vertices, n_slots)), raw / raw.sum(axis=1, keepdims=True)),
        BoneTrack(draw(floats(base.n_frames, n_bones, 3, 4)), draw(st.sampled_from(["rigid", "flexible"])), names),
        base.clips,
        corrections=draw(st.sampled_from([None, Corrections(basis, coefficients)])),
        skeleton=draw(st.sampled_from([None, skeleton])),
        asset=base.asset,
        name=draw(NAMES),
    )


@settings(max_examples=40, deadline=None)
@given(models())
def test_models_in_npz(model):
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "m.npz")
        assert same(load_model(Path(folder) / "m.npz"), model)


@settings(max_examples=40, deadline=None)
@given(sequences())
def test_sequences_in_npz(sequence):
    with tempfile.TemporaryDirectory() as folder:
        save_sequence(sequence, Path(folder) / "s.npz")
        assert same(load_sequence(Path(folder) / "s.npz"), sequence)


@settings(max_examples=40, deadline=None)
@given(sequences(PLAIN_NAMES, with_clips=False))
def test_frames_in_obj(sequence):
    with tempfile.TemporaryDirectory() as folder:
        write_sequence(sequence.frames, sequence.faces, Path(folder) / "out", asset=sequence.asset)
        again = load_sequence(Path(folder) / "out")
    assert np.array_equal(again.frames, sequence.frames)
    assert np.array_equal(again.faces, sequence.faces)
    assert same(again.asset, sequence.asset)


@pytest.mark.parametrize("encoding", ["ascii", "binary_little_endian", "binary_big_endian"])
@settings(max_examples=25, deadline=None)
@given(sequence=sequences(with_clips=False))
def test_frames_in_ply(encoding, sequence):
    writer = PlyWriter(sequence.faces, sequence.asset, encoding)
    with tempfile.TemporaryDirectory() as folder:
        for f, frame in enumerate(sequence.frames):
            (Path(folder) / f"{f}.ply").write_bytes(writer.frame(frame))
        again = load_sequence(folder)
    assert np.array_equal(again.frames, sequence.frames)
    assert np.array_equal(again.faces, sequence.faces)
    for field in ("uvs", "colors", "polygon_of_triangle"):
        assert same(getattr(again.asset, field), getattr(sequence.asset, field)), field
