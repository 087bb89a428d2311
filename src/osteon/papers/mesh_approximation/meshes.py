"""Figures about meshes: the regularisation parameter (3), the skeleton (4), and maps of deviations (5 to 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.papers.drawings import curves
from osteon.papers.entries import Compared, Panels, Part, Shown, Table
from osteon.papers.mesh_approximation.comparisons import (
    AS_PRINTED,
    MODELS,
    Animation,
    Measure,
    deviations,
    geometric,
    horse,
    of_normals,
    spread,
)
from osteon.papers.panels import CLAY, PANEL, common_camera, panels, shot
from osteon.papers.run import PaperRun
from osteon.papers.stick_solids import SIDES, stick_solids
from osteon.report.charts import Axis, Mark, Series
from osteon.report.page_parts import number
from osteon.report.picture import HeatScale, bone_colors, heat_colors

#: Poses that are shown.
SHOWN = 3
#: Percentile of the deviations of a row at which its scale ends.
SCALE_END = 99.5


def regularisation(run: PaperRun) -> Shown:
    """Figure 3: deviation of Animation Space over the regularisation parameter."""
    animation = horse(run)
    drawings, facts = [], {}
    for word in ("as", "mwe"):
        result = animation.result(word)
        sweep = result.sweep
        assert sweep is not None
        finite = [i for i, s in enumerate(sweep.strengths) if np.isfinite(s) and s > 0]
        strengths = [sweep.strengths[i] for i in finite]
        chosen = result.strength
        marks = [Mark(chosen, "chosen")] if chosen is not None and np.isfinite(chosen) and chosen in strengths else []
        drawings.append(
            curves(
                f"{MODELS[word]}: error over lambda",
                [
                    Series("poses held out", strengths, [sweep.left_out[i] for i in finite], dots=True),
                    Series("poses of the fit", strengths, [sweep.training[i] for i in finite], kind=1, dots=True),
                ],
                Axis("lambda, squared RMS radii", log=True),
                Axis("RMS, % of the diagonal"),
                marks=marks,
            )
        )
        facts[word] = {"strengths": strengths, "held_out": [sweep.left_out[i] for i in finite], "chosen": chosen}
    text = (
        f"The {animation.name}: training poses are held out in turns, so that poses of the evaluation do not choose "
        "the parameter. A stronger pull towards SSD first helps poses that are held out, then costs accuracy."
    )
    return Shown(text, tuple(drawings), numbers=facts)


def recovered(run: PaperRun) -> Shown:
    """Figure 4: poses, sections with the recovered skeleton, the skeleton alone, and poses by Animation Space."""
    animation = horse(run)
    comparison = animation.comparison
    sequence, skeleton = comparison.sequence, comparison.skeleton
    base = comparison.baseline
    assert base is not None
    dense = np.asarray(base.deformer.skin.dense(comparison.n_bones))  # type: ignore[attr-defined]
    paint = bone_colors(comparison.n_bones)[dense.argmax(axis=1)]
    poses = spread(np.arange(len(comparison.distinct), dtype=np.int32), SHOWN).tolist()
    camera = common_camera(sequence, poses)
    again = comparison.pose(animation.result("as"), poses)
    segments = _segments(skeleton.parents, skeleton.world_from_joint[..., 3].astype(np.float64))
    shots = []
    for pose, posed in zip(poses, again, strict=True):
        joints = _joints(skeleton.world_from_joint[..., 3].astype(np.float64), comparison.transforms[pose])
        solid, faces = stick_solids(joints, segments)
        color = np.repeat(bone_colors(comparison.n_bones)[segments[:, 0]], SIDES, axis=0)
        frame = int(comparison.distinct[pose])
        points = sequence.frame(pose)
        shots += [
            shot(points, sequence.faces, CLAY, f"frame {frame}", camera=camera),
            shot(points, sequence.faces, paint, "sections", camera=camera),
            shot(solid, faces, color, "recovered skeleton", camera=camera),
            shot(posed, sequence.faces, CLAY, "by Animation Space", camera=camera),
        ]
    roots = int((skeleton.parents < 0).sum())
    text = (
        f"The {animation.name}: {comparison.n_bones} bones with constant lengths, {roots} of them a root, recovered "
        f"from {len(comparison.training)} training poses; only the root moves, joints rotate."
    )
    return Shown(text, (panels(shots, 4),), numbers={"bones": comparison.n_bones, "joints": skeleton.names})


def _segments(parents: Int32, places: Float64) -> Int32:
    """(n,2) pairs of joints with a distance between them, parent first."""
    apart = np.ptp(places, axis=0).max() * 1e-4
    found = [(p, j) for j, p in enumerate(parents.tolist()) if p >= 0 and np.linalg.norm(places[p] - places[j]) > apart]
    return np.array(found, np.int32)


def _joints(places: Float64, transforms: Float64) -> Float64:
    """(b,3) the joints in a pose."""
    moved: Float64 = np.einsum("bij,bj->bi", transforms[:, :, :3], places) + transforms[:, :, 3]
    return moved


@dataclass(frozen=True, slots=True)
class _Map:
    """The quantity that a figure maps to colours."""

    title: str
    unit: str
    measure: Measure


def training_deviation(run: PaperRun) -> Shown:
    """Figure 5."""
    animation = horse(run)
    return _mapped(
        animation, animation.comparison.training, _Map("deviation", "% of the diagonal", geometric(animation))
    )


def unseen_deviation(run: PaperRun) -> Shown:
    """Figure 6."""
    animation = horse(run)
    return _mapped(animation, animation.comparison.unseen, _Map("deviation", "% of the diagonal", geometric(animation)))


def training_normals(run: PaperRun) -> Shown:
    """Figure 7."""
    animation = horse(run)
    return _mapped(animation, animation.comparison.training, _Map("normal deviation", "degrees", of_normals(animation)))


def unseen_normals(run: PaperRun) -> Shown:
    """Figure 8."""
    animation = horse(run)
    return _mapped(animation, animation.comparison.unseen, _Map("normal deviation", "degrees", of_normals(animation)))


def _mapped(animation: Animation, poses: Int32, what: _Map) -> Shown:
    """Three poses as colours for every model, one scale per row, and means over all poses."""
    comparison = animation.comparison
    sequence = comparison.sequence
    seen = len(poses) == len(comparison.training) and bool((poses == comparison.training).all())
    everything = deviations(animation, poses.tolist(), what.measure)
    shown = spread(poses, SHOWN)
    parts: list[Part] = []
    for pose in shown.tolist():
        place = int(np.flatnonzero(poses == pose)[0])
        row = {word: everything[word][place] for word in MODELS}
        top = float(f"{max(np.percentile(np.concatenate(list(row.values())), SCALE_END), 1e-6):.2g}")
        posed = {word: comparison.pose(animation.result(word), [pose])[0] for word in MODELS}
        camera = common_camera(sequence, [pose])
        shots = []
        for word, name in MODELS.items():
            words = f"{name}: mean {number(float(row[word].mean()))}"
            paint = heat_colors(row[word], top)
            shots.append(shot(posed[word], sequence.faces, paint, words, options=PANEL, camera=camera))
        drawn = panels(shots, 3)
        parts.append(
            Panels(drawn.pictures, 3, HeatScale(top, what.unit, what.title), f"frame {comparison.distinct[pose]}")
        )
    means = {word: float(values.mean()) for word, values in everything.items()}
    tops = {word: float(values.max()) for word, values in everything.items()}
    names = {**MODELS, **AS_PRINTED}
    rows = tuple((name, number(means[word]), number(tops[word])) for word, name in names.items())
    kind = "training" if seen else "unseen"
    parts.append(
        Table(("model", f"mean, {what.unit}", f"largest, {what.unit}"), rows, title=f"All {len(poses)} {kind} poses")
    )
    order = sorted(MODELS, key=lambda word: means[word])
    over = {word: number(means[word] / max(means["ssd"], 1e-300)) for word in AS_PRINTED}
    text = (
        f"The {animation.name} in {kind} poses; colour scales are constant along a row. Over all {len(poses)} of them "
        f"{MODELS[order[0]]} is closest on average, then {MODELS[order[1]]}, then {MODELS[order[2]]}. "
        + ("In the paper Multi-Weight Enveloping is closest." if seen else (
            "In the paper Animation Space is, then SSD; ours pull both models towards SSD instead of zero."))
        + f" As the paper prints them, Animation Space has {over['as-zero']} times the mean of SSD, and Multi-Weight "
        f"Enveloping {over['mwe-zero']} times."
    )  # fmt: skip
    compared: tuple[Compared, ...] = ()
    if seen and what.unit.startswith("%"):
        why = "The paper states a bound, for its own horse; the unit is its length, ours the diagonal."
        compared = (
            Compared("largest deviation, below", 1.0, max(tops[word] for word in MODELS), "section 4.1", "%", why),
        )  # fmt: skip
    return Shown(text, tuple(parts), compared, {"mean": means, "largest": tops})
