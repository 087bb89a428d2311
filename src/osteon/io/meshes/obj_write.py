"""Wavefront OBJ, writing: the polygons, texture coordinates, colours, objects and materials that were read."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Int32
from osteon.core.asset import Asset, Image
from osteon.io.meshes.mesh import IntArray, join_fans
from osteon.io.meshes.mtl import plain_name, write_materials
from osteon.io.meshes.pictures import picture_name

__all__ = ["ObjWriter"]


class ObjWriter:
    """Writes frames of one mesh; everything but positions is put into words once.

    Nine digits give back the same float32.
    """

    def __init__(self, faces: Int32, asset: Asset, stem: str = "materials") -> None:
        self._asset = asset
        self._library = f"{plain_name(stem)}.mtl"
        self._head = "# a frame of a mesh sequence, written by Osteon\n"
        self._head += f"mtllib {self._library}\n" if asset.materials else ""
        self._tail = _uvs_and_faces(faces, asset)
        self._colors = None if asset.colors is None else asset.colors.astype(np.float64)
        self._row = "v %.9g %.9g %.9g\n" if self._colors is None else "v %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n"

    def frame(self, vertices: Float32) -> bytes:
        """The file of one frame."""
        values = vertices.astype(np.float64)
        if self._colors is not None:
            values = np.concatenate([values, self._colors], axis=1)
        return (self._head + self._row * len(values) % tuple(values.ravel().tolist()) + self._tail).encode()

    def extra_files(self) -> dict[str, bytes]:
        """Files that all frames refer to, by name: the material library, and pictures of base colours."""
        if not self._asset.materials:
            return {}
        names = _picture_names(self._asset, self._library.removesuffix(".mtl"))
        pictures = {name: image.data for image, name in names.items()}
        return {self._library: write_materials(self._asset.materials, names), **pictures}


def _picture_names(asset: Asset, stem: str) -> dict[Image, str]:
    """A file name of its own for each picture that is written."""
    names: dict[Image, str] = {}
    for material in asset.materials:
        image = material.texture("base_color")
        if image is not None and image not in names:
            number = "" if picture_name(image, stem) not in names.values() else f"_{len(names)}"
            names[image] = picture_name(image, stem + number)
    return names


def _uvs_and_faces(faces: Int32, asset: Asset) -> str:
    sizes, mask = join_fans(faces, asset.polygon_of_triangle)
    corners = (faces[mask] + 1).astype(str)
    coordinates = ""
    if asset.uvs is not None:
        distinct, index = np.unique(asset.uvs[mask], axis=0, return_inverse=True)
        coordinates = "vt %.9g %.9g\n" * len(distinct) % tuple(distinct.astype(np.float64).ravel().tolist())
        corners = np.char.add(np.char.add(corners, "/"), (index.ravel() + 1).astype(str))
    first = np.flatnonzero(mask[:, 0])
    statements = _statements(asset, first)
    lines = []
    words = corners.tolist()
    at = 0
    for face, size in enumerate(sizes.tolist()):
        if face in statements:
            lines.append(statements[face])
        lines.append("f " + " ".join(words[at : at + size]))
        at += size
    return coordinates + "\n".join(lines) + "\n"


def _statements(asset: Asset, first_triangle: IntArray) -> dict[int, str]:
    """What stands before which face: `o` and `usemtl` where they change."""
    found: dict[int, str] = {}
    objects, materials = asset.primitive_of_triangle, asset.triangle_material
    names = tuple(m.name for m in asset.materials)
    for word, labels, known in (("o", objects, asset.primitive_names), ("usemtl", materials, names)):
        if labels is None or not known:
            continue
        of_face = labels[first_triangle]
        for face in np.flatnonzero(np.diff(of_face, prepend=-1)).tolist():
            line = f"{word} {plain_name(known[of_face[face]])}"
            found[face] = f"{found[face]}\n{line}" if face in found else line
    return found
