"""Normals of plates in Blender: `python blender_plates.py ANSWER SECONDS FILE…`, where bpy is and Osteon is not.

Writes a JSON list, for each file the angles of the corners' normals and where the plate is, or the error that the
importer ends with. Corner normals of the evaluated mesh are what Blender shades with.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from pathlib import Path
from typing import Any

import bpy

RATE = 24


def shown(path: str, seconds: float) -> dict[str, Any]:
    """The plate of a file, imported at the defaults, at some seconds of its clip."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = RATE
    try:
        bpy.ops.import_scene.gltf(filepath=path)
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if "Error: " in line]
        return {"error": lines[-1] if lines else "the importer fails"}
    for thing in (*bpy.data.objects, *bpy.data.shape_keys):
        for track in thing.animation_data.nla_tracks if thing.animation_data else ():
            track.mute = False
    bpy.context.scene.frame_set(round(RATE * seconds))
    plate = next(thing for thing in bpy.data.objects if any(m.type == "ARMATURE" for m in thing.modifiers))
    mesh = plate.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    # Blender is Z-up: its (x, y, z) are (x, -z, y) of glTF.
    angles = [math.degrees(math.atan2(corner.vector.x, -corner.vector.y)) for corner in mesh.corner_normals]
    return {"angle": sum(angles) / len(angles), "middle": sum(v.co.x for v in mesh.vertices) / len(mesh.vertices)}


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    found = [shown(path, float(sys.argv[2])) for path in sys.argv[3:]]
    Path(sys.argv[1]).write_text(json.dumps(found))
