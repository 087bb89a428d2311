"""Scene files: what they hold, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.apply.collide.scene import GRAVITY, load_scene
from osteon.core.errors import FileFormatError, GeometryError

BALL: dict[str, Any] = {"shape": "sphere", "radius": 0.1, "position": [0, 1, 0]}


def written(folder: Path, content: Any) -> Path:
    path = folder / "scene.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def with_body(**changes: Any) -> dict[str, Any]:
    return {"bodies": [{key: value for key, value in (BALL | changes).items() if value is not None}]}


def test_all_keys_are_read(tmp_path: Path) -> None:
    content = {
        "unit": "diagonal",
        "gravity": [0, 0, -2],
        "ground": {"height": -0.5, "friction": 0.2, "restitution": 0.1, "visible": False},
        "character": {"friction": 0.9},
        "bodies": [
            BALL | {"mass": 3, "velocity": [1, 2, 3], "color": "#ff8000", "name": "one", "friction": 0.4},
            {"shape": "box", "size": [2, 4, 6], "position": [0, 0, 0], "rotation": [0, 0, 2, 0], "fixed": True},
            {"shape": "capsule", "radius": 0.5, "height": 3, "position": [0, 0, 0], "density": 2, "restitution": 1},
        ],
    }
    scene = load_scene(written(tmp_path, content)).in_units_of(10.0)
    ball, box, capsule = scene.bodies
    assert ball.size.tolist() == [1, 0, 0]
    assert ball.position.tolist() == [0, 10, 0]
    assert ball.velocity.tolist() == [10, 20, 30]
    assert ball.mass == pytest.approx(3)
    assert (ball.name, box.name) == ("one", "box 2")
    assert ball.color == pytest.approx((1, 0.2158, 0), abs=1e-3)
    assert ball.touch.friction == 0.4
    assert box.size.tolist() == [10, 20, 30]
    assert box.rotation.tolist() == [0, 0, 1, 0]
    assert box.fixed
    assert capsule.size.tolist() == [5, 10, 0]
    assert capsule.mass == pytest.approx(2 * np.pi * 0.25 * (2 + 2 / 3))
    assert scene.gravity is not None
    assert scene.gravity.tolist() == [0, 0, -20]
    assert scene.up.tolist() == [0, 0, 1]
    assert scene.ground is not None
    assert (scene.ground.height, scene.ground.touch.friction, scene.ground.visible) == (-5, 0.2, False)
    assert scene.character.friction == 0.9


def test_defaults(tmp_path: Path) -> None:
    scene = load_scene(written(tmp_path, {"bodies": [BALL]})).in_units_of(2.0)
    assert scene.gravity is not None
    assert scene.gravity.tolist() == [0, -2 * GRAVITY, 0]
    assert scene.ground is not None
    assert scene.ground.height is None
    assert scene.bodies[0].size[0] == 0.1
    assert load_scene(written(tmp_path, {"bodies": [BALL], "ground": False})).ground is None


BAD = {
    "an unknown shape": (with_body(shape="spere"), ["body 1", "'shape'", "'spere'", "did you mean 'sphere'?"]),
    "an unknown key": (with_body(radios=1), ["body 1", "'radios'", "did you mean 'radius'?"]),
    "a key of another shape": (with_body(height=1), ["'height'"]),
    "an unknown key of the scene": ({"bodies": [BALL], "gravty": 1}, ["'gravty'", "did you mean 'gravity'?"]),
    "no shape": (with_body(shape=None), ["'shape'"]),
    "no size": (with_body(radius=None), ["'radius'"]),
    "no place": (with_body(position=None), ["'position'"]),
    "a negative radius": (with_body(radius=-1), ["'radius'", "above 0"]),
    "two numbers": (with_body(position=[0, 1]), ["'position'", "3 numbers"]),
    "NaN": ('{"bodies": [{"shape": "sphere", "radius": NaN, "position": [0, 0, 0]}]}', ["'radius'"]),
    "a zero quaternion": (with_body(rotation=[0, 0, 0, 0]), ["body 1", "rotation"]),
    "restitution above one": (with_body(restitution=1.5), ["restitution", "0 … 1"]),
    "mass and density": (with_body(mass=1, density=1), ["mass", "density"]),
    "a colour": (with_body(color="red"), ["'color'", "#rrggbb"]),
    "no bodies": ({}, ["'bodies'"]),
    "an empty list": ({"bodies": []}, ["'bodies'", "empty"]),
    "a unit": ({"bodies": [BALL], "unit": "inch"}, ["'unit'", "'diagonal'"]),
    "a short capsule": (
        {"bodies": [{"shape": "capsule", "radius": 1, "height": 1, "position": [0, 0, 0]}]},
        ["'height'", "twice the radius"],
    ),
    "no JSON": ("bodies", ["line 1", "JSON"]),
    "fixed": (with_body(fixed=1), ["'fixed'", "true or false"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_scenes_are_refused_by_name(tmp_path: Path, case: str) -> None:
    content, words = BAD[case]
    path = written(tmp_path, content)
    with pytest.raises((FileFormatError, GeometryError)) as caught:
        load_scene(path)
    message = str(caught.value)
    assert "scene.json" in message
    assert "\n" not in message
    for word in words:
        assert word in message, message
