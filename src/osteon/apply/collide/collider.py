"""A collider: the surface of a skinned character, to be queried in any frame and pose without moving all its vertices.

    collider = osteon.Collider.of(model)
    hit = collider.at(12).ray((0, 1, 5), (0, 0, -1))            # frame 12
    near = collider.at(transforms).closest_point((0, 1, 5))     # bones (b,3,4) of any pose
    many = collider.rays(frames, origins, directions)           # a ray per row, each in its frame

In frames of the animation, boxes of all nodes are stored. In other poses of linear families they follow from the bones,
the coefficients and the weights where a query reaches them, and when a batch reaches many, all vertices are skinned and
the tree is refitted. Other families are refitted in new poses.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7.

A collider keeps caches that its queries share, so calls run one at a time: kernels hold the interpreter lock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from osteon.apply.collide.batches import (
    NO_BUDGET,
    Triple,
    all_pairs,
    as_contacts,
    as_depths,
    barycentric,
    box_row,
    capsule_row,
    cast_many,
    first_contact,
    near_many,
    plane_rows,
    ray_rows,
    refuse,
    sphere_rows,
    unit_normals,
    vectors,
)
from osteon.apply.collide.bound_records import bound_records
from osteon.apply.collide.cast_rays import ANY_HIT, FIRST_HIT, all_hits, one_ray
from osteon.apply.collide.collision_tree import CollisionTree, build_collision_tree, moving_columns
from osteon.apply.collide.contact_types import Contact, Contacts, Hit, SurfaceContacts, SurfacePoint
from osteon.apply.collide.deformation_bounds import deformation_arrays
from osteon.apply.collide.leaf_vertices import PAD, fit_frames, refit, triangle_corners
from osteon.apply.collide.nearest_triangle import (
    BOX,
    PLANE,
    POINT,
    SEGMENT,
    all_near,
    one_plane,
    one_point,
)
from osteon.apply.collide.tree_table import (
    BLENDED,
    BOUNDS_BY,
    COUNTS,
    DEFORMED,
    FIELD,
    LAZY,
    N_POINTERS,
    READ,
    REGION,
    SERIAL,
    STACK,
    STORED,
    TABLE,
    copy_pose,
    retarget,
    write_table,
)
from osteon.apply.collide.triangle_pairs import meet, meet_itself
from osteon.core.animation import Animation, BoneTrack, bone_type_of
from osteon.core.arrays import Float32, Float64, FloatArray, Int64, checked
from osteon.core.character import Arrays, StoredDisplacement
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames, pose_points

#: Numbers of scratch.
SCRATCH = 8192
#: In a new pose: so many queries are worth refitting at once; bounds that may be computed before, per vertex.
MANY, WASTE = 32, 0.03
#: Arrays of new poses that queries write to, and those of them that hold numbers of poses.
STAMPS = ("group_stamps", "spread_stamps", "region_stamps")
OWN = (
    "boxes",
    "palette",
    "frames",
    "group_boxes",
    "group_stamps",
    "spread_stamps",
    "region_stamps",
    "region_pads",
    "lanes",
)
#: Entry points of compiled kernels by name, once a collider exists. A call of one costs 0.15 us; a check of the types
#: of its arguments would add 0.1.
_CALL: dict[str, Any] = {}
_NOTHING: Arrays = {}
#: Makes a result of a single query from a tuple of its fields: 0.07 us less than its class.
_new = tuple.__new__
_DOUBLE = np.dtype(np.float64)


def _make_ready() -> None:
    """Compile or load the kernels of single queries."""
    kernels: tuple[Any, ...] = (one_ray, one_point, one_plane, copy_pose)
    for kernel in kernels:
        if kernel.__name__ not in _CALL:
            compiled = getattr(kernel, "compile", None)  # absent where numba is switched off
            _CALL[kernel.__name__] = kernel if compiled is None else compiled(kernel.declared)


@dataclass(frozen=True, slots=True)
class _Caches:
    """Values that queries compute on demand, shared by all poses; every pose has its own number."""

    arrays: Arrays

    @staticmethod
    def of(tree: CollisionTree) -> _Caches:
        return _Caches(
            {
                "posed": np.empty((tree.n_vertices, 3)),
                "stamps": np.zeros(tree.n_vertices, np.int64),
                "box_stamps": np.zeros(tree.n_nodes, np.int64),
                "stack": np.empty(STACK),
                "scratch": np.zeros(SCRATCH),
                "counts": np.zeros(4, np.int64),
            }
        )


class Collider:
    """The surface of a model, with a tree whose bounds follow the bones."""

    __slots__ = (
        "_arrays",
        "_caches",
        "_is_blended",
        "_lazy",
        "_lazy_size",
        "_lazy_template",
        "_pad",
        "_plain",
        "_poses",
        "_refit_template",
        "_serial",
        "_shape",
        "_spheres",
        "_table",
        "_twin_caches",
        "_twin_lazy",
        "model",
        "tree",
    )

    def __init__(self, model: SkinnedModel, tree: CollisionTree, *, compact: bool = False) -> None:
        """Use `Collider.of(model)`."""
        _make_ready()
        self.model, self.tree = model, tree
        self._caches = _Caches.of(tree)
        self._serial = self._lazy_size = 0
        self._shape, self._is_blended = (model.n_bones, 3, 4), tree.vertices_by == BLENDED
        self._plain: tuple[int, ...] = ()  # the shape of bones that `at` takes without further checks
        self._lazy: Arrays | None = None
        self._spheres: Arrays = {}
        self._twin_caches: _Caches | None = None
        self._twin_lazy: Arrays = {}
        self._lazy_template = self._refit_template = np.empty(0, np.int64)
        self._pad = PAD * _size(model)
        self._caches.arrays["scratch"][0] = self._pad  # kernels read it there
        self._arrays = self._stored_arrays()
        self._table = self._write(self._arrays, self.model.n_frames, local=1)
        self._poses: dict[int, ColliderPose] = {}
        fit_frames(self._table, 0, model.n_frames, self._pad)
        if compact:
            self._compress()

    def _compress(self) -> None:
        """Replace the stored boxes by a Bounded Deformation Tree."""
        posed = np.stack([ColliderPose(self, self._table, f, {}).vertices() for f in range(self.n_frames)])
        found = deformation_arrays(self.tree, posed, self._arrays["frames"], self._arrays["boxes"])
        spheres = {"deformed": found["deformed"], "boxes": np.empty((self.tree.n_nodes, 6), np.float32)}
        self._spheres = spheres
        self._arrays = {**self._arrays, "local_q": found["local_q"], "top_boxes": found["top_boxes"]}
        del self._arrays["boxes"]
        self._table = self._write(self._arrays, self.n_frames, local=1, bounds_by=DEFORMED)
        for name, array in spheres.items():
            self._table[FIELD[name]] = array.ctypes.data
        self._table[FIELD["local_rank"] + N_POINTERS] = found["local_q"].shape[2]
        self._table[FIELD["n_top"] + N_POINTERS] = found["top_boxes"].shape[1]

    @staticmethod
    def of(model: SkinnedModel, *, compact: bool = False) -> Collider:
        """The collider of a model; takes about as long as posing all of its frames three times.

        `compact` stores a Bounded Deformation Tree for the frames instead of all boxes: less memory for long
        animations, and more nodes visited.
        """
        return Collider(model, build_collision_tree(model), compact=compact)

    def _stored_arrays(self) -> Arrays:
        """Arrays of the frames of the animation."""
        model, tree = self.model, self.tree
        transforms = model.animation.transforms.astype(np.float64)
        frames = np.empty((model.n_frames, len(tree.regions.bones) + 1, 12))
        frames[:, 0] = np.eye(3, 4).reshape(12)
        frames[:, 1:] = tree.regions.frames(transforms).reshape(model.n_frames, -1, 12)
        arrays: Arrays = {
            "transforms": transforms.reshape(model.n_frames, -1, 12),
            "coefficients": self._coefficients(model.animation, None),
            "frames": frames,
            "boxes": np.empty((model.n_frames, tree.n_nodes, 6), np.float32),
        }
        if tree.vertices_by == READ:
            arrays["stored"] = np.ascontiguousarray(pose_frames(model)[:, tree.vertices])
        return arrays

    def _coefficients(self, animation: Animation, given: FloatArray | None) -> Float64:
        """(f,r) coefficients of all columns that move positions; `given` replaces those that are stored."""
        columns = [np.empty((animation.n_frames, 0))]
        for one in self.model.character.displacements:
            rank = len(moving_columns(one.basis))
            if given is not None and one.kind == StoredDisplacement.kind:
                columns.append(checked("coefficients", given, (None, None), np.float64)[:, :rank])
            else:
                columns.append(one.position_coefficients(animation)[:, :rank].astype(np.float64))
        return np.ascontiguousarray(np.concatenate(columns, axis=1))

    def _write(self, arrays: Arrays, n_poses: int, *, local: int, bounds_by: int = STORED) -> Int64:
        """The table of arrays whose first axis is poses, which get numbers of their own; 0: they have no such axis."""
        tree = self.tree
        serial, self._serial = self._serial + 1, self._serial + n_poses
        counts = dict.fromkeys(COUNTS, 0)
        counts |= {"serial": serial, "n_nodes": tree.n_nodes, "n_triangles": tree.n_triangles}
        counts |= {"n_vertices": tree.n_vertices, "n_slots": tree.arrays["bones"].shape[1], "rank": tree.rank}
        counts |= {"n_offsets": tree.arrays["offsets"].shape[1], "local": local, "bounds_by": bounds_by}
        counts |= {"vertices_by": tree.vertices_by}
        counts["n_regions"] = len(tree.regions.bones)
        return write_table({**tree.arrays, **self._caches.arrays, **arrays}, set(arrays) if n_poses else set(), counts)

    @property
    def n_frames(self) -> int:
        """Frames of the animation."""
        return self.model.n_frames

    @property
    def n_bytes(self) -> int:
        """Bytes of the stored boxes, or of the Bounded Deformation Tree."""
        stored = [self._arrays.get(name) for name in ("boxes", "local_q", "top_boxes")] + [
            self._spheres.get("deformed")
        ]
        return sum(array.nbytes for array in stored if array is not None)

    def at(self, pose: int | FloatArray, coefficients: ArrayLike | None = None) -> ColliderPose:
        """The surface in a frame of the animation, or in a pose of its bones (b,3,4), posed_from_rest.

        `coefficients` (r,) are those of corrections in a pose of the bones; without them the corrections are zero.
        """
        if type(pose) is np.ndarray:
            if coefficients is None and pose.shape == self._plain and pose.dtype == _DOUBLE and pose.flags.c_contiguous:
                self._serial = serial = self._serial + 1
                table = np.empty(self._lazy_size, np.int64)
                if _CALL["copy_pose"](self._lazy_template, serial, pose, table):
                    return ColliderPose(self, table, 0, _NOTHING)
            return self._posed(pose, coefficients)
        if isinstance(pose, int):
            found = self._poses.get(pose)
            return self._frame(pose, coefficients) if found is None or coefficients is not None else found
        if isinstance(pose, np.integer):
            return self.at(int(pose), coefficients)
        return self._posed(pose, coefficients)

    def _frame(self, frame: int, coefficients: ArrayLike | None) -> ColliderPose:
        if coefficients is not None:
            raise OptionError("coefficients: a frame has its own; omit them, or give the transforms of its bones")
        self._check_frames(frame, frame)
        self._poses[frame] = found = ColliderPose(self, self._table, frame, self._arrays)
        return found

    def _check_frames(self, first: int, last: int) -> None:
        if first < 0 or last >= self.n_frames:
            bad = first if first < 0 else last
            raise OptionError(f"frame: expected 0 … {self.n_frames - 1}, got {bad}; '{self.model.name}' ends there")

    def _posed(self, pose: FloatArray, coefficients: ArrayLike | None) -> ColliderPose:
        model = self.model
        given = np.ascontiguousarray(pose, np.float64)
        if given.shape != self._shape:
            checked("transforms", given, self._shape, np.float64)
        if self._is_blended:
            return self._bounded(given, coefficients)
        transforms = checked("transforms", given, (model.n_bones, 3, 4), np.float64)
        arrays: Arrays = {"transforms": transforms.reshape(1, -1, 12)}
        rest = self.tree.arrays["rest"].astype(np.float64)[None]
        if self.tree.rank or coefficients is not None:
            arrays["coefficients"] = self._row_of(transforms, coefficients)
            basis = self.tree.arrays["basis"].swapaxes(0, 1)
            rest = rest + np.einsum("fr,rvi->fvi", arrays["coefficients"], basis)
        arrays["stored"] = pose_points(model.deformer.take(self.tree.vertices), rest, transforms[None])
        return ColliderPose(self, self._refit_table(arrays), 0, arrays)

    def _row_of(self, transforms: Float64, coefficients: ArrayLike | None) -> Float64:
        """(1,r) coefficients of all columns that move positions in a new pose."""
        given = self._stored_row(coefficients)
        track = BoneTrack(transforms[None].astype(np.float32), bone_type_of(transforms[None]), self.model.track.names)
        return self._coefficients(Animation(track, coefficients=given), given)

    def _bounded(self, transforms: Float64, coefficients: ArrayLike | None) -> ColliderPose:
        """A new pose whose boxes are bounds, computed on demand. Its bones and coefficients lie behind its table."""
        if self._lazy is None:
            self._make_lazy()
        self._serial += 1
        table = np.empty(self._lazy_size, np.int64)
        if not _CALL["copy_pose"](self._lazy_template, self._serial, transforms, table):
            checked("transforms", transforms, transforms.shape, np.float64)
        if self.tree.rank or coefficients is not None:
            row = self._row_of(transforms, coefficients)
            table.view(np.float64)[TABLE + transforms.size :] = row[0]
        return ColliderPose(self, table, 0, _NOTHING)

    def _make_lazy(self) -> None:
        """Compute the bounds for new poses."""
        self._lazy = bound_records(self.tree)
        table = self._write(self._lazy, 0, local=1, bounds_by=LAZY)
        table[FIELD["n_top"] + N_POINTERS] = int((self.tree.nodes[:, REGION] == 0).sum())
        table[[FIELD["transforms"], FIELD["coefficients"]]] = 8 * TABLE, 8 * (TABLE + 12 * self.model.n_bones)
        self._lazy_template, self._lazy_size = table, len(table) + 12 * self.model.n_bones + self.tree.rank
        self._plain = () if self.tree.rank else self._shape

    def _refit_table(self, arrays: Arrays) -> Int64:
        """The table of a new pose with all vertices skinned and all boxes fitted to them; `arrays` gets the boxes."""
        arrays["boxes"] = np.empty((self.tree.n_nodes, 6), np.float32)
        arrays["frames"] = np.eye(3, 4).reshape(1, 12)
        if not len(self._refit_template):
            self._refit_template = self._write({}, 0, local=0)
        table = retarget(self._refit_template, arrays, self._new_serial())
        refit(table, self._pad)
        return table

    def _twin(self, table: Int64) -> Int64:
        """The table with caches of its own, for a query between two poses of this collider."""
        if self._twin_caches is None:
            self._twin_caches = _Caches.of(self.tree)
            self._twin_caches.arrays["scratch"][0] = self._pad
        arrays = dict(self._twin_caches.arrays)
        if table[BOUNDS_BY] != STORED:
            shared = self._spheres if self._lazy is None or table[BOUNDS_BY] == DEFORMED else self._lazy
            own: Arrays = {name: shared[name].copy() for name in OWN if name in shared}
            self._twin_lazy = own
            arrays["box_stamps"][:] = 0
            for name in STAMPS:
                if name in own:
                    own[name][:] = 0
            arrays |= own
        return retarget(table, arrays, int(table[SERIAL]))

    def _new_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _stored_row(self, coefficients: ArrayLike | None) -> Float32 | None:
        """(1,r) the coefficients of the corrections in a new pose."""
        stored = self.model.character.displacement(StoredDisplacement.kind)
        if stored is None:
            if coefficients is not None:
                raise OptionError(f"coefficients: '{self.model.name}' has no corrections; omit them")
            return None
        rank = stored.basis.shape[0]
        given = np.zeros(rank) if coefficients is None else checked("coefficients", coefficients, (rank,))
        return np.asarray(given, np.float32)[None]

    def rays(self, frames: ArrayLike, origins: ArrayLike, directions: ArrayLike, longest: float = math.inf) -> Contacts:
        """The first hit of every ray (n,3), each in its frame (n,)."""
        rows = self._frame_rows(frames)
        return cast_many(self._table, rows, *ray_rows(origins, directions), longest)

    def closest_points(self, frames: ArrayLike, points: ArrayLike, within: float = math.inf) -> Contacts:
        """The closest point to every point (n,3), each in its frame (n,); distances are negative inside."""
        rows = self._frame_rows(frames)
        return near_many(self._table, rows, POINT, sphere_rows(points, 0.0), within)

    def spheres(self, frames: ArrayLike, centers: ArrayLike, radii: ArrayLike) -> Contacts:
        """The deepest contact of every sphere, each in its frame (n,)."""
        rows = self._frame_rows(frames)
        return as_depths(near_many(self._table, rows, POINT, sphere_rows(centers, radii), 0.0))

    def planes(self, frames: ArrayLike, normals: ArrayLike, heights: ArrayLike) -> Contacts:
        """The deepest contact of every half-space, each in its frame (n,)."""
        rows = self._frame_rows(frames)
        return as_depths(near_many(self._table, rows, PLANE, plane_rows(normals, heights), 0.0))

    def _frame_rows(self, frames: ArrayLike) -> Int64:
        rows = np.ascontiguousarray(frames, np.int64).reshape(-1)
        if len(rows):
            self._check_frames(int(rows.min()), int(rows.max()))
        return rows


def _size(model: SkinnedModel) -> float:
    """The largest coordinate that positions of a model are rounded at."""
    reach = np.abs(model.animation.transforms[..., 3]).max(initial=0.0)
    return float(reach + np.abs(model.rest).max(initial=0.0) + model.mesh.diagonal)


class ColliderPose:
    """The surface of a collider in one pose. Points and directions are in the units and axes of the pose."""

    __slots__ = ("_arrays", "_frame", "_table", "collider")

    def __init__(self, collider: Collider, table: Int64, frame: int, arrays: Arrays) -> None:
        self.collider, self._table, self._frame, self._arrays = collider, table, frame, arrays

    def ray(self, origin: Triple, direction: Triple, longest: float = math.inf) -> Hit | None:
        """The first hit of a ray; its direction may have any length."""
        ox, oy, oz = origin
        dx, dy, dz = direction
        t, k, px, py, pz, nx, ny, nz = _CALL["one_ray"](
            self._table, self._frame, ox, oy, oz, dx, dy, dz, longest, FIRST_HIT
        )
        if k >= 0:
            return _new(Hit, (t, k, (px, py, pz), (nx, ny, nz)))
        return None if k == -1 else refuse("ray", "a finite origin and a direction that is not zero")

    def is_hit(self, origin: Triple, direction: Triple, longest: float = math.inf) -> bool:
        """Whether a ray meets the surface, without a search for the first hit."""
        ox, oy, oz = origin
        dx, dy, dz = direction
        k = _CALL["one_ray"](self._table, self._frame, ox, oy, oz, dx, dy, dz, longest, ANY_HIT)[1]
        if k < -1:
            refuse("ray", "a finite origin and a direction that is not zero")
        return bool(k >= 0)

    def all_hits(self, origin: Triple, direction: Triple, longest: float = math.inf) -> list[Hit]:
        """All hits of a ray, the first one first; one on an edge counts for both of its triangles."""
        ray = np.array([*origin, *direction], np.float64)
        if not np.isfinite(ray).all():
            refuse("ray", "a finite origin and a direction that is not zero")
        room = 64
        while True:
            found = np.empty((room, 2))
            n = all_hits(self._table, self._frame, ray, longest, found.ctypes.data, found)
            if n <= room:
                break
            room = n
        if n < 0:
            refuse("ray", "a finite origin and a direction that is not zero")
        found = found[np.lexsort(found[:n].T[::-1])]
        way = ray[3:] / np.linalg.norm(ray[3:])
        corners = self.corners(found[:, 1].astype(np.int32))
        normals = unit_normals(corners)
        points = ray[:3] + found[:, :1] * way
        return [
            Hit(float(t), int(k), tuple(point.tolist()), tuple(normal.tolist()))
            for (t, k), point, normal in zip(found, points, normals, strict=True)
        ]

    def closest_point(self, point: Triple, within: float = math.inf) -> SurfacePoint | None:
        """The closest point of the surface, and its distance: negative inside a closed surface."""
        x, y, z = point
        d, k, px, py, pz, nx, ny, nz = _CALL["one_point"](self._table, self._frame, x, y, z, 0.0, within)
        if k >= 0:
            return _new(SurfacePoint, (d, k, (px, py, pz), (nx, ny, nz)))
        return None if k == -1 else refuse("closest_point", "a finite point")

    def sphere(self, center: Triple, radius: float) -> Contact | None:
        """The deepest contact with a sphere; None if the surface does not touch it."""
        x, y, z = center
        g, k, px, py, pz, nx, ny, nz = _CALL["one_point"](self._table, self._frame, x, y, z, radius, 0.0)
        if k >= 0:
            return _new(Contact, (-g, k, (px, py, pz), (nx, ny, nz)))
        return None if k == -1 else refuse("sphere", "a finite centre and a finite radius")

    def plane(self, normal: Triple, height: float) -> Contact | None:
        """The deepest contact with the half-space  normal . x <= height."""
        x, y, z = normal
        g, k, px, py, pz, nx, ny, nz = _CALL["one_plane"](self._table, self._frame, x, y, z, height)
        if k >= 0:
            return _new(Contact, (-g, k, (px, py, pz), (nx, ny, nz)))
        return None if k == -1 else refuse("plane", "a normal that is finite and not zero, and a finite height")

    def capsule(self, start: Triple, end: Triple, radius: float) -> Contact | None:
        """The deepest contact with a capsule around a segment."""
        return first_contact(self._near(SEGMENT, capsule_row(start, end, radius)))

    def box(self, center: Triple, half_sizes: Triple, rotation: ArrayLike | None = None) -> Contact | None:
        """The deepest contact with a box; the columns of its rotation (3,3) are its axes."""
        return first_contact(self._near(BOX, box_row(center, half_sizes, rotation)))

    def sphere_contacts(self, center: Triple, radius: float) -> Contacts:
        """A contact for every triangle that touches a sphere."""
        return self._all_near(POINT, sphere_rows([list(center)], [radius]))

    def plane_contacts(self, normal: Triple, height: float) -> Contacts:
        """A contact for every triangle of which a part is in the half-space  normal . x <= height."""
        return self._all_near(PLANE, plane_rows([list(normal)], [height]))

    def capsule_contacts(self, start: Triple, end: Triple, radius: float) -> Contacts:
        """A contact for every triangle that touches a capsule."""
        return self._all_near(SEGMENT, capsule_row(start, end, radius))

    def box_contacts(self, center: Triple, half_sizes: Triple, rotation: ArrayLike | None = None) -> Contacts:
        """A contact for every triangle that touches a box."""
        return self._all_near(BOX, box_row(center, half_sizes, rotation))

    def _near(self, kind: int, rows: Float64) -> Contacts:
        return near_many(self._table, np.full(len(rows), self._frame, np.int64), kind, rows, 0.0)

    def _all_near(self, kind: int, row: Float64) -> Contacts:
        """All contacts of one shape, in the order of triangles."""
        room = 256
        while True:
            numbers, triangles, found = np.empty(room), np.empty(room, np.int32), np.empty((room, 7))
            n = all_near(self._table, self._frame, kind, row, 0.0, numbers.ctypes.data, triangles, found)
            if n <= room:
                break
            room = n
        if n < 0:
            refuse("shape", "finite numbers")
        order = np.argsort(triangles[:n], kind="stable")
        return as_depths(as_contacts(triangles[order], found[order]))

    def rays(self, origins: ArrayLike, directions: ArrayLike, longest: float = math.inf) -> Contacts:
        """The first hit of every ray (n,3)."""
        o, d = ray_rows(origins, directions)
        return self._in_batch(len(o), lambda table, frames, part: cast_many(table, frames, o, d, longest, part))

    def closest_points(self, points: ArrayLike, within: float = math.inf) -> Contacts:
        """The closest point to every point (n,3); distances are negative inside a closed surface."""
        rows = sphere_rows(points, 0.0)
        return self._in_batch(
            len(rows), lambda table, frames, part: near_many(table, frames, POINT, rows, within, part)
        )

    def _in_batch(self, n: int, run: Callable[..., Contacts]) -> Contacts:
        """Run n queries. Where bounds cost more than a part of refitting, or will, the pose is refitted."""
        frames = np.full(n, self._frame, np.int64)
        if self._is_lazy and n > MANY:
            self.refit()
        if not self._is_lazy:
            return run(self._table, frames, None)
        tree, progress = self.collider.tree, [0]
        budget = int(WASTE * (tree.n_vertices + tree.n_triangles / 2))
        found = run(self._table, frames, (budget, progress, None))
        if progress[0] < n:
            self.refit()
            found = run(self._table, frames, (NO_BUDGET, progress, found))
        return found

    @property
    def _is_lazy(self) -> bool:
        return bool(self._table[BOUNDS_BY] == LAZY)

    def refit(self) -> None:
        """Skin all vertices and fit the tree to them: many queries in a new pose are then as quick as in a frame."""
        if self._is_lazy:
            numbers, end = self._table.view(np.float64)[TABLE:], 12 * self.collider.model.n_bones
            self._arrays = {"transforms": numbers[:end].reshape(-1, 12), "coefficients": numbers[end:]}
            self._table = self.collider._refit_table(self._arrays)

    def contacts(self, other: ColliderPose, *, only_first: bool = False) -> SurfaceContacts:
        """The pairs of triangles in which the surface intersects another, or only the first that is found."""
        if not only_first:
            self.refit()
            other.refit()
        theirs = other._table
        if other.collider is self.collider:
            theirs = self.collider._twin(theirs)
        return all_pairs(
            only_first, lambda *room: meet(self._table, self._frame, theirs, other._frame, int(only_first), *room)
        )

    def self_contacts(self, *, only_first: bool = False) -> SurfaceContacts:
        """The pairs of triangles in which the surface intersects itself; triangles that share a vertex do not count."""
        self.refit()
        return all_pairs(only_first, lambda *room: meet_itself(self._table, self._frame, int(only_first), *room))

    def velocities(
        self, triangles: ArrayLike, points: ArrayLike, *, since: ColliderPose | None = None, seconds: float = 0.0
    ) -> Float64:
        """(n,3) velocities of points (n,3) on triangles (n,), in units per second.

        In a frame: the central difference over its neighbours in its clip. In another pose: the difference to the pose
        `since`, which was `seconds` earlier.
        """
        chosen = np.ascontiguousarray(triangles, np.int32).reshape(-1)
        shares = barycentric(self.corners(chosen), vectors("points", points))
        first, last, apart = since, self, seconds
        if since is None:
            if self._table is not self.collider._table:
                raise OptionError("since: a new pose has no neighbours; give an earlier pose, and the seconds between")
            clip = next(clip for clip in self.collider.model.clips if clip.start <= self._frame < clip.stop)
            start, stop = max(self._frame - 1, clip.start), min(self._frame + 1, clip.stop - 1)
            first, last, apart = self.collider.at(start), self.collider.at(stop), (stop - start) / clip.fps
            if start == stop:
                return np.zeros((len(chosen), 3))
        if not apart > 0:
            raise OptionError(f"seconds: expected a positive number, got {apart}")
        assert first is not None
        moved = last.corners(chosen) - first.corners(chosen)
        velocities: Float64 = np.einsum("nc,nci->ni", shares, moved) / apart
        return velocities

    def corners(self, triangles: ArrayLike) -> Float64:
        """(n,3,3) positions of the corners of triangles (n,) in this pose."""
        chosen = np.ascontiguousarray(triangles, np.int32).reshape(-1)
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < self.collider.tree.n_triangles:
            raise OptionError(f"triangles: expected 0 … {self.collider.tree.n_triangles - 1}")
        places = self.collider.tree.places[chosen]
        out = np.empty((len(chosen), 3, 3))
        triangle_corners(self._table, self._frame, places, out)
        return out

    def vertices(self) -> Float64:
        """(v,3) positions of all vertices of the tree in this pose, in its order."""
        triangles = np.arange(self.collider.tree.n_triangles, dtype=np.int32)
        out = np.empty((len(triangles), 3, 3))
        triangle_corners(self._table, self._frame, triangles, out)
        found: Float64 = self.collider._caches.arrays["posed"].copy()
        return found

    @property
    def visits(self) -> dict[str, int]:
        """Nodes, bounds, clusters and leaves that queries of the collider have computed since the last call."""
        counts = self.collider._caches.arrays["counts"]
        found = dict(zip(("nodes", "bounds", "clusters", "leaves"), counts.tolist(), strict=True))
        counts[:] = 0
        return found
