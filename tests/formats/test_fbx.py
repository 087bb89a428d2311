"""FBX in, against poses worked out by hand. The files are ASCII FBX 7.4, written here line by line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.io import LoadOptions, load_outline, load_sequence
from osteon.io.fbx import read
from osteon.io.native.client import NativeChild

pytest.importorskip("ufbx")

SECOND = 46186158000  # ticks
# A bar along x of two quads and a triangle on one end: vertices 0-5 in a 3 x 2 grid, 6 the tip.
BAR = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0], [3, 0.5, 0]], float)
POLYGONS = [[0, 1, 4, 3], [1, 2, 5, 4], [2, 6, 5]]
WEIGHTS = {0: {0: 1.0, 3: 1.0, 1: 0.5, 4: 0.5}, 1: {1: 0.5, 4: 0.5, 2: 1.0, 5: 1.0, 6: 1.0}}


@dataclass
class Bar:
    """What the file should hold."""

    mesh: bool = True
    skinned: bool = True
    length: float = 1.0  # of the bone between both joints
    animated: bool = True
    shape: bool = False  # a blend shape that lifts vertex 6 by z, animated from 0 to 100 %
    up: int = 1  # axis: 1 y, 2 z
    stacks: tuple[str, ...] = ("Take 001",)
    seconds: int = 1  # that each stack lasts
    copies: int = 0  # further meshes that stand still, one node each


def numbers(key: str, values: object) -> str:
    flat = np.asarray(values).reshape(-1)
    return f"{key}: *{len(flat)} {{\n a: {','.join(repr(v.item()) for v in flat)}\n}}"


def matrix(x: float) -> np.ndarray:
    """A shift along x, by columns."""
    out = np.eye(4)
    out[3, 0] = x
    return out


def prop(name: str, kind: str, *values: object) -> str:
    return f'P: "{name}", "{kind}", "", "A", {", ".join(str(v) for v in values)}'


def write_bar(path: Path, bar: Bar | None = None) -> Path:
    bar = bar or Bar()
    objects, links = [], []

    def add(number: int, head: str, body: str, *to: object) -> None:
        kind, name, sort = head.split("|")
        objects.append(f'{kind}: {number}, "{name}", "{sort}" {{\n{body}\n}}')
        links.extend(f'C: "OO",{number},{t}' if isinstance(t, int) else f'C: "OP",{number},{t}' for t in to)

    corners = [v if i < len(p) - 1 else -v - 1 for p in POLYGONS for i, v in enumerate(p)]
    uvs = [[0.25, 0.5], [0.75, 0.5], [0.5, 1.0]]
    mesh = "\n".join(
        [
            numbers("Vertices", BAR),
            numbers("PolygonVertexIndex", corners),
            'LayerElementUV: 0 {\nMappingInformationType: "ByPolygonVertex"\nReferenceInformationType: "IndexToDirect"',
            numbers("UV", uvs),
            numbers("UVIndex", [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]),
            "}",
            'LayerElementMaterial: 0 {\nMappingInformationType: "ByPolygon"\nReferenceInformationType: "IndexToDirect"',
            numbers("Materials", [0, 0, 1]),
            "}",
            'Layer: 0 {\nLayerElement: {\nType: "LayerElementUV"\nTypedIndex: 0\n}\n'
            'LayerElement: {\nType: "LayerElementMaterial"\nTypedIndex: 0\n}\n}',
        ]
    )
    if bar.mesh:
        add(10, "Geometry|Geometry::bar|Mesh", mesh, 20)
        add(20, "Model|Model::bar|Mesh", "Version: 232", 0)
    for i in range(bar.copies):
        plain = "\n".join([numbers("Vertices", BAR), numbers("PolygonVertexIndex", corners)])
        add(1000 + i, f"Geometry|Geometry::copy{i}|Mesh", plain, 2000 + i)
        add(2000 + i, f"Model|Model::copy{i}|Mesh", "Version: 232", 0)
    for i, color in enumerate(("1,0,0", "0,1,0") if bar.mesh else ()):
        body = f"Properties70: {{\n{prop('DiffuseColor', 'Color', color)}\n}}"
        add(30 + i, f"Material|Material::paint{i}|", body, 20)
    for bone in range(2):
        place = f"Properties70: {{\n{prop('Lcl Translation', 'Lcl Translation', bar.length * bone, 0.0, 0.0)}\n}}"
        add(40 + bone, f"Model|Model::bone{bone}|LimbNode", place, 0 if bone == 0 else 40)
    if bar.skinned and bar.mesh:
        add(50, "Deformer|Deformer::skin|Skin", "Version: 101", 10)
        for bone in range(2):
            parts = [
                numbers("Indexes", list(WEIGHTS[bone])),
                numbers("Weights", list(WEIGHTS[bone].values())),
                numbers("Transform", matrix(-bone)),
                numbers("TransformLink", matrix(bone)),
            ]
            add(60 + bone, f"Deformer|SubDeformer::c{bone}|Cluster", "\n".join(parts), 50)
            links.append(f'C: "OO",{40 + bone},{60 + bone}')
    if bar.shape:
        add(70, "Deformer|Deformer::shapes|BlendShape", "Version: 100", 10)
        add(
            71,
            "Deformer|SubDeformer::lift|BlendShapeChannel",
            "DeformPercent: 0\n" + numbers("FullWeights", [100.0]),
            70,
        )
        shape = "\n".join([numbers("Indexes", [6]), numbers("Vertices", [0.0, 0.0, 1.0])])
        add(72, "Geometry|Geometry::lift|Shape", shape, 71)
    for i, name in enumerate(bar.stacks if bar.animated else ()):
        base = 100 + 20 * i
        stop = "\n".join(
            f'P: "{p}", "KTime", "Time", "", {t}' for p, t in (("LocalStart", 0), ("LocalStop", bar.seconds * SECOND))
        )
        add(base, f"AnimationStack|AnimStack::{name}|", f"Properties70: {{\n{stop}\n}}")
        add(base + 1, "AnimationLayer|AnimLayer::base|", "", base)
        if bar.shape:
            add(base + 2, "AnimationCurveNode|AnimCurveNode::DeformPercent|", "", base + 1, '71, "DeformPercent"')
            add(base + 3, "AnimationCurve|AnimCurve::|", curve(0.0, 100.0), f'{base + 2}, "d|DeformPercent"')
        else:
            add(base + 2, "AnimationCurveNode|AnimCurveNode::R|", "", base + 1, '41, "Lcl Rotation"')
            add(base + 3, "AnimationCurve|AnimCurve::|", curve(0.0, 90.0 * (i + 1)), f'{base + 2}, "d|Z"')
    settings = [
        *(f'P: "{k}", "int", "Integer", "", {v}' for k, v in axes(bar.up).items()),
        'P: "UnitScaleFactor", "double", "Number", "", 1',
        'P: "TimeMode", "enum", "", "", 11',
    ]
    text = "\n".join(
        [
            "; FBX 7.4.0 project file",
            "FBXHeaderExtension: {\nFBXHeaderVersion: 1003\nFBXVersion: 7400\n}",
            "GlobalSettings: {\nVersion: 1000\nProperties70: {\n" + "\n".join(settings) + "\n}\n}",
            "Objects: {\n" + "\n".join(objects) + "\n}",
            "Connections: {\n" + "\n".join(links) + "\n}\n",
        ]
    )
    path.write_text(text)
    return path


def axes(up: int) -> dict[str, int]:
    front, sign = (2, 1) if up == 1 else (1, -1)
    return {
        "UpAxis": up,
        "UpAxisSign": 1,
        "FrontAxis": front,
        "FrontAxisSign": sign,
        "CoordAxis": 0,
        "CoordAxisSign": 1,
    }


def curve(start: float, stop: float) -> str:
    """Two keys with a straight line between."""
    return "\n".join(
        [
            "Default: 0",
            "KeyVer: 4008",
            numbers("KeyTime", [0, SECOND]),
            numbers("KeyValueFloat", [start, stop]),
            numbers("KeyAttrFlags", [4]),
            numbers("KeyAttrDataFloat", [0, 0, 0, 0]),
            numbers("KeyAttrRefCount", [2]),
        ]
    )


def posed(degrees: float) -> np.ndarray:
    """Bone 1 turns about z at (1, 0, 0)."""
    turn = np.radians(degrees)
    rotation = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    moved = (BAR - [1, 0, 0]) @ rotation.T + [1, 0, 0]
    weight = np.array([WEIGHTS[1].get(v, 0.0) for v in range(len(BAR))])[:, None]
    return (1 - weight) * BAR + weight * moved


def test_a_skinned_bar_bends(tmp_path: Path) -> None:
    sequence = load_sequence(write_bar(tmp_path / "bar.fbx"))
    assert [(c.name, c.n_frames, c.fps) for c in sequence.clips] == [("Take 001", 25, 24.0)]
    np.testing.assert_allclose(sequence.rest, BAR, atol=1e-6)
    for frame in (0, 6, 12, 24):
        np.testing.assert_allclose(sequence.frames[frame], posed(90 * frame / 24), atol=1e-5)


def test_what_the_bar_carries(tmp_path: Path) -> None:
    sequence = load_sequence(write_bar(tmp_path / "bar.fbx"))
    asset = sequence.asset
    assert sequence.faces.tolist() == [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [2, 6, 5]]
    assert asset.polygon_of_triangle.tolist() == [0, 0, 1, 1, 2]
    assert [m.name for m in asset.materials] == ["paint0", "paint1"]
    assert asset.materials[1].base_color == pytest.approx((0, 1, 0, 1))
    assert asset.triangle_material.tolist() == [0, 0, 0, 0, 1]
    np.testing.assert_allclose(asset.uvs[0], [[0.25, 0.5], [0.75, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(asset.uvs[2], [[0.75, 0.5], [0.5, 1.0], [0.25, 0.5]])


def test_another_rate_samples_the_same_second(tmp_path: Path) -> None:
    sequence = load_sequence(write_bar(tmp_path / "bar.fbx"), options=LoadOptions(fps=8))
    assert (sequence.n_frames, sequence.clips[0].fps) == (9, 8.0)
    np.testing.assert_allclose(sequence.frames[4], posed(45), atol=1e-5)


def test_every_stack_is_a_clip(tmp_path: Path) -> None:
    path = write_bar(tmp_path / "bar.fbx", Bar(stacks=("slow", "fast")))
    sequence = load_sequence(path)
    assert [c.name for c in sequence.clips] == ["slow", "fast"]
    np.testing.assert_allclose(sequence.frames[sequence.clips[1].start + 12], posed(90), atol=1e-5)
    only = load_sequence(path, options=LoadOptions(clips=("fast",)))
    np.testing.assert_array_equal(only.frames, sequence.frames[25:])
    with pytest.raises(OptionError, match="no clip 'none'"):
        load_sequence(path, options=LoadOptions(clips=("none",)))


def test_blend_shapes_move(tmp_path: Path) -> None:
    sequence = load_sequence(write_bar(tmp_path / "bar.fbx", Bar(shape=True)))
    assert sequence.frames[:, 6, 2].tolist() == pytest.approx((np.arange(25) / 24).tolist(), abs=1e-5)
    np.testing.assert_allclose(sequence.frames[:, :6], np.broadcast_to(BAR[:6], (25, 6, 3)), atol=1e-6)


@pytest.mark.parametrize("skinned", [True, False])
def test_z_up_becomes_y_up_in_the_numbers_of_the_file(tmp_path: Path, skinned: bool) -> None:
    sequence = load_sequence(write_bar(tmp_path / "bar.fbx", Bar(skinned=skinned, up=2)))
    turned = np.stack([BAR[:, 0], BAR[:, 2], -BAR[:, 1]], axis=1)
    np.testing.assert_allclose(sequence.frames[0], turned, atol=1e-6)
    np.testing.assert_allclose(sequence.rest, turned, atol=1e-6)


def test_a_still_mesh_is_one_frame(tmp_path: Path) -> None:
    sequence = load_sequence(write_bar(tmp_path / "bar.fbx", Bar(skinned=False, animated=False)))
    assert (sequence.n_frames, sequence.clips[0].name) == (1, "still")
    np.testing.assert_allclose(sequence.frames[0], BAR, atol=1e-6)


def test_a_truncated_file_is_refused(tmp_path: Path, refused) -> None:
    whole = write_bar(tmp_path / "bar.fbx").read_bytes()
    for part in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9):
        (tmp_path / "cut.fbx").write_bytes(whole[: int(part * len(whole))])
        with pytest.raises((FileFormatError, GeometryError), match=r"cut\.fbx") as caught:
            load_sequence(tmp_path / "cut.fbx")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"hello world, this is no FBX file at all\n", b"Kaydara FBX Binary  \x00\x1a\x00\xe8\x1c\0\0"]
)
def test_foreign_files_are_refused(tmp_path: Path, refused, data: bytes) -> None:
    (tmp_path / "a.fbx").write_bytes(data)
    with refused(FileFormatError, "a.fbx"):
        load_sequence(tmp_path / "a.fbx")


def test_a_scene_without_meshes_is_refused(tmp_path: Path, refused) -> None:
    (tmp_path / "a.fbx").write_text("; FBX 7.4.0 project file\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\n")
    with refused(GeometryError, "a.fbx", "holds no polygons"):
        load_sequence(tmp_path / "a.fbx")


def test_a_scene_of_many_meshes_is_posed_frame_by_frame(tmp_path: Path) -> None:
    """Each frame is a scene of its own that is freed, and the library counts too few references to its meshes."""
    sequence = load_sequence(write_bar(tmp_path / "bar.fbx", Bar(copies=60, seconds=4)))
    assert (sequence.n_frames, sequence.n_vertices) == (97, 61 * len(BAR))
    np.testing.assert_allclose(sequence.frames[12, : len(BAR)], posed(45), atol=1e-5)
    np.testing.assert_allclose(sequence.frames[96, len(BAR) :], np.tile(BAR, (60, 1)), atol=1e-6)


def test_polygons_of_two_corners_are_no_triangles_for_info_and_skin(tmp_path: Path, refused) -> None:
    path = write_bar(tmp_path / "bar.fbx", Bar(skinned=False, animated=False))
    lines = path.read_text().replace("PolygonVertexIndex: *11", "PolygonVertexIndex: *4")
    path.write_text(lines.replace("a: 0,1,4,-4,1,2,5,-5,2,6,-6", "a: 0,-2,2,-4"))
    for look in (load_sequence, lambda path: load_outline([path])):
        with refused(GeometryError, "bar.fbx", "holds no triangles"):
            look(path)


def test_info_poses_nothing(tmp_path: Path) -> None:
    """Ten hours at 24 frames a second: to pose them takes minutes."""
    path = write_bar(tmp_path / "bar.fbx", Bar(seconds=36_000))
    started = time.monotonic()
    command = [sys.executable, "-m", "osteon", "info", str(path), "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert time.monotonic() - started < 20  # less than one, on a machine that does nothing else
    facts = json.loads(done.stdout)
    assert (facts["kind"], facts["frames"], facts["vertices"], facts["triangles"]) == ("sequence", 864_001, 7, 5)
    assert facts["clips"] == [{"name": "Take 001", "frames": 864_001, "fps": 24.0}]
    assert facts["materials"] == ["paint0", "paint1"]
    assert facts["travel"] is None


def test_one_damaged_moment_makes_no_hours(tmp_path: Path, refused, quick_children) -> None:
    """Its outline is told, see above; to pose so many frames takes a rate that is named."""
    path = write_bar(tmp_path / "bar.fbx", Bar(seconds=36_000))
    with refused(FileFormatError, "bar.fbx", "864001 frames", "key times"):
        load_sequence(path)
    assert load_sequence(path, options=LoadOptions(fps=0.01)).n_frames == 361


def test_an_outline_says_what_reading_says(tmp_path: Path, quick_children) -> None:
    path = write_bar(tmp_path / "bar.fbx", Bar(stacks=("slow", "fast")))
    options = LoadOptions(fps=8, clips=("fast",))
    outline, sequence = load_outline([path], options=options), load_sequence(path, options=options)
    assert outline.clips == sequence.clips
    np.testing.assert_array_equal(outline.mesh.rest, sequence.rest)
    np.testing.assert_array_equal(outline.mesh.faces, sequence.faces)
    assert outline.mesh.asset.materials == sequence.asset.materials
    assert load_outline([path], options=LoadOptions(rest=0)) is None
    assert load_outline([path, path]) is None


def test_several_children_pose_the_same_frames(tmp_path: Path, monkeypatch, quick_children) -> None:
    path = write_bar(tmp_path / "bar.fbx", Bar(stacks=("slow", "fast")))
    alone = load_sequence(path)
    seen: list[float] = []
    monkeypatch.setattr(read, "n_helpers", lambda left, opening, n_cores: 2)
    together = load_sequence(path, progress=lambda event: seen.append(event.fraction))
    np.testing.assert_array_equal(alone.frames, together.frames)
    assert alone.clips == together.clips
    assert seen == sorted(seen)


def test_a_helper_that_fails_ends_all(tmp_path: Path, monkeypatch, refused, quick_children) -> None:
    path = write_bar(tmp_path / "bar.fbx")
    monkeypatch.setattr(read, "n_helpers", lambda left, opening, n_cores: 2)
    made: list[NativeChild] = []

    class Watched(NativeChild):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            made.append(self)

        def send(self, request) -> None:
            super().send(request)
            if self is made[-1] and len(made) == 3:
                self._process.kill()

    monkeypatch.setattr(read, "NativeChild", Watched)
    with refused(FileFormatError, "bar.fbx"):
        load_sequence(path)
    assert len(made) == 3
    assert not any(child.is_alive for child in made)


def test_ctrl_c_while_several_pose_leaves_none(tmp_path: Path, monkeypatch, quick_children) -> None:
    path = write_bar(tmp_path / "bar.fbx", Bar(seconds=600))
    monkeypatch.setattr(read, "n_helpers", lambda left, opening, n_cores: 1)
    made: list[NativeChild] = []
    whole = read.NativeChild

    def watched(*arguments) -> NativeChild:
        made.append(whole(*arguments))
        return made[-1]

    def stop(event) -> None:
        if len(made) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(read, "NativeChild", watched)
    with pytest.raises(KeyboardInterrupt):
        load_sequence(path, progress=stop)
    assert len(made) == 2
    assert not any(child.is_alive for child in made)


@pytest.mark.parametrize(
    ("left", "opening", "cores", "more"),
    [(0.5, 0.1, 8, 0), (60, 0.5, 1, 0), (60, 0.5, 2, 1), (60, 0.5, 8, 7), (60, 40, 8, 0), (5, 0.5, 8, 2)],
)
def test_helpers_only_where_they_pay(left: float, opening: float, cores: int, more: int) -> None:
    assert read.n_helpers(left, opening, cores) == more


def test_without_the_package_the_extra_is_named(tmp_path: Path) -> None:
    path = write_bar(tmp_path / "bar.fbx")
    code = (
        "import sys; sys.modules['ufbx'] = None\n"
        "from osteon.cli.main import main\n"
        f"sys.argv = ['osteon', 'info', {str(path)!r}]\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "osteon[fbx]" in done.stderr
    assert done.stderr.count("\n") == 1


def test_further_sets_are_named(tmp_path: Path) -> None:
    """A second set of texture coordinates is not read, and that is said in one line."""
    path = write_bar(tmp_path / "bar.fbx")
    text = path.read_text()
    start = text.index("LayerElementUV: 0 {")
    first = text[start : text.index("LayerElementMaterial: 0 {")]
    second = first.replace("LayerElementUV: 0", "LayerElementUV: 1")
    layer = 'Layer: 1 {\nLayerElement: {\nType: "LayerElementUV"\nTypedIndex: 1\n}\n}\n'
    assert load_sequence(path).asset.origin.lost == ()
    path.write_text(text.replace(first, first + second).replace("Layer: 0 {", layer + "Layer: 0 {"))
    (said,) = load_sequence(path).asset.origin.lost
    assert said == "FBX is read with one set of each: 1 further set of texture coordinates left out"
