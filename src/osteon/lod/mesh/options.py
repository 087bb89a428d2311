"""Options of mesh levels, checked on construction."""

from __future__ import annotations

from dataclasses import dataclass

from osteon.core.options import check_options, option

__all__ = ["SimplifyOptions"]


@dataclass(frozen=True, slots=True)
class SimplifyOptions:
    """How a mesh loses its triangles."""

    poses: int = option(
        6, help="Poses besides the rest pose in which shape is kept and no triangle turns over.", minimum=1, maximum=64
    )
    texture: float = option(
        0.5, help="What a texture that slides counts, of a surface that is as far off.", minimum=0.0, maximum=100.0
    )
    fit: bool = option(True, help="Fit places and weights of every level to the source.")
    lock_borders: bool = option(False, help="Leave open borders exactly as they are.")
    measured: int = option(24, help="Poses in which the error of a level is measured.", minimum=1, maximum=4096)
    threads: int = option(0, help="0: all there are.", minimum=0)

    def __post_init__(self) -> None:
        check_options(self)
