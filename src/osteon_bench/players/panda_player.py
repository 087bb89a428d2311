"""Panda3D with panda3d-gltf: its own converter, characters and skinning on the CPU.

panda3d-gltf samples animations 30 times per second (`gltf-animation-fps`) as translation, three angles and scale;
Panda3D blends these between samples. The compared positions are those of `animate_vertices`.

panda3d-gltf 1.3.0 has three defects: between two keys it always shows the second (its issue 143), it scales a joint
after rotating it, which is visible only where scales differ, and it may omit the last frame. `fixed` corrects them.
"""

from __future__ import annotations

import inspect
import textwrap
from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.arrays import Float32
from osteon.core.errors import OsteonError
from osteon_bench.players.deviation import Play

#: Method of the importer, wrong line and its correction: scale before rotating, and include the last frame.
FIXES = (
    ("build_animation_skeleton", "mat = frame_rotation * mat", "mat = mat * (frame_rotation * LMatrix4.ident_mat())"),
    ("build_character", "math.ceil(max_time * fps)", "math.ceil(max_time * fps - 1e-3) + 1"),
)
#: Panda3D is Z-up: its (x, y, z) are (x, -z, y) of glTF.
GLTF_FROM_PANDA = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def open_file(path: Path, *, fixed: bool = False, rate: int = 30) -> Play:
    """Open a file with the importer as released or with its defects fixed, sampled at a rate."""
    from panda3d.core import Filename, NodePath, PartGroup, load_prc_file_data

    load_prc_file_data("", "notify-level error")
    import gltf
    from gltf import _converter

    if fixed:
        _fix(_converter)
    settings = gltf.GltfSettings(animation_fps=rate)
    scene = NodePath(gltf.load_model(Filename.from_os_specific(str(path)), settings))
    characters = list(scene.find_all_matches("**/+Character"))
    if len(characters) != 1:
        raise OsteonError(f"{path}: Panda3D finds {len(characters)} characters in it")
    bundles = [child.node().bundle for child in characters[0].children if hasattr(child.node(), "bundle")]
    character = characters[0].node()
    parts = character.get_bundle(0)
    whole = PartGroup.HMF_ok_part_extra | PartGroup.HMF_ok_anim_extra | PartGroup.HMF_ok_wrong_root_name
    controls = [parts.bind_anim(bundle, whole) for bundle in bundles]
    shapes = list(scene.find_all_matches("**/+GeomNode"))

    def play(clip: int, times: list[float]) -> Float32:
        control = controls[clip]
        shown = []
        for time in times:
            control.pose(min(time * control.frame_rate, control.num_frames - 1))
            character.force_update()
            shown.append(np.concatenate([_corners(shape, scene) for shape in shapes]))
        return np.stack(shown)

    return play


def _fix(converter: Any) -> None:
    """Corrections of the defects of the importer."""
    for name, wrong, right in FIXES:
        source = textwrap.dedent(inspect.getsource(getattr(converter.Converter, name)))
        if wrong not in source:
            raise OsteonError(f"panda3d-gltf has changed; '{wrong}' is not where it was")
        exec(source.replace(wrong, right), converter.__dict__)
        setattr(converter.Converter, name, converter.__dict__[name])
    converter.get_next_time_index = lambda now, times: min(max(bisect_left(times, now), 1), len(times) - 1)
    converter.get_lerp_factor = lambda now, last, following: min(max((now - last) / (following - last), 0.0), 1.0)


def _corners(shape: Any, scene: Any) -> Float32:
    """(c,3) triangle corners of a node in glTF's axes."""
    world = np.array(shape.get_mat(scene)).reshape(4, 4)
    found = []
    for geom in shape.node().get_geoms():
        vertices = _positions(geom.get_vertex_data())
        primitive = geom.get_primitive(0).decompose()
        found.append(vertices[np.array(primitive.get_vertex_list(), np.int64)])
    placed = np.concatenate(found) @ world[:3, :3] + world[3, :3]
    return np.asarray(placed @ GLTF_FROM_PANDA.T, np.float32)


def _positions(data: Any) -> Any:
    """(v,3) current positions of the vertices: sliders first, then joints."""
    from panda3d.core import Thread

    posed = data.animate_vertices(True, Thread.get_current_thread())
    layout = posed.get_format()
    column, rows = layout.get_column("vertex"), posed.get_array(layout.get_array_with("vertex"))
    stored = np.frombuffer(rows.get_handle().get_data(), np.uint8).reshape(posed.get_num_rows(), -1)
    return stored[:, column.get_start() :][:, :12].copy().view(np.float32).astype(np.float64)
