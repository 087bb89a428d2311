"""Real glTF characters against an evaluation that shares no code with the reader: SciPy rotations, frame by frame.

Runs where the data folder beside the repository exists.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from osteon.io import LoadOptions, load_sequence

CHARACTERS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "characters"
pytestmark = pytest.mark.skipif(not CHARACTERS.is_dir(), reason="no shared data beside the repository")

CLIPS = {
    "Fox": {"Survey": 83, "Walk": 18, "Run": 36},
    "CesiumMan": {"animation_0": 48},
    "RiggedFigure": {"animation_0": 31},
    "RiggedSimple": {"animation_0": 50},
    "Soldier": {"Idle": 60, "Run": 22, "TPose": 2, "Walk": 32},
    "Horse": {"horse_A_": 46},
    "MorphStressTest": {"Individuals": 281, "TheWave": 59, "Pulse": 191},
}


class Plain:
    """A glTF file read in the most direct way."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        size = struct.unpack_from("<I", data, 12)[0]
        self.json = json.loads(data[20 : 20 + size])
        self.blob = data[28 + size :]
        self.parent = {c: i for i, node in enumerate(self.json["nodes"]) for c in node.get("children", [])}

    def read(self, index: int) -> np.ndarray:
        entry = self.json["accessors"][index]
        view = self.json["bufferViews"][entry["bufferView"]]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[entry["type"]]
        dtype = np.dtype({5121: "u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}[entry["componentType"]])
        start = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
        stride = view.get("byteStride", width * dtype.itemsize)
        rows = [np.frombuffer(self.blob, dtype, width, start + i * stride) for i in range(entry["count"])]
        return np.array(rows, float)

    def matrix(self, node: int, pose: dict) -> np.ndarray:
        entry = self.json["nodes"][node]
        out = np.eye(4)
        if "matrix" in entry:
            out = np.array(entry["matrix"], float).reshape(4, 4).T
        else:
            turn = pose.get((node, "rotation"), entry.get("rotation", [0, 0, 0, 1]))
            scale = pose.get((node, "scale"), entry.get("scale", [1, 1, 1]))
            out[:3, :3] = Rotation.from_quat(turn).as_matrix() @ np.diag(scale)
            out[:3, 3] = pose.get((node, "translation"), entry.get("translation", [0, 0, 0]))
        return self.matrix(self.parent[node], pose) @ out if node in self.parent else out

    def pose(self, animation: dict | None, time: float) -> dict:
        found: dict = {}
        for channel in animation["channels"] if animation else ():
            sampler = animation["samplers"][channel["sampler"]]
            times, values = self.read(sampler["input"])[:, 0], self.read(sampler["output"])
            node, path = channel["target"]["node"], channel["target"]["path"]
            now = min(max(time, times[0]), times[-1])
            values = values.reshape(len(times), -1)
            if path == "rotation" and len(times) > 1:
                found[node, path] = Slerp(times, Rotation.from_quat(values))(now).as_quat()
            else:
                found[node, path] = np.array([np.interp(now, times, column) for column in values.T])
        return found

    def vertices(self, pose: dict) -> np.ndarray:
        parts = []
        for i, node in enumerate(self.json["nodes"]):
            for primitive in self.json["meshes"][node["mesh"]]["primitives"] if "mesh" in node else ():
                shape = self.read(primitive["attributes"]["POSITION"])
                targets = primitive.get("targets", [])
                default = self.json["meshes"][node["mesh"]].get("weights", [0] * len(targets))
                for weight, target in zip(pose.get((i, "weights"), default), targets, strict=True):
                    shape = shape + weight * self.read(target["POSITION"])
                parts.append(
                    self.skinned(node, primitive, shape, pose) if "skin" in node else self.moved(i, shape, pose)
                )
        return np.concatenate(parts)

    def moved(self, node: int, shape: np.ndarray, pose: dict) -> np.ndarray:
        matrix = self.matrix(node, pose)
        return shape @ matrix[:3, :3].T + matrix[:3, 3]

    def skinned(self, node: dict, primitive: dict, shape: np.ndarray, pose: dict) -> np.ndarray:
        skin = self.json["skins"][node["skin"]]
        binds = self.read(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        moves = np.array([self.matrix(j, pose) @ b for j, b in zip(skin["joints"], binds, strict=True)])
        joints = self.read(primitive["attributes"]["JOINTS_0"]).astype(int)
        weights = self.read(primitive["attributes"]["WEIGHTS_0"])
        weights /= weights.sum(axis=1, keepdims=True)
        blend = np.einsum("vk,vkij->vij", weights, moves[joints])
        return np.einsum("vij,vj->vi", blend[:, :3, :3], shape) + blend[:, :3, 3]


@pytest.mark.parametrize("name", sorted(CLIPS))
def test_clips_and_poses(name):
    path = CHARACTERS / f"{name}.glb"
    sequence = load_sequence(path)
    assert {c.name: c.n_frames for c in sequence.clips} == CLIPS[name]
    plain = Plain(path)
    tolerance = 1e-5 * sequence.diagonal
    for clip, animation in zip(sequence.clips, plain.json["animations"], strict=True):
        times = [plain.read(s["input"])[:, 0] for s in animation["samplers"]]
        start, end = min(t[0] for t in times), max(t[-1] for t in times)
        for f in sorted({0, 1, clip.n_frames // 2, clip.n_frames - 1}):
            expected = plain.vertices(plain.pose(animation, min(start + f / clip.fps, end)))
            assert np.abs(sequence.frames[clip.start + f] - expected).max() < tolerance, (clip.name, f)
    assert np.abs(sequence.rest - plain.vertices({})).max() < tolerance  # these files are saved in their bind pose


def test_sampling_meets_every_key_of_the_soldier():
    plain = Plain(CHARACTERS / "Soldier.glb")
    walk = next(a for a in plain.json["animations"] if a["name"] == "Walk")
    keys = np.unique(np.concatenate([plain.read(s["input"])[:, 0] for s in walk["samplers"]]))
    sequence = load_sequence(CHARACTERS / "Soldier.glb", options=LoadOptions(clips=("Walk",)))
    assert len(keys) == sequence.n_frames
    for f in range(0, len(keys), 10):
        expected = plain.vertices(plain.pose(walk, keys[f]))
        assert np.abs(sequence.frames[f] - expected).max() < 1e-5 * sequence.diagonal


def test_looks_are_kept():
    soldier = load_sequence(CHARACTERS / "Soldier.glb")
    assert soldier.asset.primitive_names == ("vanguard_Mesh", "vanguard_visor")
    assert [m.name for m in soldier.asset.materials] == ["VanguardBodyMat", "Vanguard_VisorMat"]
    assert soldier.asset.uvs.shape == (soldier.n_triangles, 3, 2)
    assert load_sequence(CHARACTERS / "Horse.glb").asset.colors.shape == (796, 4)


def test_a_rate_of_ones_own():
    sequence = load_sequence(CHARACTERS / "Fox.glb", options=LoadOptions(fps=10, clips=("Walk",)))
    assert sequence.clips[0].fps == 10
    assert sequence.n_frames == 9
