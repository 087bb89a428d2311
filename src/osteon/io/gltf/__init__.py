"""glTF 2.0: reading as mesh sequences or skinned models (`read`), writing models (`write`), and adding fitted weights,
motion and morph targets to an existing document (`patch`).

Notes. pygltflib parses Soldier.glb (654 buffer views) in 0.97 s, the standard library's json in 7 ms. pygltflib does
not check types, so every field needs a check either way. Reading therefore uses plain dictionaries with checked access.
"""

from typing import Any

__all__ = ["TEXTURE_EXTENSIONS", "JsonObject"]

#: A JSON object, as Python holds it.
JsonObject = dict[str, Any]

#: Extensions of textures with image formats that not every program supports, and their formats.
TEXTURE_EXTENSIONS = {
    "KHR_texture_basisu": "image/ktx2",
    "EXT_texture_webp": "image/webp",
    "EXT_texture_avif": "image/avif",
}
