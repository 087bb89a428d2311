"""The papers. A new one is a package of this folder with `ENTRIES`, and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from osteon.papers.entries import Entry


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper and the package that makes its figures."""

    title: str
    authors: str
    published: str
    module: str

    def entries(self) -> tuple[Entry, ...]:
        """Its figures and tables in their order."""
        found: tuple[Entry, ...] = import_module(f"osteon.papers.{self.module}").ENTRIES
        return found


PAPERS = {
    1: Paper("Skinning Mesh Animations", "James and Twigg", "SIGGRAPH 2005", "mesh_animations"),
    2: Paper(
        "EigenSkin: Real Time Large Deformation Character Skinning in Hardware",
        "Kry, James and Pai",
        "Symposium on Computer Animation 2002",
        "eigenskin",
    ),
    3: Paper(
        "Mesh Approximation for Animated Characters",
        "Reid, Jacka, Gain and Merry",
        "University of Cape Town",
        "mesh_approximation",
    ),
    4: Paper(
        "Progressive Skinning for Character Animation",
        "Pilgrim, Steed and Aguado",
        "2007",
        "progressive_skinning",
    ),
    5: Paper(
        "Shape Deformation Using a Skeleton to Drive Simplex Transformations",
        "Yan, Hu, Martin and Yang",
        "IEEE Transactions on Visualization and Computer Graphics 2008",
        "simplex_transformations",
    ),
}
