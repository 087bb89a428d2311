"""The readers to fuzz: seeds, mutations, loaders and modules of each."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from osteon_bench.fuzzing import packed_seeds, text_seeds, written_seeds
from osteon_bench.fuzzing.alembic_seeds import alembic_seeds, mutate_ogawa
from osteon_bench.fuzzing.exr_seeds import exr_seeds
from osteon_bench.fuzzing.fbx_seeds import fbx_seeds
from osteon_bench.fuzzing.mutate import Mutation, mutate_bytes, mutate_numbers, mutate_text
from osteon_bench.fuzzing.mutate_files import mutate_glb, mutate_gltf, mutate_npy, mutate_npz, mutate_ply
from osteon_bench.fuzzing.mutate_json import mutate_json

Loader = Callable[[Path], object]
#: Fraction of the inputs whose bytes are mutated in addition, and of inputs of random bytes.
ALSO_BYTES, ONLY_BYTES = 0.08, 0.01


@dataclass(frozen=True, slots=True)
class FuzzReader:
    """A reader of files."""

    name: str
    suffix: str
    loaders: Callable[[], tuple[Loader, ...]]
    seeds: Callable[[], list[bytes]]
    mutations: tuple[Mutation, ...]
    modules: tuple[str, ...]  # modules or packages of osteon.io, or of osteon.apply
    companions: Callable[[], Mapping[str, bytes]] = field(default=dict)  # files in the folder of each input
    package: str = ""  # a package that must be installed


def make_input(reader: FuzzReader, seeds: list[bytes], seed: int, number: int) -> bytes:
    """Input `number` of a run; the first inputs are the unchanged seeds."""
    if number < len(seeds):
        return seeds[number]
    rng = Random(f"{reader.name}/{seed}/{number}")
    if rng.random() < ONLY_BYTES:
        return rng.randbytes(rng.choice((0, 1, 4, 16, 80)))
    data = rng.choice(reader.mutations)(rng, rng.choice(seeds))
    return mutate_bytes(rng, data) if rng.random() < ALSO_BYTES else data


def _frame_loaders() -> tuple[Loader, ...]:
    """Load a file as the first frame, and as a later frame after a valid one."""
    from osteon.io import load_sequence

    return (load_sequence, lambda path: load_sequence([path.with_stem("a-first"), path]))


def _model_loaders() -> tuple[Loader, ...]:
    from osteon.io import holds_model, load_model, load_sequence
    from osteon.lod.model_levels import load_levels

    return (load_sequence, load_model, holds_model, load_levels)


def _scene_loaders() -> tuple[Loader, ...]:
    from osteon.io.skeletons import load_skeleton

    return (*_model_loaders(), load_skeleton, *_pose_loaders()[:1])


def _skeleton_loaders() -> tuple[Loader, ...]:
    from osteon.io.skeletons import load_skeleton

    return (load_skeleton, *_pose_loaders())


def _tree_loaders() -> tuple[Loader, ...]:
    from osteon.io.skeletons.section_tree import load_section_tree

    return (load_section_tree,)


def _trees() -> list[bytes]:
    """A tree of three joints over four vertices, and one with an edit of each kind."""
    from osteon.io.skeletons.section_tree import SectionJoint, SectionTree, section_tree_text

    places = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    joints = tuple(SectionJoint(f"j{j}", j - 1, tuple(places[j].tolist()), (j,)) for j in range(3))
    bones = np.array([[0, 1], [1, 0], [1, 2], [2, 1]])
    weights = np.array([[1.0, 0], [0.5, 0.5], [0.75, 0.25], [1, 0]])
    plain = json.loads(section_tree_text(SectionTree(joints, bones, weights, places)))
    edited = json.loads(json.dumps(plain))
    edited["joints"]["j1"]["sections"] = [1, 2]
    edited["joints"]["j2"] = {"parent": "j0", "position": [1.5, 0, 0], "split_from": "j1"}
    return [json.dumps(plain).encode(), json.dumps(edited).encode()]


def _comparison_loaders() -> tuple[Loader, ...]:
    from osteon.io.comparisons import parse_summary

    return (parse_summary,)


def _pose_loaders() -> tuple[Loader, ...]:
    from osteon.core.sticks import StickSkeleton
    from osteon.io.poses import load_poses

    bones = np.array([[0, 1], [1, 2]], np.int32)
    leg = StickSkeleton(np.array([[0.0, 2, 0], [0, 1, 0], [0, 0, 0]]), bones, ("hip", "knee", "foot"))
    return (lambda path: load_poses([path], leg), lambda path: load_poses([path], None))


def _pose_set_loaders() -> tuple[Loader, ...]:
    from osteon.core.sticks import StickSkeleton
    from osteon.io.poses import load_pose_set
    from osteon.io.poses.pose_list import load_limits

    joints = np.array([[0.0, 2, 0], [0, 1, 0.1], [0, 0, 0]])
    leg = StickSkeleton(joints, np.array([[0, 1], [1, 2]], np.int32), ("hip", "knee", "foot"))
    return (load_pose_set, lambda path: load_limits(path, leg))


def _stroke_loaders() -> tuple[Loader, ...]:
    from osteon.apply.edit.strokes import read_strokes

    return (read_strokes,)


def _map_loaders() -> tuple[Loader, ...]:
    """Read a displacement map, and displace a mesh by it in every way."""
    from osteon.apply.edit.displacement_map import map_displacement, read_map
    from osteon.core.errors import FileFormatError, GeometryError
    from osteon.core.mesh import Asset, Mesh

    rest = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    uvs = np.array([[[0, 0], [1.5, 0], [0, -2]]], np.float32)
    mesh = Mesh(rest, np.array([[0, 1, 2]]), Asset(uvs=uvs))

    def displace(path: Path) -> object:
        values = read_map(path)
        try:
            return [map_displacement(mesh, values, 2.0, kind) for kind in ("height", "tangent", "object")]
        except GeometryError as error:  # the command names the file
            raise FileFormatError(f"{path}: {error}") from error

    return (read_map, displace)


def _maps(form: str) -> Callable[[], list[bytes]]:
    """Pictures of all depths in a format."""

    def made() -> list[bytes]:
        from PIL import Image

        gray = np.array([[0, 128, 7], [255, 64, 9]], np.uint8)
        pictures = [Image.fromarray(gray), Image.fromarray(np.stack([gray] * 3, axis=2))]
        pictures.append(Image.fromarray(gray.astype(np.uint16) * 257))
        if form == "TIFF":
            pictures.append(Image.fromarray(gray.astype(np.float32) / 255))
        if form == "PNG":
            pictures += [Image.fromarray(gray).convert("P"), Image.fromarray(np.stack([gray] * 4, axis=2), "RGBA")]
        found = []
        for picture in pictures if form != "JPEG" else pictures[:2]:
            out = io.BytesIO()
            picture.save(out, form)
            found.append(out.getvalue())
        return found

    return made


def _array_loaders() -> tuple[Loader, ...]:
    """Load the file as frames with valid triangles, and as triangles of valid frames."""
    from osteon.io import LoadOptions, load_sequence

    return (
        lambda path: load_sequence(path, options=LoadOptions(faces=path.with_name("faces.npy"))),
        lambda path: load_sequence(path.with_name("frames.npy"), options=LoadOptions(faces=path)),
    )


def _cache_loaders() -> tuple[Loader, ...]:
    """Load a point cache with the triangles of the seeds, and read its frames."""
    from osteon.io import LoadOptions, load_sequence

    def load(path: Path) -> Any:
        return load_sequence(path, options=LoadOptions(faces=path.with_name("faces.npy"))).frames

    return (load,)


def _caches(suffix: str) -> Callable[[], list[bytes]]:
    return lambda: written_seeds.written_sequence(suffix)


def _library_loaders() -> tuple[Loader, ...]:
    """Load a mesh that references the material library, and the library alone."""
    from osteon.io import load_sequence
    from osteon.io.load.source import Source
    from osteon.io.meshes.mtl import read_materials

    return (
        lambda path: load_sequence(path.with_name("mesh.obj")),
        lambda path: read_materials(Source(path), [path.name], ["red", "blue"]),
    )


def _reusing(loaders: tuple[Loader, ...]) -> tuple[Loader, ...]:
    """The same loaders with reused children: starting one per input takes too long."""
    from osteon_bench.fuzzing.reused_children import reuse_child

    return tuple(reuse_child(loader) for loader in loaders)


def _draco_loaders() -> tuple[Loader, ...]:
    from osteon.io import load_model, load_sequence

    return _reusing((load_sequence, load_model))


def _usd_loaders() -> tuple[Loader, ...]:
    return _reusing(_model_loaders())


def _alembic_loaders() -> tuple[Loader, ...]:
    """The complete reader, and the structure check alone."""
    from osteon.io import load_sequence
    from osteon.io.alembic.ogawa import check_ogawa
    from osteon.io.load.source import Source

    return (*_reusing((load_sequence,)), lambda path: check_ogawa(Source(path)))


def _fbx_loaders() -> tuple[Loader, ...]:
    from osteon.io import load_outline, load_sequence

    return _reusing((load_sequence, lambda path: load_outline([path])))


def _image_loaders() -> tuple[Loader, ...]:
    from osteon.apply.light.environment_image import read_environment_image

    return (read_environment_image,)


def _radiance() -> list[bytes]:
    """A plain image, and one with runs."""
    head = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X %d\n"
    runs = b"\2\2\0\x08" + b"\x88\x40\x84\x20\x84\x30\x08abcdefgh\x88\x80"
    return [head % 3 + bytes(range(100, 124)), head % 8 + 2 * runs]


def _saved(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _arrays() -> dict[str, bytes]:
    return {"frames.npy": _saved(written_seeds.FRAMES), "faces.npy": _saved(written_seeds.FACES)}


def _archives() -> list[bytes]:
    out = io.BytesIO()
    np.savez(out, frames=written_seeds.FRAMES, faces=written_seeds.FACES, fps=30)
    models = (*written_seeds.written_model(".npz"), written_seeds.written_levels(".npz"))
    return [out.getvalue(), *models, *written_seeds.written_sequence(".npz")]


def _glbs() -> list[bytes]:
    from osteon.io.formats.options import SaveOptions

    models = written_seeds.written_model(".glb", (SaveOptions(), SaveOptions(quantize=True)))
    return [*models, written_seeds.written_levels(".glb")]


def _frames(name: str, suffix: str, seeds: Callable[[], list[bytes]], mutation: Mutation, *modules: str) -> FuzzReader:
    def companions() -> dict[str, bytes]:
        return {f"a-first{suffix}": seeds()[0]}

    own = (*modules, "meshes.mesh", "load.sequences")
    return FuzzReader(name, suffix, _frame_loaders, seeds, (mutation,), own, companions)


def _usd(name: str, suffix: str, seeds: Callable[[], list[bytes]], mutation: Mutation) -> FuzzReader:
    own = ("usd.read", "usd.stage", "usd.metadata", "usd.client")
    return FuzzReader(name, suffix, _usd_loaders, seeds, (mutation,), own, package="pxr")


def _texts(values: list[Any]) -> Callable[[], list[bytes]]:
    return lambda: [json.dumps(value).encode() for value in values]


_GLTF = ("gltf.read", "gltf.channels", "skeletons.rig", "skeletons.files", "poses.load")
_ARCHIVES = ("archives", "metadata.asset", "metadata.families")
_JSON = ("skeletons.parsing", "skeletons.text")
_READERS = (
    FuzzReader("npz", ".npz", _model_loaders, _archives, (mutate_npz,), _ARCHIVES),
    FuzzReader(
        *("npy", ".npy", _array_loaders, lambda: list(_arrays().values()), (mutate_npy,)),
        *(("archives.archive", "archives.sequences"), _arrays),
    ),
    *(
        FuzzReader(
            *(name, f".{name}", _cache_loaders, _caches(f".{name}"), (mutate_numbers,)),
            *((f"caches.{name}", "caches.point_cache"), _arrays),
        )
        for name in ("mdd", "pc2")
    ),
    FuzzReader("glb", ".glb", _scene_loaders, _glbs, (mutate_glb,), (*_GLTF, "metadata.asset")),
    FuzzReader(
        *("gltf", ".gltf", _scene_loaders, lambda: [*text_seeds.GLTF, *packed_seeds.MESHOPT], (mutate_gltf,), _GLTF),
    ),
    FuzzReader(
        *("draco", ".gltf", _draco_loaders, lambda: list(packed_seeds.DRACO), (mutate_gltf,)),
        ("gltf.read.draco", "gltf.read.draco_child", "gltf.read.primitives"),
        package="DracoPy",
    ),
    _frames("obj", ".obj", lambda: list(text_seeds.OBJ), mutate_text, "meshes.obj", "meshes.text"),
    FuzzReader(
        *("mtl", ".mtl", _library_loaders, lambda: list(text_seeds.MTL), (mutate_text,), ("meshes.mtl",)),
        lambda: {"mesh.obj": text_seeds.OBJ[0], "picture.png": b"\x89PNG\r\n\x1a\n"},
    ),
    _frames(
        *("ply", ".ply", lambda: [*text_seeds.PLY, *written_seeds.ply_seeds()], mutate_ply),
        *("meshes.ply", "meshes.text"),
    ),
    _frames("off", ".off", lambda: list(text_seeds.OFF), mutate_text, "meshes.off", "meshes.text"),
    _frames("medit", ".mesh", lambda: list(text_seeds.TETRAHEDRON), mutate_text, "meshes.medit", "meshes.text"),
    FuzzReader(
        *("tgf", ".tgf", _skeleton_loaders, lambda: list(text_seeds.TGF), (mutate_text,)),
        ("skeletons.text", "skeletons.parsing", "poses.load"),
    ),
    FuzzReader(
        *("skel", ".skel", _skeleton_loaders, lambda: list(text_seeds.SKEL), (mutate_text,)),
        ("skeletons.text", "skeletons.parsing", "poses.load"),
    ),
    FuzzReader(
        *("skeleton", ".json", _skeleton_loaders, _texts(text_seeds.SKELETON), (mutate_json,)),
        ("skeletons.skeleton_json", *_JSON),
    ),
    FuzzReader(
        *("pose", ".json", _pose_loaders, _texts(text_seeds.POSES), (mutate_json,)),
        ("poses.pose_json", "poses.bone_pose", "poses.load", *_JSON),
    ),
    FuzzReader(
        *("tree", ".json", _tree_loaders, _trees, (mutate_json,)),
        ("skeletons.section_tree", *_JSON),
    ),
    FuzzReader(
        *("comparison", ".json", _comparison_loaders, _texts(text_seeds.COMPARISONS), (mutate_json,)),
        ("comparisons",),
    ),
    FuzzReader(
        *("poseset", ".json", _pose_set_loaders, _texts(text_seeds.POSE_SETS), (mutate_json,)),
        ("poses.pose_set", "poses.pose_list", *_JSON),
        lambda: {f"{name}.obj": text_seeds.OBJ[1] for name in ("rest", "bent")},
    ),
    FuzzReader(
        *("strokes", ".json", _stroke_loaders, _texts(text_seeds.STROKES), (mutate_json,)),
        ("apply.edit.strokes",),
    ),
    *(
        FuzzReader(
            *(f"map-{suffix[1:]}", suffix, _map_loaders, _maps(form), (mutate_bytes, mutate_numbers)),
            ("apply.edit.displacement_map",),
        )
        for suffix, form in ((".png", "PNG"), (".tif", "TIFF"), (".jpg", "JPEG"))
    ),
    FuzzReader(
        *("alembic", ".abc", _alembic_loaders, alembic_seeds, (mutate_ogawa, mutate_ogawa, mutate_numbers)),
        ("alembic.ogawa", "alembic.read", "alembic.meshes"),
        package="alembic3d",
    ),
    _usd("usd", ".usda", lambda: [*text_seeds.USDA, *written_seeds.written_model(".usda")], mutate_text),
    _usd("usdc", ".usdc", lambda: written_seeds.written_model(".usdc"), mutate_numbers),
    FuzzReader("exr", ".exr", _image_loaders, exr_seeds, (mutate_numbers, mutate_bytes), ("images.exr", "images.piz")),
    FuzzReader("hdr", ".hdr", _image_loaders, _radiance, (mutate_text, mutate_bytes), ("images.radiance",)),
    FuzzReader(
        "fbx",
        ".fbx",
        _fbx_loaders,
        fbx_seeds,
        (mutate_text, mutate_numbers),
        ("fbx.read", "fbx.child"),
        package="ufbx",
    ),
)
READERS: dict[str, FuzzReader] = {reader.name: reader for reader in _READERS}


def is_installed(reader: FuzzReader) -> bool:
    """Whether the package that the reader needs is installed."""
    return not reader.package or find_spec(reader.package) is not None
