"""Pictures and looks: carried through glTF, OBJ and NPZ without a change, and never fetched from elsewhere."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Asset, Image, Material
from osteon.core.sequence import MeshSequence
from osteon.io import SaveOptions, load_model, load_sequence, save_model, save_sequence
from osteon.io.gltf import TEXTURE_EXTENSIONS
from osteon.io.models import note_lost_pictures

PNG = b"\x89PNG\r\n\x1a\n and so on"
JPEG = b"\xff\xd8\xff\xe0 and so on"
QUAD = "v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\n"


def square(*materials: Material) -> MeshSequence:
    rest = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    asset = Asset(np.zeros((2, 3, 2)), materials=materials, triangle_material=np.array([0, len(materials) - 1]))
    return MeshSequence(np.stack([rest, rest + 1]), np.array([[0, 1, 2], [0, 2, 3]]), rest, asset=asset)


def textured(glb, image: dict, **extra: object):
    """A triangle whose material has this image as its base colour."""
    root = glb.json
    root["meshes"][0]["primitives"][0]["material"] = 0
    root["materials"] = [{"name": "fur", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, **extra}}}]
    root["textures"] = [{"source": 0}]
    root["images"] = [image]
    return glb


def only_texture(path) -> Image | None:
    (material,) = load_sequence(path).asset.materials
    return material.texture("base_color")


def test_embedded_data_address_and_file(triangle_glb, tmp_path):
    (tmp_path / "tex tures").mkdir()
    (tmp_path / "tex tures" / "fur.jpg").write_bytes(JPEG)
    address = "data:image/png;base64," + base64.b64encode(PNG).decode()
    for image, expected in (
        ({"bufferView": triangle_glb.view(PNG), "mimeType": "image/png"}, Image("image_0", "image/png", PNG)),
        ({"uri": address, "name": "fur"}, Image("fur", "image/png", PNG)),
        ({"uri": "tex%20tures/fur.jpg"}, Image("fur", "image/jpeg", JPEG)),
    ):
        assert only_texture(textured(triangle_glb, image).save(tmp_path / "t.glb")) == expected


def test_pictures_that_are_not_carried(triangle_glb, tmp_path):
    (tmp_path / "empty.png").write_bytes(b"")
    view = triangle_glb.view(PNG)
    for image, extra in (
        ({"bufferView": triangle_glb.view(b"RIFF....WEBP")}, {}),
        ({"uri": "missing.png"}, {}),
        ({"uri": "empty.png"}, {}),
        ({"uri": "data:image/png;base64,?"}, {}),
        ({"bufferView": view}, {"texCoord": 1}),
        ({"bufferView": view}, {"extensions": {"KHR_texture_transform": {"texCoord": 1}}}),
    ):
        assert only_texture(textured(triangle_glb, image, **extra).save(tmp_path / "t.glb")) is None
    textured(triangle_glb, {"bufferView": view}).json["textures"] = [{"extensions": {"KHR_texture_basisu": {}}}]
    assert only_texture(triangle_glb.save(tmp_path / "t.glb")) is None


def test_other_kinds_of_pictures(triangle_glb, tmp_path):
    """The PNG or JPEG beside a picture of another kind comes first; one of the wrong kind is as if it was not there."""
    compressed = b"\xabKTX 20\xbb\r\n\x1a\n"
    root = textured(triangle_glb, {"bufferView": triangle_glb.view(compressed)}).json
    root["images"].append({"bufferView": triangle_glb.view(PNG)})
    root["extensionsRequired"] = ["KHR_texture_basisu", "EXT_texture_webp"]
    root["materials"][0]["pbrMetallicRoughness"]["roughnessFactor"] = 0.25
    for extension, alone in (("KHR_texture_basisu", compressed), ("EXT_texture_webp", None)):
        other = {"extensions": {extension: {"source": 0}}}
        for texture, image in (({**other, "source": 1}, PNG), (other, alone)):
            root["textures"] = [texture]
            (material,) = load_sequence(triangle_glb.save(tmp_path / "t.glb")).asset.materials
            assert [found.data for _, found in material.textures] == [image] * (image is not None)
            assert (material.name, material.roughness) == ("fur", 0.25)


def moved(**transform: object) -> dict:
    return {"index": 0, "extensions": {"KHR_texture_transform": transform}}


def test_moved_coordinates(triangle_glb, tmp_path):
    """What a texture does to coordinates is done to those of its triangles; textures that differ are left out."""
    root = textured(triangle_glb, {"bufferView": triangle_glb.view(PNG)}).json
    attributes = root["meshes"][0]["primitives"][0]["attributes"]
    attributes["TEXCOORD_0"] = triangle_glb.accessor([[0, 0], [4096, 0], [0, 4096]], "u2")
    scaled = moved(offset=[0.5, 0.25], scale=[1 / 4096, 1 / 8192])
    root["materials"][0] = {"pbrMetallicRoughness": {"baseColorTexture": scaled}, "normalTexture": scaled}
    root["materials"][0]["emissiveTexture"] = {"index": 0}
    asset = load_sequence(triangle_glb.save(tmp_path / "t.glb")).asset
    assert [role for role, _ in asset.materials[0].textures] == ["base_color", "normal"]
    assert np.allclose(asset.uvs, [[[0.5, 0.75], [1.5, 0.75], [0.5, 0.25]]])
    root["materials"][0] = {"normalTexture": moved(rotation=np.pi / 2, scale=[1 / 4096, 1 / 4096])}
    asset = load_sequence(triangle_glb.save(tmp_path / "t.glb")).asset
    assert np.allclose(asset.uvs, [[[0, 1], [0, 2], [1, 1]]])  # a quarter to the left, seen with v upward


def test_all_roles_and_looks(triangle_glb, tmp_path):
    root = textured(triangle_glb, {"bufferView": triangle_glb.view(PNG)}).json
    root["images"].append({"bufferView": triangle_glb.view(JPEG)})
    root["textures"].append({"source": 1})
    root["materials"][0] |= {"normalTexture": {"index": 1, "scale": 2}, "occlusionTexture": {"index": 1}}
    root["materials"][0] |= {"emissiveTexture": {"index": 0}, "emissiveFactor": [1, 0.5, 0]}
    root["materials"][0] |= {"alphaMode": "MASK", "alphaCutoff": 0.25}
    root["materials"][0]["pbrMetallicRoughness"]["metallicRoughnessTexture"] = {"index": 1}
    (material,) = load_sequence(triangle_glb.save(tmp_path / "t.glb")).asset.materials
    roles = {role: image.mime for role, image in material.textures}
    assert roles == {
        "base_color": "image/png",
        "metallic_roughness": "image/jpeg",
        "normal": "image/jpeg",
        "occlusion": "image/jpeg",
        "emissive": "image/png",
    }
    assert (material.emissive, material.alpha_mode, material.alpha_cutoff) == ((1, 0.5, 0), "MASK", 0.25)
    assert material.texture("normal") is material.texture("occlusion")  # read once


def test_npz_keeps_pictures(tmp_path):
    fur, bump = Image("fur", "image/png", PNG), Image("../bump", "image/jpeg", JPEG)
    first = Material("a", textures=(("base_color", fur), ("normal", bump)), emissive=(0, 0, 1), alpha_mode="BLEND")
    second = Material("b", textures=(("emissive", fur),), alpha_mode="MASK", alpha_cutoff=0.75)
    save_sequence(square(first, second), tmp_path / "a.npz")
    assert load_sequence(tmp_path / "a.npz").asset.materials == (first, second)
    with np.load(tmp_path / "a.npz") as stored:
        assert sorted(key for key in stored if key.startswith("image")) == ["image_0", "image_1"]
        assert stored["image_0"].tobytes() == PNG


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("textures", [["base_color", 1]], FileFormatError),
        ("textures", [["base_color", -1]], FileFormatError),
        ("textures", [["smell", 0]], GeometryError),
        ("textures", [["base_color", 0], ["base_color", 0]], GeometryError),
        ("textures", 7, FileFormatError),
        ("alpha_mode", "SOME", GeometryError),
        ("emissive", [1], FileFormatError),
    ],
)
def test_npz_with_spoiled_looks(tmp_path, refused, key, value, kind):
    save_sequence(square(Material("a", textures=(("base_color", Image("x", "image/png", PNG)),))), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    header = json.loads(str(arrays["header"]))
    header["materials"][0][key] = value
    np.savez(tmp_path / "bad.npz", **arrays | {"header": np.array(json.dumps(header))})
    with refused(kind, "bad.npz"):
        load_sequence(tmp_path / "bad.npz")


def test_npz_without_its_picture(tmp_path, refused):
    save_sequence(square(Material("a", textures=(("base_color", Image("x", "image/png", PNG)),))), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    for change in ({"image_0": None}, {"image_0": np.zeros(3)}):
        kept = {name: value for name, value in (arrays | change).items() if value is not None}
        np.savez(tmp_path / "bad.npz", **kept)
        with refused(FileFormatError, "bad.npz", "'image_0'"):
            load_sequence(tmp_path / "bad.npz")


@pytest.mark.parametrize("statement", ["fur.png", "-s 1 1 1 -o 0 0 fur.png", "-clamp on fur.png", "./fur.png"])
def test_mtl_names_a_picture(tmp_path, statement):
    (tmp_path / "fur.png").write_bytes(PNG)
    (tmp_path / "a.mtl").write_text(f"newmtl m\nmap_Kd {statement}\nKd 1 1 1\nKe 0 0 0.5\n")
    (tmp_path / "a.obj").write_text(f"mtllib a.mtl\n{QUAD}usemtl m\nf 1/1 2/2 3/3\n")
    (material,) = load_sequence(tmp_path / "a.obj").asset.materials
    assert material.textures == (("base_color", Image("fur", "image/png", PNG)),)
    assert material.emissive == (0, 0, 0.5)


def test_mtl_with_names_of_many_words_and_folders(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "my fur.png").write_bytes(PNG)
    (tmp_path / "a.mtl").write_text("newmtl m\nmap_Kd sub\\my fur.png\n")
    (tmp_path / "a.obj").write_text(f"mtllib a.mtl\n{QUAD}usemtl m\nf 1/1 2/2 3/3\n")
    assert only_texture(tmp_path / "a.obj") == Image("my fur", "image/png", PNG)


def test_mtl_reads_no_picture_from_elsewhere(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "fur.png").write_bytes(PNG)
    (inner / "link.png").symlink_to(tmp_path / "fur.png")
    (inner / "loop.png").symlink_to("loop.png")
    (inner / "text.png").write_text("no picture")
    for name in (
        "../fur.png",
        str(tmp_path / "fur.png"),
        "link.png",
        "loop.png",
        "text.png",
        "none.png",
        ".",
        "",
        "\0",
    ):
        (inner / "a.mtl").write_text(f"newmtl m\nmap_Kd {name}\n")
        (inner / "a.obj").write_text(f"mtllib a.mtl\n{QUAD}usemtl m\nf 1/1 2/2 3/3\n")
        assert only_texture(inner / "a.obj") is None


def test_obj_writes_pictures_beside_its_frames(tmp_path):
    """Names from a file never lead out of the folder, and different pictures never share a name."""
    images = [
        Image("../../fur", "image/png", PNG),
        Image("fur", "image/png", PNG + b"2"),
        Image("fur", "image/jpeg", JPEG),
        Image("", "image/png", PNG + b"3"),
    ]
    materials = [Material(f"m{i}", textures=(("base_color", image),)) for i, image in enumerate(images)]
    save_sequence(square(materials[0], materials[1]), tmp_path / "frames")
    assert {p.name for p in (tmp_path / "frames").iterdir()} == {
        *("frame_0000.obj", "frame_0001.obj", "materials.mtl", "materials_fur.png", "materials_1_fur.png"),
    }
    again = load_sequence(tmp_path / "frames").asset.materials
    assert [m.texture("base_color").data for m in again] == [PNG, PNG + b"2"]
    save_sequence(square(materials[2], materials[3]), tmp_path / "other")
    assert [m.texture("base_color").data for m in load_sequence(tmp_path / "other").asset.materials] == [
        JPEG,
        PNG + b"3",
    ]
    assert not (tmp_path.parent / "fur.png").exists()


def test_a_material_refuses_what_it_cannot_be():
    with pytest.raises(GeometryError, match="alpha mode"):
        Material("m", alpha_mode="SOME")
    with pytest.raises(GeometryError, match="roles"):
        Material("m", textures=(("smell", Image("x", "image/png", PNG)),))
    assert Material("m").texture("normal") is None


KTX2 = b"\xabKTX 20\xbb\r\n\x1a\n and so on"
WEBP = b"RIFF\x0c\0\0\0WEBP and so on"
AVIF = b"\0\0\0\x1cftypavif and so on"
RARE = {"KHR_texture_basisu": KTX2, "EXT_texture_webp": WEBP, "EXT_texture_avif": AVIF}


def rarely_textured(glb, extension: str, fallback: bool):
    """A triangle with coordinates whose material has a picture of a rare kind, perhaps beside a PNG."""
    glb.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"] = glb.accessor([[0.0, 0], [1, 0], [0, 1]])
    made = textured(glb, {"bufferView": glb.view(RARE[extension]), "name": "fur"})
    made.json["textures"] = [{"extensions": {extension: {"source": 0}}}]
    made.json["extensionsUsed"] = [extension]
    if fallback:
        made.json["images"].append({"bufferView": glb.view(PNG), "mimeType": "image/png", "name": "fur"})
        made.json["textures"][0]["source"] = 1
    else:
        made.json["extensionsRequired"] = [extension]
    return made


def saved_json(model, path) -> dict:
    save_model(model, path)
    return json.loads(path.read_text())


@pytest.mark.parametrize("extension", list(RARE))
@pytest.mark.parametrize("fallback", [False, True])
def test_rare_pictures_are_carried_from_gltf_to_gltf(triangle_glb, tmp_path, extension, fallback):
    path = rarely_textured(triangle_glb, extension, fallback).save(tmp_path / "a.glb")
    rare = Image("fur", TEXTURE_EXTENSIONS[extension], RARE[extension])
    expected = Image("fur", "image/png", PNG, (rare,)) if fallback else rare
    assert only_texture(path) == expected
    model = load_model(path)
    root = saved_json(model, tmp_path / "b.gltf")
    assert root["extensionsUsed"] == [extension]
    assert root.get("extensionsRequired", []) == ([] if fallback else [extension])
    assert sorted(image["mimeType"] for image in root["images"]) == sorted({expected.mime, rare.mime})
    (texture,) = root["textures"]
    number = texture["extensions"][extension]["source"]
    assert root["images"][number]["mimeType"] == rare.mime
    assert ("source" in texture) == fallback
    assert load_model(tmp_path / "b.gltf").asset.materials == model.asset.materials
    assert only_texture(tmp_path / "b.gltf") == expected
    quantized = tmp_path / "c.gltf"
    save_model(model, quantized, options=SaveOptions(quantize=True))
    assert json.loads(quantized.read_text())["extensionsUsed"] == ["KHR_mesh_quantization", extension]
    save_model(model, tmp_path / "d.npz")
    save_sequence(load_sequence(path), tmp_path / "e.npz")
    assert load_model(tmp_path / "d.npz").asset.materials == model.asset.materials
    assert only_texture(tmp_path / "e.npz") == expected


@pytest.mark.parametrize("fallback", [False, True])
def test_formats_without_rare_pictures_take_the_plain_one_or_none(triangle_glb, tmp_path, fallback):
    path = rarely_textured(triangle_glb, "KHR_texture_basisu", fallback).save(tmp_path / "a.glb")
    model, sequence = load_model(path), load_sequence(path)
    expected = PNG if fallback else None
    save_sequence(sequence, tmp_path / "frames")
    save_model(model, tmp_path / "m.usdz")
    for written in (tmp_path / "frames", tmp_path / "m.usdz"):
        image = only_texture(written)
        assert (None if image is None else image.data) == expected
        assert image is None or image.others == ()
    notes = note_lost_pictures(model, "m.usdz")
    assert notes == (() if fallback else ("m.usdz: USD package holds PNG and JPEG only; 1 ktx2 picture left out",))
    assert note_lost_pictures(model, "m.glb") == ()


def test_a_picture_that_is_not_what_its_extension_says_is_left_out(triangle_glb, tmp_path):
    made = rarely_textured(triangle_glb, "EXT_texture_webp", True)
    made.json["textures"][0]["extensions"]["KHR_texture_basisu"] = {"source": 0}  # WebP again
    assert only_texture(made.save(tmp_path / "a.glb")).others == (Image("fur", "image/webp", WEBP),)
    made.json["textures"][0]["extensions"]["KHR_texture_basisu"] = {"source": 7}
    with pytest.raises(FileFormatError, match="texture 0 refers to images '7'"):
        load_sequence(made.save(tmp_path / "a.glb"))


def test_the_page_shows_what_browsers_read(triangle_glb, tmp_path):
    from osteon.view.pack.model_pack import SHOWN_PICTURES

    for extension, data in RARE.items():
        asset = load_sequence(rarely_textured(triangle_glb, extension, False).save(tmp_path / "a.glb")).asset
        shown = asset.with_pictures(SHOWN_PICTURES).materials[0].texture("base_color")
        assert (None if shown is None else shown.data) == (None if data is KTX2 else data)
