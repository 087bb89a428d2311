"""A deforming mesh: one connectivity, one rest pose, frames in named clips, and what the asset carried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from osteon.core.arrays import Float32, Int32, checked, checked_indices
from osteon.core.errors import GeometryError

__all__ = [
    "DEFAULT_FPS",
    "AlphaMode",
    "Asset",
    "Clip",
    "Image",
    "Material",
    "MeshSequence",
    "TextureRole",
    "check_clips",
    "distinct_names",
    "join_clips",
]

DEFAULT_FPS = 24.0

AlphaMode = Literal["OPAQUE", "MASK", "BLEND"]
TextureRole = Literal["base_color", "metallic_roughness", "normal", "occlusion", "emissive"]


@dataclass(frozen=True, slots=True)
class Clip:
    """A named run of consecutive frames, start <= f < stop."""

    name: str
    start: int
    stop: int
    fps: float = DEFAULT_FPS  # frames per second

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise GeometryError(f"clip '{self.name}': frames {self.start} … {self.stop} are empty or negative")
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise GeometryError(f"clip '{self.name}': frame rate must be positive, got {self.fps}")

    @property
    def n_frames(self) -> int:
        return self.stop - self.start


def check_clips(clips: tuple[Clip, ...], n_frames: int) -> None:
    """Refuse clips that leave gaps, overlap, or do not end with the last frame."""
    stops = [0, *(c.stop for c in clips)]
    if [c.start for c in clips] != stops[:-1] or stops[-1] != n_frames:
        raise GeometryError(f"clips must follow each other and cover all {n_frames} frames")


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each that came before with one to three _ added, or else a number: `a`, `a_`, …, `a_4`."""
    taken: dict[str, None] = {}
    times: dict[str, int] = {}
    for name in names:
        candidate = name
        while candidate in taken:
            times[name] = times.get(name, 0) + 1
            candidate = name + "_" * times[name] if times[name] <= 3 else f"{name}_{times[name]}"
        taken[candidate] = None
    return tuple(taken)


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as its file holds it; never decoded, only carried."""

    name: str  # without a suffix
    mime: str  # "image/png" or "image/jpeg"
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Material:
    """How a group of triangles looks; enough to come out again on export."""

    name: str
    base_color: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    metallic: float = 0.0
    roughness: float = 0.9
    double_sided: bool = False
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha_mode: AlphaMode = "OPAQUE"
    alpha_cutoff: float = 0.5  # counts only with alpha_mode MASK
    textures: tuple[tuple[TextureRole, Image], ...] = ()  # at most one a role, all on the asset's uvs

    def __post_init__(self) -> None:
        if self.alpha_mode not in get_args(AlphaMode):
            raise GeometryError(f"material '{self.name}': alpha mode must be OPAQUE, MASK or BLEND")
        roles = [role for role, _ in self.textures]
        if len(set(roles)) != len(roles) or not set(roles) <= set(get_args(TextureRole)):
            known = ", ".join(get_args(TextureRole))
            raise GeometryError(f"material '{self.name}': a texture has one of the roles {known}, each at most once")

    def texture(self, role: TextureRole) -> Image | None:
        """The image of a role, if there is one."""
        return dict(self.textures).get(role)


@dataclass(frozen=True, slots=True)
class Asset:
    """What the input carried besides positions. Every field may be absent (None or empty)."""

    uvs: Float32 | None = None  # (t,3,2) one texture coordinate per triangle corner, origin at the bottom left
    colors: Float32 | None = None  # (v,4) RGBA in 0 … 1
    materials: tuple[Material, ...] = ()
    triangle_material: Int32 | None = None  # (t,) index into materials
    polygon_of_triangle: Int32 | None = None  # (t,) consecutive triangles of one fan share a number
    primitive_of_triangle: Int32 | None = None  # (t,) which primitive of the input file
    primitive_names: tuple[str, ...] = ()

    def checked(self, n_vertices: int, n_triangles: int) -> Asset:
        """The same asset with every array checked against the mesh it belongs to."""

        def per_triangle(name: str, value: Int32 | None, count: int) -> Int32 | None:
            return None if value is None else checked_indices(name, value, (n_triangles,), count)

        return replace(
            self,
            uvs=None if self.uvs is None else checked("uvs", self.uvs, (n_triangles, 3, 2)),
            colors=None if self.colors is None else checked("colors", self.colors, (n_vertices, 4)),
            triangle_material=per_triangle("triangle_material", self.triangle_material, max(1, len(self.materials))),
            polygon_of_triangle=per_triangle("polygon_of_triangle", self.polygon_of_triangle, max(1, n_triangles)),
            primitive_of_triangle=per_triangle(
                "primitive_of_triangle", self.primitive_of_triangle, max(1, len(self.primitive_names))
            ),
        )


@dataclass(frozen=True, slots=True)
class MeshSequence:
    """A mesh whose vertices move while its connectivity stays."""

    frames: Float32  # (f,v,3) positions
    faces: Int32  # (t,3) vertex indices, counter-clockwise seen from outside
    rest: Float32  # (v,3) the undeformed pose
    clips: tuple[Clip, ...] = ()  # cover all frames in order; () means one clip
    asset: Asset = field(default_factory=Asset)
    name: str = "mesh"

    def __post_init__(self) -> None:
        def put(key: str, value: object) -> None:
            object.__setattr__(self, key, value)

        put("frames", checked("frames", self.frames, (None, None, 3)))
        put("rest", checked("rest", self.rest, (self.n_vertices, 3)))
        put("faces", checked_indices("faces", self.faces, (None, 3), self.n_vertices))
        if self.n_frames < 1:
            raise GeometryError("frames: the sequence is empty")
        put("clips", tuple(self.clips) or (Clip("clip", 0, self.n_frames),))
        put("asset", self.asset.checked(self.n_vertices, self.n_triangles))
        check_clips(self.clips, self.n_frames)

    @property
    def n_frames(self) -> int:
        return int(self.frames.shape[0])

    @property
    def n_vertices(self) -> int:
        return int(self.frames.shape[1])

    @property
    def n_triangles(self) -> int:
        return int(self.faces.shape[0])

    @property
    def diagonal(self) -> float:
        """Length of the rest pose's bounding-box diagonal, the unit of all tolerances."""
        return float(np.linalg.norm(np.ptp(self.rest.astype(np.float64), axis=0)))

    def clip_of_frame(self, frame: int) -> Clip:
        """The clip that holds `frame`."""
        return next(c for c in self.clips if c.start <= frame < c.stop)

    def take_frames(self, frames: Int32) -> MeshSequence:
        """The same mesh with only the given frames, as one clip."""
        return replace(self, frames=self.frames[frames], clips=(Clip("taken", 0, len(frames), self.clips[0].fps),))


def join_clips(sequences: list[MeshSequence]) -> MeshSequence:
    """Several sequences of one mesh become one sequence with a clip each; the first gives rest pose and asset."""
    if not sequences:
        raise GeometryError("no sequences to join")
    first = sequences[0]
    clips: list[Clip] = []
    start = 0
    for sequence in sequences:
        if sequence.n_vertices != first.n_vertices:
            raise GeometryError(
                f"'{sequence.name}' has {sequence.n_vertices} vertices but '{first.name}' has {first.n_vertices}; "
                "clips on one rig must share their mesh"
            )
        if not np.array_equal(sequence.faces, first.faces):
            raise GeometryError(
                f"'{sequence.name}' connects its vertices differently from '{first.name}'; "
                "clips on one rig must share their mesh"
            )
        for clip in sequence.clips:
            name = sequence.name if len(sequence.clips) == 1 else clip.name
            clips.append(Clip(name, start + clip.start, start + clip.stop, clip.fps))
        start += sequence.n_frames
    frames = np.concatenate([s.frames for s in sequences]) if len(sequences) > 1 else first.frames
    names = distinct_names(clip.name for clip in clips)
    named = tuple(replace(clip, name=name) for clip, name in zip(clips, names, strict=True))
    return replace(first, frames=frames, clips=named)
