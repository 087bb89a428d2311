"""Options of `osteon collide --bodies`."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.options import GIVEN, check_options, need, option


@dataclass(frozen=True, slots=True)
class BodyFiles:
    """The scene of bodies, and the file of their motion."""

    bodies: str | None = option(
        None,
        help="Simulate the rigid bodies of a scene, which A kicks, and write A and the bodies with -o.",
        flags=("--bodies",),
        metavar="SCENE.json",
    )
    output: str | None = option(
        None,
        help="The character and the bodies as one file: .glb or .gltf.",
        flags=("-o", "--output"),
        metavar="OUT",
        needs=(need(bodies=GIVEN),),
    )


@dataclass(frozen=True, slots=True)
class BodyOptions:
    """How bodies are simulated."""

    rate: float = option(
        60.0,
        help="Keys per second of the bodies in the file.",
        flags=("--body-keys",),
        minimum=1,
        maximum=1000,
        unit="per second",
    )
    loops: int = option(
        1, help="Times that every clip is played while the bodies move.", flags=("--loops",), minimum=1, maximum=1000
    )
    steps: float = option(
        240.0,
        help="Steps of the solver per second at least; fast bodies get more.",
        flags=("--steps",),
        minimum=30,
        maximum=100_000,
        unit="per second",
    )

    def __post_init__(self) -> None:
        check_options(self)
