"""A small FBX scene as a tree, written as text and as binary FBX 7.4: two bones, a skin, a material, an animation."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

SECOND = 46186158000  # ticks
Value = int | float | str | list[int] | list[float]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree."""

    name: str
    values: tuple[Value, ...] = ()
    below: tuple[Node, ...] = ()


def fbx_seeds() -> list[bytes]:
    return [_text(_scene()).encode(), _binary(_scene(), packed=False), _binary(_scene(), packed=True)]


def _item(kind: str, number: int, name: str, sort: str, *below: Node) -> Node:
    return Node(kind, (number, name, sort), below)


def _places(at: float) -> list[float]:
    return [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, at, 0, 0, 1]


def _property(name: str, kind: str, *values: Value) -> Node:
    return Node("P", (name, kind, "", "A", *values))


def _scene() -> tuple[Node, ...]:
    mesh = _item(
        "Geometry",
        10,
        "Geometry::bar",
        "Mesh",
        Node("Vertices", ([0.0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0],)),
        Node("PolygonVertexIndex", ([0, 1, -3, 0, 2, -4],)),
    )
    clusters = [
        _item(
            "Deformer",
            60 + bone,
            f"SubDeformer::c{bone}",
            "Cluster",
            Node("Indexes", ([0, 1, 2, 3],)),
            Node("Weights", ([0.5] * 4,)),
            Node("Transform", (_places(-bone),)),
            Node("TransformLink", (_places(bone),)),
        )
        for bone in range(2)
    ]
    bones = [
        _item(
            *("Model", 40 + bone, f"Model::bone{bone}", "LimbNode"),
            Node("Properties70", (), (_property("Lcl Translation", "Lcl Translation", float(bone), 0.0, 0.0),)),
        )
        for bone in range(2)
    ]
    curve = _item(
        *("AnimationCurve", 103, "AnimCurve::", ""),
        Node("KeyTime", ([0, SECOND // 4],)),
        Node("KeyValueFloat", ([0.0, 90.0],)),
        Node("KeyAttrFlags", ([4],)),
        Node("KeyAttrDataFloat", ([0.0, 0, 0, 0],)),
        Node("KeyAttrRefCount", ([2],)),
    )
    span = Node("Properties70", (), (_property("LocalStart", "KTime", 0), _property("LocalStop", "KTime", SECOND // 4)))
    objects = (
        *(mesh, _item("Model", 20, "Model::bar", "Mesh"), _item("Material", 30, "Material::paint", "")),
        *(*bones, _item("Deformer", 50, "Deformer::skin", "Skin"), *clusters),
        *(
            _item("AnimationStack", 100, "AnimStack::take", "", span),
            _item("AnimationLayer", 101, "AnimLayer::base", ""),
        ),
        *(_item("AnimationCurveNode", 102, "AnimCurveNode::R", ""), curve),
    )
    pairs = [
        (10, 20),
        (20, 0),
        (30, 20),
        (40, 0),
        (41, 40),
        (50, 10),
        (60, 50),
        (61, 50),
        (40, 60),
        (41, 61),
        (101, 100),
    ]
    links = [Node("C", ("OO", a, b)) for a, b in (*pairs, (102, 101))]
    links += [Node("C", ("OP", 102, 41, "Lcl Rotation")), Node("C", ("OP", 103, 102, "d|Z"))]
    return (
        Node("FBXHeaderExtension", (), (Node("FBXHeaderVersion", (1003,)), Node("FBXVersion", (7400,)))),
        Node("GlobalSettings", (), (Node("Properties70", (), (_property("UpAxis", "int", 1),)),)),
        Node("Objects", (), objects),
        Node("Connections", (), tuple(links)),
    )


def _text(nodes: tuple[Node, ...]) -> str:
    return "; FBX 7.4.0 project file\n" + "\n".join(_node_text(node) for node in nodes) + "\n"


def _node_text(node: Node) -> str:
    if node.values and isinstance(node.values[0], list):
        numbers = ",".join(str(x) for x in node.values[0])
        return f"{node.name}: *{len(node.values[0])} {{\n a: {numbers}\n}}"
    values = ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in node.values)
    below = " {\n" + "\n".join(_node_text(child) for child in node.below) + "\n}" if node.below else ""
    return f"{node.name}: {values}{below or (' {' + chr(10) + '}' if not node.values else '')}"


def _binary(nodes: tuple[Node, ...], *, packed: bool) -> bytes:
    out = bytearray(b"Kaydara FBX Binary  \x00\x1a\x00" + struct.pack("<I", 7400))
    for node in nodes:
        out += _node_bytes(node, len(out), packed)
    return bytes(out + bytes(13) + bytes(160))


def _node_bytes(node: Node, at: int, packed: bool) -> bytes:
    """A node that begins at byte `at`: where it ends, its values, those below it."""
    name = node.name.encode()
    values = b"".join(_value_bytes(value, packed) for value in node.values)
    begin = at + 13 + len(name) + len(values)
    below = bytearray()
    for child in node.below:
        below += _node_bytes(child, begin + len(below), packed)
    below += bytes(13) if node.below else b""
    head = struct.pack("<IIIB", begin + len(below), len(node.values), len(values), len(name))
    return head + name + values + bytes(below)


def _value_bytes(value: Value, packed: bool) -> bytes:
    if isinstance(value, str):
        name = "\0\x01".join(reversed(value.split("::"))) if "::" in value else value
        return b"S" + struct.pack("<I", len(name)) + name.encode()
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    if isinstance(value, int):
        return b"L" + struct.pack("<q", value)
    whole = all(isinstance(x, int) for x in value)
    code = "d" if not whole else "l" if any(x > 1 << 31 for x in value) else "i"
    data = struct.pack(f"<{len(value)}{'q' if code == 'l' else code}", *value)
    stored = zlib.compress(data) if packed else data
    return code.encode() + struct.pack("<III", len(value), int(packed), len(stored)) + stored
