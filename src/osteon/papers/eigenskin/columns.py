"""Figures about what is learned: supports of joints (3), and eigendisplacements (5)."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Bool, Float64
from osteon.fit.eigenskin.eigenbasis import Eigenbasis
from osteon.papers.drawings import curves
from osteon.papers.eigenskin.training import ROOT, learned_hand, view_of_hand
from osteon.papers.entries import Compared, Shown
from osteon.papers.panels import FLESH, panels, shot
from osteon.papers.run import PaperRun
from osteon.pipeline.eigenskin import LearnedSkin
from osteon.report.charts import Axis, Series
from osteon.report.page_parts import number
from osteon.report.raster import frame_camera

#: The joints of figure 3, and their names in the paper.
SUPPORTS = {
    "thumb.1": "thumb, carpometacarpal",
    "thumb.2": "thumb, metacarpophalangeal",
    "thumb.3": "thumb, interphalangeal",
    "index.1": "index, metacarpophalangeal",
}
#: Colour of a support, the threshold of the paper, and eigendisplacements of figure 5.
SUPPORT, THRESHOLD, COLUMNS = (0.20, 0.45, 0.80), 0.04, 4


def basis_of(learned: LearnedSkin, joint: str) -> Eigenbasis:
    """All eigendisplacements of a joint."""
    number = driver_of(learned, joint)
    return next(basis for basis in learned.fit.bases if basis.field.joints == (number,))


def driver_of(learned: LearnedSkin, joint: str) -> int:
    """The index of a joint in the settings of the fit."""
    skeleton = learned.model.skeleton
    assert skeleton is not None
    return [skeleton.names[b] for b in learned.fit.settings.joints.tolist()].index(joint)


def joint_supports(run: PaperRun) -> Shown:
    """Figure 3: the vertices of four supports; darker where the joint displaces them farther."""
    learned = learned_hand(run)
    mesh = learned.model.mesh
    shots, sizes = [], {}
    for joint, title in SUPPORTS.items():
        basis = basis_of(learned, joint)
        length = np.linalg.norm(basis.field.values, axis=2).max(axis=0)
        paint = _mixed(basis.support, length / max(float(length.max()), 1e-30))
        sizes[joint] = int(basis.support.sum())
        words = f"{title}: {100 * basis.support.mean():.0f} % of the vertices"
        shots.append(shot(mesh.rest, mesh.faces, paint, words, options=view_of_hand()))
    text = (
        f"Vertices that a joint displaces by more than {100 * THRESHOLD:g} % of its longest displacement in any "
        "training pose; darker is farther. Supports overlap."
    )
    return Shown(text, (panels(shots, 4),), numbers={"threshold": THRESHOLD, "vertices": sizes})


def _mixed(support: Bool, part: Float64) -> Float64:
    """(v,3) flesh, and on the support a blue that is stronger where displacements are longer."""
    strength = np.where(support, 0.35 + 0.65 * np.sqrt(part), 0.0)[:, None]
    return np.asarray((1 - strength) * np.array(FLESH) + strength * np.array(SUPPORT))


def eigendisplacements_of_thumb(run: PaperRun) -> Shown:
    """Figure 5: the first four columns of the root of the thumb as colours, and all singular values."""
    learned = learned_hand(run)
    mesh, basis = learned.model.mesh, basis_of(learned, ROOT)
    shown = min(COLUMNS, len(basis.singular))
    camera = frame_camera(mesh.rest, view_of_hand())
    shots = []
    for k in range(shown):
        column = basis.columns[k]
        paint = 0.5 + 0.5 * column / np.abs(column).max()
        words = f"column {k + 1}: singular value {number(float(basis.singular[k]))}"
        shots.append(shot(mesh.rest, mesh.faces, paint, words, options=view_of_hand(), camera=camera))
    values = basis.singular / learned.model.diagonal
    order = list(range(1, len(values) + 1))
    chart = curves(
        "Singular values of the root of the thumb",
        [Series("", order, np.maximum(values, 1e-12).tolist(), dots=True)],
        Axis("column", whole=True),
        Axis("singular value, diagonals", log="auto"),
        note=f"The first holds {100 * values[0] ** 2 / (values**2).sum():.0f} % of the squares, the first four "
        f"{100 * (values[:4] ** 2).sum() / (values**2).sum():.0f} %.",
    )
    compared = (
        Compared(
            "columns that matter", 5, float(_needed(values)), "section 3",
            why="Columns of the root of the thumb until 99 % of the squares are held.",
        ),
    )  # fmt: skip
    text = "Red, green and blue are displacements along x, y and z; grey is none."
    return Shown(text, (panels(shots, 4), chart), compared, {"singular_values": values})


def _needed(values: Float64) -> int:
    """How many columns hold 99 % of the squares."""
    part = np.cumsum(values**2) / (values**2).sum()
    return int(np.searchsorted(part, 0.99)) + 1
