"""Valid files written by hand: every kind of statement of the text formats, and of glTF what our writer never uses."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

OBJ = [
    b"mtllib input.mtl\nv 0 0 0\nv 1 0 0 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 1\nvt 1 1 0\nvn 0 0 1\nusemtl red\no left\n"
    b"f 1/1 2//1 3/1/1 \\\n 4\n# said\ng right\nusemtl blue\ns 1\nf -4 -3 -2\nl 1 2\n",
    b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt .5 1\nf 1/1 2/2 3/1\nf 1/1 3/2 4/1\nf 1/2 4/2 2/1\n",
    b"\tv\t0 0 0\r\nv 1e0 0 0\r\nv 0 +1 0\r\nf  1 2 3 \r\n",
]
_FIGURES = {
    "training": {"error_percent": 1.5, "rms_percent": 0.2},
    "unseen": {"error_percent": None, "rms_percent": 0.3},
}
_BESIDE = {"name": "as.npz", "bytes": 12, "sha256": "0f" * 32}
COMPARISONS = [
    {
        "generator": "Osteon 0.1.0",
        "format": "osteon-comparison",
        "format_version": 1,
        "source_file": source,
        "models": {
            word: {"file": _BESIDE | {"name": f"{word}.npz"}, "title": word.upper(), **_FIGURES} for word in words
        },
    }
    for words, source in ((("as",), None), (("ssd", "dqs"), _BESIDE | {"name": "source.npz"}))
]
_STROKES = {"format": "osteon-edit", "version": 1, "vertices": 9}
STROKES = [
    _STROKES | {"name": "dent", "moved": [3, 5], "displacements": [[0, 0.1, 0], [1.5e-3, 0, -2]]},
    _STROKES | {"name": "none", "moved": [], "displacements": []},
]
MTL = [
    b"# library\nnewmtl red\nKd 1 0 0\nd 0.5\nPm 0.1\nPr 0.4\nKe 0 0 1\nmap_Kd -s 1 1 1 -clamp on picture.png\n"
    b"newmtl blue\nKd 0 0 1\nTr 0.25\nmap_Kd picture.png\nillum 2\n"
]
OFF = [
    b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n3 0 1 2 9 0 1\n",
    b"COFF\n4 2 0\n0 0 0 255 0 0 9\n1 0 0 1 2 3 4\n1 1 0 1 1 1 1\n0 1 0 1 1 1 1\n4 0 1 2 3\n3 0 1 2 9 0\n",
    b"STCNOFF 3 1\n# all of it\n0 0 0 0 0 1 1 0 0 0 0\n1 0 0 0 0 1 0 1 0 1 0\n0 1 0 0 0 1 0 0 1 0 1\n3 0 1 2\n",
    b"NOFF\n3 1 0\n0 0 0 0 0 1\n1 0 0 0 0 1\n0 1 0 0 0 1\n3 0 1 2\n",
]
TETRAHEDRON = [
    b"MeshVersionFormatted 1\nDimension 3\nVertices 4\n0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\n"
    b"Tetrahedra 1\n1 2 3 4 1\nEnd\n",
    b"MeshVersionFormatted 2\nDimension\n2\nVertices\n4\n0 0 0\n1 0 0\n1 1 0\n0 1 0\nTriangles 1\n1 2 3 0\n"
    b"Quadrilaterals 1\n1 2 3 4 0\nEdges 1\n1 2 0\nEnd\n",
]
_PLY_HEAD = (
    b"ply\nformat ascii 1.0\ncomment by hand\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    b"property uchar red\nproperty uchar green\nproperty uchar blue\nproperty float s\nproperty float t\n"
    b"element face 2\nproperty list uchar int vertex_indices\nproperty list uchar float texcoord\nend_header\n"
)
PLY = [
    _PLY_HEAD + b"0 0 0 255 0 0 0 0\n1 0 0 0 255 0 1 0\n1 1 0 0 0 255 1 1\n0 1 0 9 9 9 0 1\n"
    b"3 0 1 2 6 0 0 1 0 1 1\n4 0 1 2 3 8 0 0 1 0 1 1 0 1\n",
    b"ply\nformat binary_big_endian 1.0\nelement face 2\nproperty list ushort uint vertex_index\nelement vertex 4\n"
    b"property double x\nproperty double y\nproperty double z\nproperty short extra\nend_header\n"
    + struct.pack(">H3IH4I", 3, 0, 1, 2, 4, 0, 1, 2, 3)
    + b"".join(struct.pack(">3dh", i % 2, i // 2, 0.5, -i) for i in range(4)),
]
TGF = [
    b"1 0 2 0 4e291\n2 0 1 0 1 x\n3 0 0 0\n#\n1 2\n2 3 1\n#\n",
    b"# a comment\nhip 0 2 upper\nknee 0 1 middle\nfoot 0 0 lower\n#\nhip knee\nknee foot\n",
]
SKEL = [b"3\n0 2 0 hip root\n0 1 0 knee hip\n0 0 0 foot 1\n", b"# flat\n3\n0 2 hip -1\n0 1 knee 0\n0 0 foot knee\n"]
SKELETON = [
    {"joints": {"hip": [0, 2], "knee": [0, 1], "foot": [0, 0]}, "bones": [[0, 1], ["knee", "foot"]], "root": "knee"},
    {"joints": [[0, 2, 0], [0, 1, 0], [0, 0, 0]], "parents": [-1, 0, 1]},
    {"joints": {"hip": [0, 2, 0], "knee": [0, 1, 0], "foot": [0, 0, 0]}, "parents": {"knee": "hip", "foot": "knee"}},
]
_LINE = {"name": "ear", "rest": [[0, 0, 0], [0, 0, 1]], "posed": [[1, 0, 0], [2, 0, 0]], "domain": {"tube": 0.5}}
POSES = [
    {
        "fps": 24,
        "poses": [
            {"rotate": {"knee": 30}, "translate": [1, 0, 0], "lines": [_LINE], "pins": {"3": [0, 0, 1]}},
            {
                "joints": {"foot": [1, 0, 0]},
                "bones": {"hip-knee": {"stretch": 2, "twist": [0, 9]}},
                "pins": {"3": [0, 1, 0]},
            },
        ],
    },
    {"poses": [{"rotate": {"knee": [20, 0, 0, 1]}}, {"rotate": {"knee": [0, 0, 20]}}, {}]},
    {"joints": {"hip": [0, 2, 0], "knee": [0, 1, 0], "foot": [1, 0, 0]}},
    {"lines": [_LINE], "pins": {"0": [0, 0, 0]}},
]
_LEG = {
    "joints": {"hip": [0, 2, 0], "knee": [0, 1, 0.1], "foot": [0, 0, 0]},
    "parents": {"knee": "hip", "foot": "knee"},
}
POSE_SETS = [
    {
        "rest": "rest.obj",
        "skeleton": _LEG,
        "hinges": {"knee": [1, 0, 0]},
        "limits": {
            "knee": {"axis": [1, 0, 0], "degrees": [0, 80]},
            "hip": [
                {"name": "bend", "axis": [1, 0, 0], "degrees": [-20, 70]},
                {"name": "turn", "axis": "hip-knee", "degrees": [-30, 30]},
            ],
        },
        "simulation": {"done": 2},
        "poses": [
            {"file": "bent.obj", "rotate": {"knee": 40}, "simulation": {"steps": 3}},
            {"name": "sit", "file": "bent.obj", "kind": "pair", "rotate": {"hip": {"axis": [1, 0, 0], "degrees": -80}}},
        ],
    },
    {
        "rest": "rest.obj",
        "skeleton": _LEG,
        "frames": "bent.obj",
        "poses": [{"kind": "validate", "translate": [0, 1, 0]}],
    },
]
USDA = [
    b'#usda 1.0\n(\n    defaultPrim = "root"\n    upAxis = "Y"\n    timeCodesPerSecond = 24\n)\n'
    b'def Xform "root"\n{\n    def Mesh "body"\n    {\n        int[] faceVertexCounts = [3, 4]\n'
    b"        int[] faceVertexIndices = [0, 1, 2, 0, 1, 2, 3]\n"
    b"        point3f[] points.timeSamples = {\n            0: [(0,0,0), (1,0,0), (1,1,0), (0,1,0)],\n"
    b"            1: [(0,0,1), (1,0,1), (1,1,1), (0,1,1)],\n        }\n"
    b"        texCoord2f[] primvars:st = [(0,0), (1,0), (1,1), (0,1)] (\n"
    b'            interpolation = "vertex"\n        )\n'
    b"        double3 xformOp:translate = (1, 2, 3)\n"
    b'        uniform token[] xformOpOrder = ["xformOp:translate"]\n    }\n}\n',
]


def _gltf() -> dict[str, Any]:
    """A skin, a morph target, sparse and strided and normalised accessors, and channels of all interpolations."""
    blob, views = bytearray(), []

    def view(data: bytes, **extra: Any) -> int:
        blob.extend(bytes(-len(blob) % 4))
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(data), **extra})
        blob.extend(data)
        return len(views) - 1

    def floats(*values: float) -> bytes:
        return struct.pack(f"<{len(values)}f", *values)

    strided = b"".join(floats(*point, 9.0) for point in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)))
    accessors = [
        {"bufferView": view(strided, byteStride=16), "componentType": 5126, "count": 4, "type": "VEC3"},
        {"bufferView": view(bytes([0, 1, 2, 0, 2, 3])), "componentType": 5121, "count": 6, "type": "SCALAR"},
        {"bufferView": view(bytes([0, 1, 0, 0] * 4)), "componentType": 5121, "count": 4, "type": "VEC4"},
        {
            "bufferView": view(bytes([128, 127, 0, 0] * 4)),
            "componentType": 5121,
            "count": 4,
            "type": "VEC4",
            "normalized": True,
        },
        {
            "componentType": 5126,
            "count": 4,
            "type": "VEC3",
            "sparse": {
                "count": 1,
                "indices": {"bufferView": view(bytes([2, 0])), "componentType": 5123},
                "values": {"bufferView": view(floats(0, 0, 1))},
            },
        },
        {"bufferView": view(floats(0, 0.5, 1)), "componentType": 5126, "count": 3, "type": "SCALAR"},
        {"bufferView": view(floats(*(0, 0, 0, 1) * 3)), "componentType": 5126, "count": 3, "type": "VEC4"},
        {"bufferView": view(floats(*range(27))), "componentType": 5126, "count": 9, "type": "VEC3"},
        {"bufferView": view(floats(0, 1, 0)), "componentType": 5126, "count": 3, "type": "SCALAR"},
        {"bufferView": view(floats(*([1] + [0] * 4) * 3, 1) * 2), "componentType": 5126, "count": 2, "type": "MAT4"},
        {"bufferView": view(floats(0, 0, 1, 0, 1, 1, 0, 1)), "componentType": 5126, "count": 4, "type": "VEC2"},
    ]
    paths = (("rotation", 6, "LINEAR", 2), ("translation", 7, "CUBICSPLINE", 1), ("weights", 8, "STEP", 0))
    attributes = {"POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3, "TEXCOORD_0": 10}
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1, 3]}],
        "nodes": [
            {"mesh": 0, "skin": 0, "name": "body"},
            {"children": [2], "name": "hip", "translation": [0, 1, 0]},
            {"name": "knee", "rotation": [0, 0, 0.6, 0.8], "scale": [1, 2, 1]},
            {"mesh": 1, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 0, 0, 1], "name": "still"},
        ],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": 9}],
        "meshes": [
            {
                "primitives": [{"attributes": attributes, "indices": 1, "targets": [{"POSITION": 4}], "material": 0}],
                "weights": [0.5],
            },
            {"primitives": [{"attributes": {"POSITION": 0}, "mode": 5}, {"attributes": {"POSITION": 0}, "mode": 6}]},
        ],
        "animations": [
            {
                "name": "walk",
                "samplers": [{"input": 5, "output": out, "interpolation": kind} for _, out, kind, _ in paths],
                "channels": [{"sampler": i, "target": {"node": p[3], "path": p[0]}} for i, p in enumerate(paths)],
            }
        ],
        "materials": [{"name": "red", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}, "doubleSided": True}],
        "textures": [{"source": 0}],
        "images": [{"uri": f"data:image/png;base64,{picture}"}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [
            {
                "byteLength": len(blob),
                "uri": "data:application/octet-stream;base64," + base64.b64encode(blob).decode(),
            }
        ],
    }


GLTF = [
    json.dumps(_gltf()).encode(),
    json.dumps(
        {
            "asset": {"version": "2.0"},
            "buffers": [{"byteLength": 36, "uri": "data:;base64," + "AAAA" * 12}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "nodes": [{"mesh": 0, "children": [1]}, {"rotation": [0, 0, 0, 1]}],
        }
    ).encode(),
]
