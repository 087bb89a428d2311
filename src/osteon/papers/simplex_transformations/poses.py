"""Figures of poses: results (8, 10 to 15), their distortion (9), translation (16), and the comparison with SSD (17)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.topology import bounding_diagonal
from osteon.measure.strain import flipped, triangle_distortion
from osteon.papers.drawings import curves
from osteon.papers.entries import Compared, Panels, Shown
from osteon.papers.panels import overlaid, panels, shot
from osteon.papers.run import PaperRun
from osteon.papers.simplex_transformations.bodies import PALE, SKIN, Body, body_of, camera_of, colored_bones, picture
from osteon.papers.simplex_transformations.segments import poser_of
from osteon.papers.simplex_transformations.table import posing_seconds
from osteon.papers.stick_solids import SIDES, stick_solids
from osteon.report.charts import Axis, Series
from osteon.report.gallery import Picture
from osteon.report.page_parts import number
from osteon.report.picture import HeatScale, bone_colors, heat_colors
from osteon.report.raster import Camera, Image, frame_camera
from osteon.report.stick_overlay import BoneStyle, draw_bones, draw_segments
from osteon.simplex.options import EnergyOptions
from osteon.simplex.poser import Poser, PoserOptions

#: Of figure 8: vertices, and seconds of a pose on a Pentium 4.
PRINTED_VERTICES, PRINTED_SECONDS = 251, 0.02
#: Strain shown in the last colour of figure 17, percent.
TOP = 60.0
#: Mark of the vertex that is held in figure 16: colour, size in diagonals, width in pixels.
MARK, MARK_SIZE, MARK_WIDTH = (215, 25, 25), 0.025, 5.0
#: Opacity of bones over a posed mesh.
FAINT = BoneStyle(size=0.5, strength=0.55)


def posed(run: PaperRun, name: str, pose: str) -> Float64:
    """(v,3) a body in a pose, by simplex transformations."""
    track = body_of(run, name).poses[pose]
    found: Float64 = run.once(f"posed {name} {pose}", lambda: poser_of(run, name).pose(track)[0])
    return found


def deformed_cartoon(run: PaperRun) -> Shown:
    """Figure 8: a posed skeleton in the plane, and the mesh that follows it."""
    body = body_of(run, "cartoon")
    moved = {name: posed(run, "cartoon", name) for name in ("kick", "jump")}
    pictures = []
    for name, points in moved.items():
        joints = body.poses[name].joints[0]
        camera = camera_of(body, [points])
        pictures += [
            picture(body, points, PALE, f"posed skeleton: {name}", joints=joints, camera=camera,
                    style=colored_bones(body)),
            picture(body, points, SKIN, f"posed mesh: {name}", camera=camera),
        ]  # fmt: skip
    seconds = posing_seconds(poser_of(run, "cartoon"), body)
    compared = (
        Compared("vertices", PRINTED_VERTICES, len(body.vertices), "section 6.1", why="The built-in cat is our own."),
        Compared(
            "time of a pose", PRINTED_SECONDS, seconds, "section 6.1", "s",
            "The paper's machine is a Pentium 4 of 3.2 GHz, and its time may include the factorisation.",
        ),
    )  # fmt: skip
    text = f"The {body.name} follows its skeleton in the plane; a pose is one back substitution."
    return Shown(text, (Panels(tuple(pictures), 4),), compared, {"seconds": seconds})


def distortion(run: PaperRun) -> Shown:
    """Figure 9: change of area and angles of the pose of figure 8, as maps and by distance from a joint."""
    body, points = body_of(run, "cartoon"), posed(run, "cartoon", "kick")
    found = triangle_distortion(body.vertices, points, body.faces)
    area, angle = 100 * found.area, np.degrees(found.angle)
    top = [float(f"{np.percentile(values, 98):.1g}") for values in (area, angle)]
    rows = (
        (area, top[0], f"a) area change: mean {number(float(area.mean()))} %; dark is {top[0]:g} % and more"),
        (angle, top[1], f"b) angle change: mean {number(float(angle.mean()))} degrees; dark is {top[1]:g} and more"),
    )
    pictures = tuple(picture(body, points, heat_colors(values, most), words) for values, most, words in rows)
    centers = body.vertices[body.faces].mean(axis=1)
    joints = body.skeleton.joints[np.bincount(body.skeleton.bones.ravel()) > 1]
    away = np.linalg.norm(centers[:, None] - joints, axis=2).min(axis=1) / bounding_diagonal(body.vertices)
    at, means = _means_by(
        100 * away, np.stack([area / area.mean(), angle / angle.mean(), found.strain / found.strain.mean()])
    )
    names = ("area change", "angle change", "strain")
    chart = curves(
        "Distortion by distance from the nearest joint",
        [
            Series(name, at, values.tolist(), kind=k, dots=True)
            for k, (name, values) in enumerate(zip(names, means, strict=True))
        ],
        Axis("distance from the nearest joint, % of the diagonal"),
        Axis("mean distortion, over that of the mesh"),
        note="Means over tenths of the triangles.",
    )
    text = (
        "The pose kick of figure 8; the lighter, the less distortion. Distortion is largest at the joints that bend "
        f"and falls away from them; {int(flipped(body.vertices, points, body.faces).sum())} triangles flip. The paper "
        "sums signed changes of angles, which is zero for every triangle; ours sums their sizes."
    )
    facts = {"area_percent": area.mean(), "angle_degrees": angle.mean(), "strain": found.strain.mean()}
    return Shown(text, (Panels(pictures, 2), chart), numbers=facts)


def _means_by(key: Float64, values: Float64, parts: int = 10) -> tuple[list[float], Float64]:
    """Means of a key and of rows of values over equal parts of the triangles, sorted by the key."""
    groups = np.array_split(np.argsort(key, kind="stable"), parts)
    return [float(key[g].mean()) for g in groups], np.stack([values[:, g].mean(axis=1) for g in groups], axis=1)


def skeletons(run: PaperRun) -> Shown:
    """Figure 10: the skeleton at rest and posed."""
    body = body_of(run, "dinopet")
    tracks = {"rest": body.skeleton.joints, **{name: track.joints[0] for name, track in body.poses.items()}}
    camera = camera_of(body, list(tracks.values()))
    shots = []
    for name, joints in tracks.items():
        solid, faces = stick_solids(joints, body.skeleton.bones)
        paint = np.repeat(bone_colors(body.skeleton.n_bones), SIDES, axis=0)
        shots.append(shot(solid, faces, paint, name, options=body.view, camera=camera))
    text = f"The skeleton of the {body.name}, {body.skeleton.n_bones} bones, at rest and in three poses."
    return Shown(text, (panels(shots),), numbers={"bones": body.skeleton.n_bones})


def results(run: PaperRun, name: str) -> Shown:
    """A model at rest, and its poses."""
    body = body_of(run, name)
    shapes = {"rest": body.vertices, **{pose: posed(run, name, pose) for pose in body.poses}}
    poser = poser_of(run, name)
    facts, strains, flips = {}, [], 0
    for pose, track in body.poses.items():
        points = shapes[pose]
        turned = int(flipped(body.vertices, points, body.faces, poser.ideal(track)[0]).sum())
        flips += turned
        strains.append(float(triangle_distortion(body.vertices, points, body.faces).strain.mean()))
        facts[pose] = {"flipped": turned, "mean_strain": strains[-1]}
    pictures = tuple(picture(body, points, SKIN, pose) for pose, points in shapes.items())
    text = (
        f"The {body.name}, {len(body.vertices):,} vertices and {body.skeleton.n_bones} bones; mean strain up to "
        f"{number(max(strains))}. Flipped triangles: {flips}."
    )
    return Shown(text, (Panels(pictures, len(pictures)),), numbers=facts)


def dinopet(run: PaperRun) -> Shown:
    """Figure 11."""
    return results(run, "dinopet")


def armadillo(run: PaperRun) -> Shown:
    """Figure 12."""
    return results(run, "armadillo")


def horse(run: PaperRun) -> Shown:
    """Figure 13."""
    return results(run, "horse")


def female(run: PaperRun) -> Shown:
    """Figure 14."""
    return results(run, "female")


def palm(run: PaperRun) -> Shown:
    """Figure 15."""
    return results(run, "palm")


def without_translation(run: PaperRun) -> Shown:
    """Figure 16: the energy without its translation term, the paper's whole energy, and ours."""
    body, pose = body_of(run, "dinopet"), "sit"
    track = body.poses[pose]
    joints = track.joints[0]
    ways = {
        "without translation (eq. 19): one vertex stays": EnergyOptions(translation=False),
        "with translation (eq. 15)": EnergyOptions(follow=0.0),
        "with translation, and near the bones (default)": EnergyOptions(),
    }
    shapes, away, held = {}, {}, {}
    for words, energy in ways.items():
        poser = Poser.of(body.vertices, body.faces, body.skeleton, options=PoserOptions(energy=energy))
        shapes[words] = poser.pose(track)[0]
        away[words] = _drift(poser, body, pose, shapes[words])
        assert poser.solver is not None
        points = poser.solver.vertices[poser.solver.held]
        held[words] = np.flatnonzero(np.isin(poser.point_of, points)).astype(np.int32)
    camera = camera_of(body, [*shapes.values(), joints])
    pictures = tuple(
        _marked(body, points, held[words], f"{words}: {number(away[words])} % off", joints, camera)
        for words, points in shapes.items()
    )
    least, most = min(away.values()), max(away.values())
    text = (
        f"The pose {pose} of the {body.name}. Off: mean distance of triangles from where their bones put them, in "
        f"percent of the diagonal; {number(most)} without translation and {number(least)} at best. In eq. 19 only "
        "differences count, so one vertex (red) is held where its bone puts it, and all others follow from it."
    )
    return Shown(text, (Panels(pictures, 3),), numbers={"off_percent": list(away.values())})


def _marked(body: Body, points: Float64, held: Int32, words: str, joints: Float64, camera: Camera) -> Picture:
    """A pose with its bones, and crosses at vertices."""
    arm = MARK_SIZE * bounding_diagonal(body.vertices)
    cross = arm * np.array([[-camera.axes[0], camera.axes[0]], [-camera.axes[1], camera.axes[1]]])
    segments = (points[held][:, None, None] + cross).reshape(-1, 2, 3)

    def draw(image: Image, seen: Camera) -> Image:
        image = draw_bones(image, joints, body.skeleton.bones, seen, style=FAINT)
        return draw_segments(image, segments, seen, MARK, MARK_WIDTH) if len(segments) else image

    return overlaid(shot(points, body.faces, SKIN, words, options=body.view, camera=camera), draw)


def _drift(poser: Poser, body: Body, pose: str, points: Float64) -> float:
    """Mean distance of triangle centres from their place by their bones, percent of the diagonal."""
    ideal = poser.ideal(body.poses[pose])[0]
    rest = poser.points[poser.faces].mean(axis=1)
    placed = np.einsum("tij,tj->ti", ideal[..., :3], rest) + ideal[..., 3]
    found = points[body.faces].mean(axis=1)
    return 100 * float(np.linalg.norm(found - placed, axis=1).mean()) / bounding_diagonal(body.vertices)


def against_ssd(run: PaperRun) -> Shown:
    """Figure 17: the same pose by simplex transformations and by SSD, whole and where the leg meets the body."""
    body, pose = body_of(run, "dinopet"), "run"
    track = body.poses[pose]
    blended = Poser.of(body.vertices, body.faces, body.skeleton, options=PoserOptions(method="ssd")).pose(track)[0]
    shapes = {"simplex transformations": posed(run, "dinopet", pose), "SSD": blended}
    ideal = poser_of(run, "dinopet").ideal(track)[0]
    camera = camera_of(body, list(shapes.values()))
    hip = track.joints[0, body.skeleton.names.index("hip.L")]
    near = shapes["SSD"][np.linalg.norm(shapes["SSD"] - hip, axis=1) < 0.3]
    close = frame_camera(near, replace(body.view, shadow=False))
    facts, whole, details = {}, [], []
    for name, points in shapes.items():
        strain = triangle_distortion(body.vertices, points, body.faces).strain
        turned = int(flipped(body.vertices, points, body.faces, ideal).sum())
        facts[name] = {"mean_strain": float(strain.mean()), "largest_strain": float(strain.max()), "flipped": turned}
        whole.append(picture(body, points, SKIN, f"{name}: strain {number(float(strain.mean()))}, {turned} flipped",
                             camera=camera))  # fmt: skip
        paint = heat_colors(100 * strain, TOP)
        details.append(picture(body, points, paint, f"{name}: strain at the hip", camera=close))
    ours, theirs = facts.values()
    text = (
        f"The pose {pose} of the {body.name}. SSD blends all bones with inverse-square weights; its mean strain is "
        f"{number(theirs['mean_strain'] / ours['mean_strain'])} times that of simplex transformations, and "
        f"{theirs['flipped']} triangles flip instead of {ours['flipped']}."
    )
    parts = (Panels(tuple(whole), 2), Panels(tuple(details), 2, HeatScale(TOP, "%", "strain")))
    return Shown(text, parts, numbers=facts)
