"""Random glTF scenes (trees of nodes, several skins, morph targets, all interpolations): both readers show the same."""

from __future__ import annotations

import numpy as np
import pytest

from tests.formats.agreement import assert_readers_agree


def random_geometry(glb, rng, n_joints: int, n_targets: int) -> dict:
    """A mesh of one or two primitives with up to twelve influences a vertex."""
    primitives = []
    sets = int(rng.integers(1, 3))
    for _ in range(rng.integers(1, 3)):
        count = int(rng.integers(3, 12))
        attributes = {"POSITION": glb.accessor(rng.normal(size=(count, 3)))}
        for n in range(sets if n_joints else 0):
            attributes[f"JOINTS_{n}"] = glb.accessor(rng.integers(0, n_joints, (count, 4)), "u2")
            attributes[f"WEIGHTS_{n}"] = glb.accessor(rng.random((count, 4)) * (rng.random((count, 4)) > 0.3))
        targets = [{"POSITION": glb.accessor(0.2 * rng.normal(size=(count, 3)))} for _ in range(n_targets)]
        corners = glb.accessor(rng.integers(0, count, 3 * count), "u2")
        primitives.append({"attributes": attributes, "indices": corners} | ({"targets": targets} if targets else {}))
    return {"primitives": primitives} | ({"weights": rng.normal(size=n_targets).tolist()} if n_targets else {})


def random_nodes(rng, n_nodes: int) -> list[dict]:
    """A tree in which every node stands somewhere."""
    nodes: list[dict] = []
    for i in range(n_nodes):
        turn = rng.normal(size=4)
        placed = {
            "name": f"n{rng.integers(0, 4)}",
            "translation": rng.normal(size=3).tolist(),
            "rotation": (turn / np.linalg.norm(turn)).tolist(),
            "scale": rng.uniform(0.5, 1.5, 3).tolist(),
        }
        nodes.append(placed)
        if i and rng.random() < 0.7:
            nodes[int(rng.integers(0, i))].setdefault("children", []).append(i)
    return nodes


def random_channel(glb, rng, node: int, n_targets: int) -> tuple[dict, dict]:
    path = str(rng.choice(["translation", "rotation", "scale", *(["weights"] if n_targets else [])]))
    interpolation = str(rng.choice(["STEP", "LINEAR", "CUBICSPLINE"]))
    keys = int(rng.integers(1, 5))
    width = {"rotation": 4, "weights": 1}.get(path, 3)
    rows = keys * (3 if interpolation == "CUBICSPLINE" else 1) * (n_targets if path == "weights" else 1)
    values = rng.normal(size=(rows, width))
    times = np.cumsum(rng.uniform(0.05, 0.3, keys))
    output = glb.accessor(values[:, 0] if width == 1 else values)
    sampler = {"input": glb.accessor(times), "output": output, "interpolation": interpolation}
    return sampler, {"target": {"node": node, "path": path}}


@pytest.mark.parametrize("seed", range(25))
def test_random_scenes(glb, tmp_path, seed):
    rng = np.random.default_rng(seed)
    nodes = random_nodes(rng, int(rng.integers(4, 12)))
    root = glb.json
    root |= {"meshes": [], "skins": [], "nodes": nodes, "animations": []}
    targets = {}
    for node in rng.permutation(len(nodes))[: rng.integers(1, 4)].tolist():
        joints = rng.permutation(len(nodes))[: rng.integers(1, 5)].tolist() if rng.random() < 0.6 else []
        targets[node] = int(rng.integers(0, 3))
        root["meshes"].append(random_geometry(glb, rng, len(joints), targets[node]))
        nodes[node]["mesh"] = len(root["meshes"]) - 1
        if joints:
            binds = np.tile(np.eye(4), (len(joints), 1, 1))
            binds[:, :3, :3] += 0.3 * rng.normal(size=(len(joints), 3, 3))
            binds[:, 3, :3] = rng.normal(size=(len(joints), 3))
            stored = glb.accessor(binds.reshape(-1, 16), "f4", "MAT4")
            root["skins"].append({"joints": joints, "inverseBindMatrices": stored})
            nodes[node]["skin"] = len(root["skins"]) - 1
    for clip in range(rng.integers(0, 3)):
        chosen = rng.permutation(len(nodes))[: rng.integers(1, len(nodes))].tolist()
        pairs = [random_channel(glb, rng, node, targets.get(node, 0)) for node in chosen]
        channels = [channel | {"sampler": i} for i, (_, channel) in enumerate(pairs)]
        entry = {"name": f"clip {clip % 2}", "samplers": [sampler for sampler, _ in pairs], "channels": channels}
        root["animations"].append(entry)
    model = assert_readers_agree(glb.save(tmp_path / "scene.glb"))
    assert len(set(model.track.names)) == model.n_bones
    assert model.rank == sum(targets.values())
