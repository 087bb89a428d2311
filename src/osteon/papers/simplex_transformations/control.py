"""Figures about control without a skeleton: a line (18), twist axes (19) and pinned vertices (20)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.topology import bounding_diagonal
from osteon.core.transforms import rotation_from_axis_angle
from osteon.measure.strain import triangle_distortion
from osteon.papers.entries import Compared, Panels, Shown
from osteon.papers.panels import overlaid, shot
from osteon.papers.run import PaperRun
from osteon.papers.simplex_transformations.bodies import PALE, SKIN, Body, body_of, camera_of
from osteon.report.gallery import Picture
from osteon.report.page_parts import number
from osteon.report.raster import Camera, Image, frame_camera
from osteon.report.stick_overlay import draw_edges, draw_segments
from osteon.simplex.options import BoneOptions
from osteon.simplex.poser import Poser, PoserOptions

#: sRGB bytes of lines and pins at rest and posed, and their widths in pixels.
BLUE, RED, WIDE = (30, 80, 200), (200, 30, 30), 4.0
#: Of figure 18: size of the upper part, and its rotation in degrees. Of figure 19: the twist in degrees.
ENLARGED, LEANED, TWISTED = 2.5, 25.0, 90.0


def _with_lines(
    body: Body, points: Float64, colors: object, words: str, lines: list[tuple[Float64, tuple[int, int, int]]],
    camera: Camera,
) -> Picture:  # fmt: skip
    """The mesh with line segments (n,2,3) in colours on top."""

    def draw(image: Image, seen: Camera) -> Image:
        for segments, color in lines:
            image = draw_segments(image, segments, seen, color, WIDE)
        return image

    return overlaid(shot(points, body.faces, colors, words, options=body.view, camera=camera), draw)


#: A domain's own distance, in diagonals: no triangle of the box is too far.
FAR = 10.0


def _upper_part(body: Body) -> tuple[Float64, Float64]:
    """From the waist of the built-in figure to the height of its ears."""
    waist = body.skeleton.joints[body.skeleton.names.index("waist")]
    return waist, _top(body, waist)


def _top(body: Body, below: Float64) -> Float64:
    """The place above a point at the height of the highest vertex."""
    return np.array([below[0], float(body.vertices[:, 1].max()), below[2]])


def one_line(run: PaperRun) -> Shown:
    """Figure 18: a control line that rotates and enlarges the upper part of a body."""
    from osteon.papers.simplex_transformations.bodies import BUILT_IN

    body = run.once("built-in armadillo", lambda: BUILT_IN["armadillo"](run))
    start, stop = _upper_part(body)
    low, high = body.vertices.min(axis=0), body.vertices.max(axis=0)
    far = FAR * bounding_diagonal(body.vertices)
    domain = Domain(distance=far, box=((float(low[0]), float(start[1]), float(low[2])), tuple(high.tolist())))
    line = ControlLine(tuple(start.tolist()), tuple(stop.tolist()), domain, "upper part")
    turn = rotation_from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians(LEANED))
    ends = np.stack([start, start + ENLARGED * turn @ (stop - start)])
    track = PoseTrack(
        np.zeros((1, 0, 3)), lines=LineTrack((line,), ends[None, None], np.full((1, 1), ENLARGED), np.zeros((1, 1, 2)))
    )
    poser = Poser.of(body.vertices, body.faces, None, lines=(line,))
    points = poser.pose(track)[0]
    camera = camera_of(body, [body.vertices, points])
    led = poser.groups.group == 0
    paint = np.where(led[:, None], SKIN, PALE)
    rest = np.stack([start, stop])[None]
    edges = [_mean_edge(one, body.faces[led]) for one in (body.vertices, points)]
    pictures = (
        _with_lines(body, body.vertices, paint, "control line (blue), and its triangles", [(rest, BLUE)], camera),
        _with_lines(body, points, paint, "moved line (red), and the mesh", [(rest, BLUE), (ends[None], RED)], camera),
    )
    compared = (
        Compared(
            "the upper part, times as large", ENLARGED, edges[1] / edges[0], "Figure 18",
            why="Edges at the border of the domain are enlarged less, since they join triangles that keep their size.",
        ),
    )  # fmt: skip
    text = (
        f"The {body.name}: one line, with a box as its domain, rotates the upper part by {LEANED:g} degrees and "
        f"enlarges it {ENLARGED:g} times. Triangles without a line keep their shape."
    )
    return Shown(text, (Panels(pictures, 2),), compared, {"edges": edges, "triangles_of_line": int(led.sum())})


def _mean_edge(points: Float64, faces: Int32) -> float:
    """Mean length of the sides of triangles."""
    return float(np.linalg.norm(points[faces] - points[np.roll(faces, 1, axis=1)], axis=2).mean())


def twist(run: PaperRun) -> Shown:
    """Figure 19: a twist axis along the neck, and a second line that keeps its end's angle through the head."""
    from osteon.papers.simplex_transformations.bodies import BUILT_IN

    body = run.once("built-in female", lambda: BUILT_IN["female"](run))
    chest, neck, head = (body.skeleton.joints[body.skeleton.names.index(n)] for n in ("chest", "neck", "head"))
    crown = _top(body, head)
    base = chest + 0.75 * (neck - chest)
    wide = 0.16 * float(np.ptp(body.vertices[:, 1]))
    low, high = (-wide, float(base[1]), -wide), (wide, float(body.vertices[:, 1].max()), 2 * wide)
    domain = Domain(distance=FAR * bounding_diagonal(body.vertices), box=(low, high))
    lines = (
        ControlLine(tuple(base.tolist()), tuple(head.tolist()), domain, "neck"),
        ControlLine(tuple(head.tolist()), tuple(crown.tolist()), domain, "head"),
    )
    angle = np.radians(TWISTED)
    ends = np.array([[[line.start, line.stop] for line in lines]])
    angles = np.array([[[0.0, angle], [angle, angle]]])
    track = PoseTrack(np.zeros((1, 0, 3)), lines=LineTrack(lines, ends, np.ones((1, 2)), angles))
    shapes, facts = {}, {}
    for name, way in (("as in the paper", "rotate"), ("that keeps sections (--twist section)", "section")):
        options = PoserOptions(bones=BoneOptions(twist=way))  # type: ignore[arg-type]
        poser = Poser.of(body.vertices, body.faces, None, lines=lines, options=options)
        shapes[name] = poser.pose(track)[0]
        led = poser.groups.group == 1
        facts[name] = {
            "head_degrees": _turned_by(body.vertices, shapes[name], body.faces[led]),
            "mean_strain": float(triangle_distortion(body.vertices, shapes[name], body.faces).strain.mean()),
        }
    upper = body.vertices[body.vertices[:, 1] > 0.55 * body.vertices[:, 1].max()]
    camera = frame_camera(upper, replace(body.view, shadow=False))
    body = replace(body, view=replace(body.view, shadow=False))
    groups = np.array([RED_PART, BLUE_PART, PALE])
    paint = groups[poser.groups.group]
    drawn = [(ends[0, :1], RED), (ends[0, 1:], BLUE)]
    pictures = [_with_lines(body, body.vertices, paint, "control lines, and their triangles", drawn, camera)]
    pictures.append(_with_lines(body, body.vertices, SKIN, "original", [], camera))
    pictures += [
        _with_lines(body, points, SKIN, f"twist {name}: head by {number(facts[name]['head_degrees'])} degrees",
                    [], camera)
        for name, points in shapes.items()
    ]  # fmt: skip
    compared = (
        Compared(
            "rotation of the head", TWISTED, facts["as in the paper"]["head_degrees"], "section 7.2", "degrees",
            "Mean of its triangles; those next to the neck rotate slightly less, since they are joined to it.",
        ),
    )  # fmt: skip
    text = (
        f"The {body.name}: a line along the neck twists linearly from 0 to {TWISTED:g} degrees, and a second line "
        "keeps that angle through the head."
    )
    return Shown(text, (Panels(tuple(pictures), 4),), compared, facts)


#: sRGB of the triangles of both lines of figure 19.
RED_PART, BLUE_PART = (0.90, 0.55, 0.50), (0.50, 0.62, 0.90)


def _turned_by(rest: Float64, points: Float64, faces: Int32) -> float:
    """Rotation about y that takes the first corners of triangles nearest to their posed ones, degrees."""
    before, after = (one[faces[:, 0]][:, [0, 2]] for one in (rest, points))
    before, after = before - before.mean(axis=0), after - after.mean(axis=0)
    sine = float((before[:, 1] * after[:, 0] - before[:, 0] * after[:, 1]).sum())
    return float(np.degrees(np.arctan2(sine, float((before * after).sum()))))


#: Pins of the moon: place along it (0 … 1), and displacement in its radii.
PINS = ((0.06, (0.10, -0.30)), (0.28, (0.0, 0.0)), (0.5, (-0.22, 0.0)), (0.72, (0.0, 0.0)), (0.94, (-0.25, 0.25)))


def make_moon(along: int, across: int) -> tuple[Float64, Int32]:
    """A flat crescent of a grid of triangles, counter-clockwise, of radius 1."""
    u, w = np.linspace(0.02, 0.98, along), np.linspace(-1, 1, across)
    angle = np.radians(40 + 280 * u)
    radius = 1 + 0.30 * np.sin(np.pi * u)[:, None] * w
    points = np.stack([np.cos(angle)[:, None] * radius, np.sin(angle)[:, None] * radius, 0 * radius], axis=2)
    i, j = np.meshgrid(np.arange(along - 1), np.arange(across - 1), indexing="ij")
    a = (i * across + j).ravel()
    b, c, d = a + 1, a + across + 1, a + across
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return points.reshape(-1, 3), faces.astype(np.int32)


def moon(run: PaperRun) -> Shown:
    """Figure 20: a flat moon, moved by five pinned vertices."""
    along, across = run.size(61, 25), run.size(13, 7)
    vertices, faces = make_moon(along, across)
    pins = np.array([round(place * (along - 1)) * across + across // 2 for place, _ in PINS], np.int32)
    moves = np.array([[*move, 0.0] for _, move in PINS])
    targets = vertices[pins] + moves
    track = PoseTrack(np.zeros((1, 0, 3)), pins=PinTrack(pins, targets[None]))
    points = Poser.of(vertices, faces, None).pose(track)[0]
    view = replace(body_of(run, "cartoon").view, height=360)
    camera = frame_camera(np.concatenate([vertices, points]), view)
    size = 0.02 * bounding_diagonal(vertices)

    def pinned(places: Float64, shape: Float64, words: str) -> Picture:
        cross = np.array([[[-1, 0, 0], [1, 0, 0]], [[0, -1, 0], [0, 1, 0]]]) * size
        marks = (places[:, None, None] + cross).reshape(-1, 2, 3)

        def draw(image: Image, seen: Camera) -> Image:
            return draw_segments(draw_edges(image, shape, faces, seen), marks, seen, BLUE, WIDE)

        return overlaid(shot(shape, faces, SKIN, words, options=view, camera=camera), draw)

    off = float(np.abs(points[pins] - targets).max()) / bounding_diagonal(vertices)
    strain = float(triangle_distortion(vertices, points, faces).strain.mean())
    pictures = (
        pinned(vertices[pins], vertices, "a) moon and its pinned vertices"),
        pinned(targets, points, "b) the pins at their new places"),
    )
    text = (
        f"{len(pins)} pinned vertices (blue crosses) move a moon of {len(vertices)} vertices; all transforms are the "
        f"identity. The pins are met to {number(off)} diagonals; mean strain {number(strain)}."
    )
    return Shown(text, (Panels(pictures, 2),), numbers={"off": off, "mean_strain": strain})
