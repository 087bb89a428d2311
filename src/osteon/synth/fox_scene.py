"""Balls, boxes and a capsule in the way of the galloping fox, as the scene file of `osteon demo collide`."""

from __future__ import annotations

from typing import Any

#: Three balls and three boxes fall on the fox, a capsule lies on its back, a ball rolls towards it.
SCENE: dict[str, Any] = {
    "unit": "diagonal",
    "bodies": [
        {
            "shape": "capsule",
            "radius": 0.03,
            "height": 0.16,
            "position": [0, 0.46, 0],
            "rotation": [0.5, 0.5, 0.5, 0.5],
        },
        {"shape": "sphere", "radius": 0.06, "position": [0.02, 0.6, 0.12], "restitution": 0.7, "color": "#e8552f"},
        {"shape": "box", "size": [0.1, 0.1, 0.1], "position": [0.0, 0.62, -0.12], "color": "#f0b429"},
        {"shape": "sphere", "radius": 0.045, "position": [-0.03, 0.72, 0.2], "restitution": 0.7, "color": "#3f8fd9"},
        {"shape": "box", "size": [0.14, 0.06, 0.1], "position": [0.03, 0.75, 0.0], "color": "#5aa469"},
        {
            "shape": "sphere",
            "radius": 0.07,
            "position": [0.02, 0.07, 0.75],
            "velocity": [0, 0, -0.9],
            "color": "#e8552f",
        },
        {"shape": "box", "size": [0.09, 0.09, 0.09], "position": [0.1, 0.05, 0.3], "color": "#9b6fc0"},
    ],
}
