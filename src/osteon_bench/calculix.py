"""CalculiX as the reference of the finite elements: the same tetrahedra, fixed nodes and loads, solved by `ccx`.

Based on: G. Dhondt, CalculiX CrunchiX user's manual, 2.20; elements C3D4 and C3D10, static step with NLGEOM.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32
from osteon.elastic.elements import Material

#: Time limit for a small solid, in seconds.
START_TIMEOUT = 300
_ROW = re.compile(r"^ *(\d+) +(\S+) +(\S+) +(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LoadedSolid:
    """A solid under external forces."""

    points: Float64  # (n,3)
    tets: Int32  # (e,4|10)
    held: Bool  # (n,) fixed nodes
    loads: Float64  # (n,3)
    material: Material


def find_calculix() -> Path | None:
    """The program `ccx`: from OSTEON_CCX, else from PATH."""
    found = os.environ.get("OSTEON_CCX") or shutil.which("ccx")
    return Path(found) if found and Path(found).is_file() else None


def why_no_calculix() -> str:
    """Why CalculiX is not available; empty if it is."""
    return "" if find_calculix() else "CalculiX is not installed; install the package calculix-ccx, or set OSTEON_CCX"


def solve_with_calculix(solid: LoadedSolid) -> Float64:
    """(n,3) positions of the nodes in equilibrium, with large displacements."""
    program = find_calculix()
    if program is None:
        raise RuntimeError(why_no_calculix())
    with TemporaryDirectory(prefix="osteon-ccx-") as folder:
        (Path(folder) / "solid.inp").write_text(_deck(solid))
        alone = {**os.environ, "OMP_NUM_THREADS": "1", "CCX_NPROC_RESULTS": "1", "CCX_NPROC_EQUATION_SOLVER": "1"}
        done = subprocess.run(
            [str(program), "solid"],
            cwd=folder,
            env=alone,
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT,
            check=False,
        )
        results = Path(folder) / "solid.dat"
        if done.returncode or not results.is_file():
            raise RuntimeError(f"CalculiX ended with {done.returncode}: {done.stdout[-300:]}")
        return solid.points + _last_displacements(results.read_text(), len(solid.points))


def _deck(solid: LoadedSolid) -> str:
    """Its input file."""
    nodes = "\n".join(f"{i},{x:.12g},{y:.12g},{z:.12g}" for i, (x, y, z) in enumerate(solid.points.tolist(), 1))
    elements = "\n".join(
        f"{i},{','.join(str(node) for node in nodes)}" for i, nodes in enumerate((solid.tets + 1).tolist(), 1)
    )
    held = "\n".join(f"{i},1,3" for i in np.flatnonzero(solid.held) + 1)
    pulled = np.argwhere(solid.loads)
    loads = "\n".join(f"{i + 1},{k + 1},{solid.loads[i, k]:.12g}" for i, k in pulled.tolist())
    return f"""*NODE, NSET=ALL
{nodes}
*ELEMENT, TYPE=C3D{solid.tets.shape[1]}, ELSET=FLESH
{elements}
*MATERIAL, NAME=FLESH
*ELASTIC
{solid.material.young:.12g},{solid.material.poisson:.12g}
*SOLID SECTION, ELSET=FLESH, MATERIAL=FLESH
*BOUNDARY
{held}
*STEP, NLGEOM, INC=200
*STATIC
0.25,1.
*CLOAD
{loads}
*NODE PRINT, NSET=ALL, FREQUENCY=1000
U
*END STEP
"""


def _last_displacements(text: str, n_nodes: int) -> Float64:
    """(n,3) of the last table."""
    rows = _ROW.findall(text)[-n_nodes:]
    if [int(row[0]) for row in rows] != list(range(1, n_nodes + 1)):
        raise RuntimeError("CalculiX wrote no displacements of all nodes")
    return np.array([[float(value) for value in row[1:]] for row in rows])
