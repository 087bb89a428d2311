"""Figures about weights: sorted weights of both least squares (7), and their colours on the mesh (8)."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.papers.drawings import curves
from osteon.papers.entries import Shown
from osteon.papers.mesh_animations.clusters import clusters_of
from osteon.papers.mesh_animations.variants import variants_of
from osteon.papers.panels import core_colors, panels, shot, weight_colors
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.report.charts import Axis, Series
from osteon.report.page_parts import number

#: Points of a curve of sorted weights.
POINTS = 201
#: Weights beyond this size are drawn at it, so that the others can be distinguished.
SHOWN = 3.0


def sorted_weights(run: PaperRun) -> Shown:
    """Figure 7: all weights of both methods, sorted."""
    found, variants = find_subject(run, "chicken"), variants_of(run, "chicken")
    weights = {name: _sorted(variants.fits["flexible", name].model) for name in ("tsvd", "nnls")}
    at = np.linspace(0, 100, POINTS)
    low, high = float(weights["tsvd"][0]), float(weights["tsvd"][-1])
    series = [
        Series(title, at.tolist(), np.clip(np.percentile(weights[name], at), -SHOWN, SHOWN).tolist(), kind=kind)
        for kind, (name, title) in enumerate((("tsvd", "TSVD"), ("nnls", "NNLS")))
    ]
    negative = {name: float((w < 0).mean()) for name, w in weights.items()}
    zero = float((weights["nnls"] <= 1e-6).mean())
    note = (
        f"TSVD: weights from {number(low)} to {number(high)}, {100 * negative['tsvd']:.0f} % of them negative. NNLS: 0 "
        f"to {number(float(weights['nnls'][-1]))}, {100 * zero:.0f} % of them zero. Drawn between -{SHOWN:g} and "
        f"{SHOWN:g}."
    )
    upward = Axis("weight", low=min(-0.1, max(-SHOWN, low)))
    chart = curves("Sorted vertex weights", series, Axis("% of the weights"), upward, note=note)
    text = f"Four weights for each vertex of the {found.name}, flexible bones: least squares with TSVD and with NNLS."
    facts = {name: {"smallest": w[0], "largest": w[-1], "negative": negative[name]} for name, w in weights.items()}
    return Shown(text, (chart,), numbers=facts)


def _sorted(model: SkinnedModel) -> Float64:
    return np.sort(model.skin.weights.astype(np.float64).ravel())


def overfitted_colors(run: PaperRun) -> Shown:
    """Figure 8: core triangles, and bone colours mixed by weights of both methods."""
    found, variants = find_subject(run, "chicken"), variants_of(run, "chicken")
    sequence = found.sequence
    rest = sequence.rest
    shots = [shot(rest, sequence.faces, core_colors(clusters_of(run, "chicken").labels), "core triangles")]
    outside = {}
    for name in ("nnls", "tsvd"):
        paint = weight_colors(variants.fits["flexible", name].model)
        outside[name] = float(((paint < -0.02) | (paint > 1.02)).any(axis=1).mean())
        shots.append(shot(rest, sequence.faces, paint, f"{name.upper()} weights"))
    text = (
        f"The {found.name} at rest. Colours of bones are mixed by weight: with TSVD the mixture leaves the range of "
        f"colours at {100 * outside['tsvd']:.0f} % of the vertices, with NNLS at {100 * outside['nnls']:.0f} %."
    )
    return Shown(text, (panels(shots),), numbers={"outside_of_colors": outside})
