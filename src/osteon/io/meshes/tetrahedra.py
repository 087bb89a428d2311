"""Solids in files: the tetrahedra of a mesh, beside its surface."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from osteon.core.arrays import Float64, Int32, Int64
from osteon.io.load.source import PathLike, Source
from osteon.io.meshes.medit import scan_medit
from osteon.io.meshes.mesh import read_mesh

__all__ = ["SOLID_SUFFIX", "LoadedSolid", "read_solid"]

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
