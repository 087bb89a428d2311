"""The solid of a file: its tetrahedra, or a lattice around its surface, fine enough for its bones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.errors import OptionError
from osteon.core.mesh import Mesh
from osteon.core.sticks import StickSkeleton
from osteon.elastic.attachment import BoneRoom, bone_room, holds_all_bones
from osteon.elastic.body import ElasticBody
from osteon.elastic.elements import Material
from osteon.elastic.holes import ClosedSurface
from osteon.elastic.lattice import cube_for_nodes, filled_surface, lattice_around
from osteon.elastic.options import FleshOptions
from osteon.elastic.quadratic import quadratic_solid
from osteon.elastic.solid import Solid, solid_of_tetrahedra
from osteon.io import holds_model, load_model, load_sequence
from osteon.io.load.source import PathLike, Source
from osteon.io.meshes.medit import scan_medit
from osteon.io.meshes.mesh import read_mesh

#: A lattice has about as many nodes, unless its cubes would be smaller than this, over the radius of the thinnest bone.
NODES, FIRST_CUBE = 6000, 1.2
#: Nodes of elements with ten nodes, per corner.
NODES_PER_CORNER = 7
#: Factor by which cubes shrink until all bones are held, and the number of attempts.
SHRINK, TRIES = 0.85, 8


@dataclass(frozen=True, slots=True)
class FleshSource:
    """The contents of a file of a body: a solid or a surface."""

    path: Path
    surface: Mesh
    solid: LoadedSolid | None  # None: the surface is filled with a lattice
    closed: ClosedSurface | None = None  # the surface that is filled, without holes

    @property
    def word(self) -> str:
        return "lattice" if self.solid is None else "tetrahedra"


def load_flesh(path: Path, options: FleshOptions) -> FleshSource:
    """Read a solid (.mesh) or any mesh, sequence or model, of which the rest pose counts."""
    solid = read_solid(path) if path.suffix.lower() == SOLID_SUFFIX else None
    if options.elements == "tetrahedra" and (solid is None or not len(solid.tets)):
        raise OptionError(
            f"{path}: holds no tetrahedra; export the volume as {SOLID_SUFFIX}, or use --elements lattice"
        )
    if solid is not None and len(solid.tets) and options.elements != "lattice":
        with Source(path).naming():
            return FleshSource(path, solid_of_tetrahedra(solid.points, solid.tets, solid.faces).surface, solid)
    surface = _rest_mesh(path)
    with Source(path).naming():
        return FleshSource(path, surface, None, filled_surface(surface))


def make_body(source: FleshSource, skeleton: StickSkeleton, options: FleshOptions) -> ElasticBody:
    """Flesh on the skeleton, ready for poses."""
    material = Material(options.stiffness, options.poisson)
    surface = source.surface
    with Source(source.path).naming():
        room = bone_room(surface.rest.astype(np.float64), surface.faces, skeleton, source.closed)
        if source.solid is not None:
            loaded = source.solid
            solid = solid_of_tetrahedra(loaded.points, loaded.tets, loaded.faces, surface.name)
            return ElasticBody.of(_ordered(solid, options), skeleton, material, room)
        return ElasticBody.of(_lattice(source, skeleton, room, options), skeleton, material, room)


def _ordered(solid: Solid, options: FleshOptions) -> Solid:
    """With nodes in the middles of edges, if these are chosen."""
    return quadratic_solid(solid) if options.elements == "quadratic" else solid


def _lattice(source: FleshSource, skeleton: StickSkeleton, room: BoneRoom, options: FleshOptions) -> Solid:
    """With `cells` along the longest side, or, for 0, with some thousand nodes, more if bones need it."""
    surface, closed = source.surface, source.closed
    assert closed is not None  # as for every surface that is filled
    if options.cells:
        cube = float(np.ptp(surface.rest, axis=0).max()) / options.cells
        return _ordered(lattice_around(surface, cube, closed), options)
    several = NODES_PER_CORNER if options.elements == "quadratic" else 1
    cube = max(FIRST_CUBE * several ** (1 / 3) * room.thinnest, cube_for_nodes(surface, NODES // several, closed))
    for _ in range(TRIES):
        solid = _ordered(lattice_around(surface, cube, closed), options)
        if holds_all_bones(solid, skeleton, room):
            break
        cube *= SHRINK
    return solid


def _rest_mesh(path: Path) -> Mesh:
    if path.is_file() and holds_model(path):
        model = load_model(path)
        return Mesh(model.rest, model.faces, model.asset, path.stem)
    found = load_sequence([path])
    return Mesh(found.rest, found.faces, found.asset, path.stem)


SOLID_SUFFIX = ".mesh"


@dataclass(frozen=True, slots=True)
class LoadedSolid:
    """Nodes, tetrahedra and surface of a file."""

    points: Float64  # (n,3)
    tets: Int64  # (e,4) corners in any order; none where the file holds only a surface
    faces: Int32  # (t,3) surface


def read_solid(path: PathLike) -> LoadedSolid:
    """The solid of a MEDIT file; its surface is its triangles, or where there are none, what bounds the tetrahedra."""
    source = Source(Path(path))
    scan = scan_medit(source.read(), source)
    surface = read_mesh(scan, source)  # refuses what is no mesh, NaN among it
    return LoadedSolid(scan.positions(), scan.tetrahedra(), surface.faces)
