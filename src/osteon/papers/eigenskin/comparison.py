"""Figures that compare skins with simulated flesh: an unseen pose (1), a displacement (2), 0 to 5 columns (7)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import Character
from osteon.deform.pose import blends_of, pose_character
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.papers.drawings import curves
from osteon.papers.eigenskin.columns import basis_of, driver_of
from osteon.papers.eigenskin.training import ROOT, camera_of_poses, learned_hand, simulated_hand, view_of_hand
from osteon.papers.entries import Compared, Shown
from osteon.papers.panels import FLESH, GREEN, panels, shot
from osteon.papers.run import PaperRun
from osteon.pipeline.eigenskin import poses_of_rig
from osteon.report.charts import Axis, Series
from osteon.report.page_parts import number
from osteon.report.picture import HeatScale, heat_colors

#: Columns of the last picture of figure 7.
MOST = 5


def _known(run: PaperRun, character: Character, name: str) -> KnownPoses:
    """One pose, as a pose of the character's bones."""
    poses = simulated_hand(run).poses
    return poses_of_rig(character, poses, [poses.names.index(name)])


def _plain(character: Character) -> Character:
    """The skin alone."""
    return replace(character, displacements=())


def unseen_pose(run: PaperRun) -> Shown:
    """Figure 1: flesh, blended bones and EigenSkin in a pose that was not learned, and EigenSkin in another pose."""
    learned = learned_hand(run)
    character, judged = learned.model.character, learned.validation
    assert judged is not None
    known, other = _known(run, character, "unseen"), _known(run, character, "other")
    flesh = known.frames[0].astype(np.float64)
    posed = [pose_character(one, known.transforms)[0].astype(np.float64) for one in (_plain(character), character)]
    off = [100 * np.linalg.norm(one - flesh, axis=1) / character.mesh.diagonal for one in posed]
    top = float(f"{off[0].max():.2g}")
    camera, faces = camera_of_poses([known.frames[0]]), character.mesh.faces
    live = pose_character(character, other.transforms)[0]
    rows = [
        (flesh, FLESH, "a) simulated flesh"),
        (posed[0], heat_colors(off[0], top), f"b) blended bones: off by up to {number(float(off[0].max()))} %"),
        (posed[1], heat_colors(off[1], top), f"c) EigenSkin: off by up to {number(float(off[1].max()))} %"),
        (live.astype(np.float64), FLESH, "d) EigenSkin in another pose, from joint angles alone"),
    ]
    shots = [shot(points, faces, paint, words, options=view_of_hand(), camera=camera) for points, paint, words in rows]
    removed = float(judged.removed[judged.names.index("unseen")])
    why = "The built-in hand is coarse, so that all poses are simulated in this run."
    compared = (Compared("triangles", 55904, len(faces), "Figure 1", why=why),)
    text = (
        "All joints of thumb and index finger bend at once, and only poses of single joints were learned. One "
        f"eigendisplacement and one eigennormal for each joint remove {100 * removed:.0f} % of the error of blended "
        "bones. The paper drives d) with a glove."
    )
    scale = HeatScale(top, "% of the diagonal", "distance from the flesh")
    return Shown(text, (panels(shots, 4, scale=scale),), compared, {"removed_percent": 100 * removed})


def mapped_back(run: PaperRun) -> Shown:
    """Figure 2: the error of the skin in a pose, mapped back to the rest pose."""
    learned = learned_hand(run)
    character, name = learned.model.character, _far_pose(run)
    known = _known(run, character, name)
    faces, rest = character.mesh.faces, character.mesh.rest.astype(np.float64)
    skin = pose_character(_plain(character), known.transforms)[0].astype(np.float64)
    flesh = known.frames[0].astype(np.float64)
    blends = blends_of(character.deformer, known.transforms[0])
    back = np.linalg.solve(blends[..., :3], (flesh - blends[..., 3])[..., None])[..., 0]
    length = 100 * np.linalg.norm(back - rest, axis=1) / character.mesh.diagonal
    top = float(f"{np.percentile(length, 99.5):.2g}")
    paint = heat_colors(length, top)
    moved = rest + (back - rest) * np.minimum(1, top / np.maximum(length, 1e-12))[:, None]
    posed, still = camera_of_poses([known.frames[0]]), camera_of_poses([character.mesh.rest])
    rows = [
        (flesh, FLESH, "observed pose v", posed),
        (skin, paint, "blended bones; colour: how far v is", posed),
        (rest, paint, "the same in the rest pose: length of u", still),
        (moved, FLESH, "rest pose plus u", still),
    ]
    shots = [shot(one, faces, color, words, options=view_of_hand(), camera=seen) for one, color, words, seen in rows]
    worst = int(length.argmax())
    again = blends[..., :3] @ back[..., None]
    residual = float(np.abs(again[..., 0] + blends[..., 3] - flesh).max()) / character.mesh.diagonal
    text = (
        f"The pose {name.replace('_', ' ')}: u is the inverse of a vertex's blend applied to its observed place, minus "
        f"its place at rest; at most {number(float(length[worst]))} % of the diagonal, at vertex {worst}. The skin "
        f"moves the rest pose plus u to the observed pose, to {number(residual)} of the diagonal."
    )
    scale = HeatScale(top, "% of the diagonal", "length of u")
    return Shown(text, (panels(shots, 4, scale=scale),), numbers={"pose": name, "worst_percent": length[worst]})


def _far_pose(run: PaperRun) -> str:
    """The training pose of the root of the thumb in which the skin is worst."""
    learned, training = learned_hand(run), learned_hand(run).training
    own = [i for i, name in enumerate(training.names) if name.startswith(f"{ROOT}_")]
    assert learned.validation is not None
    return training.names[max(own, key=lambda i: float(training.skin[i]))]


def more_columns(run: PaperRun) -> Shown:
    """Figure 7: 0 to 5 columns of the root of the thumb in the pose where the skin is worst."""
    learned = learned_hand(run)
    character, name = learned.model.character, _far_pose(run)
    basis = basis_of(learned, ROOT)
    known = _known(run, character, name)
    flesh, faces = known.frames[0].astype(np.float64), character.mesh.faces
    own = learned.fit.groups.single[driver_of(learned, ROOT)].tolist()
    coordinates = basis.coordinates[own.index(learned.fit.settings.names.index(name))]
    blends = blends_of(character.deformer, known.transforms[0])
    rest = character.mesh.rest.astype(np.float64)
    most = min(MOST, len(basis.singular))
    camera = camera_of_poses([known.frames[0][basis.support]])
    shots, errors = [], []
    for count in range(most + 1):
        moved = rest + np.einsum("k,kvi->vi", coordinates[:count], basis.columns[:count])
        posed = np.einsum("vij,vj->vi", blends[..., :3], moved) + blends[..., 3]
        errors.append(_relative(posed, flesh, rest))
        both = np.concatenate([flesh, posed])
        paint = np.concatenate([np.tile(FLESH, (len(flesh), 1)), np.tile(GREEN, (len(posed), 1))])
        words = f"{count} {'column' if count == 1 else 'columns'}: relErr {number(errors[-1])}"
        shape = np.concatenate([faces, faces + len(flesh)])
        shots.append(shot(both, shape, paint, words, options=view_of_hand(), camera=camera))
    chart = curves(
        "Relative error by columns",
        [Series("", list(range(most + 1)), errors, dots=True)],
        Axis("eigendisplacements", whole=True),
        Axis("relErr"),
        note="Distance from the flesh over the displacement of the flesh from rest, in the l2 norm.",
    )
    text = (
        f"The pose {name.replace('_', ' ')}: skin is the simulated flesh, green the approximation; where they agree, "
        f"both show. The first column removes {100 * (1 - errors[1] / errors[0]):.0f} % of the error."
    )
    return Shown(text, (panels(shots, 3), chart), numbers={"pose": name, "relative_error": errors})


def _relative(posed: Float64, flesh: Float64, rest: Float64) -> float:
    """The l2 distance from the flesh, relative to how far the flesh is from rest."""
    return float(np.linalg.norm(posed - flesh) / np.linalg.norm(flesh - rest))
