"""Figures about segments: control domains (1 to 3), and boundaries that are cut again (4, 5)."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.sticks import StickSkeleton
from osteon.papers.entries import Panels, Shown
from osteon.papers.panels import PANEL
from osteon.papers.run import PaperRun
from osteon.papers.simplex_transformations.bodies import PALE, Body, body_of, colored_bones, picture, segment_paint
from osteon.report.page_parts import number
from osteon.report.raster import frame_camera
from osteon.simplex.boundaries.cut import cut_boundary_between
from osteon.simplex.options import BoundaryOptions
from osteon.simplex.poser import Poser
from osteon.simplex.segmentation.segment import segment_mesh

#: A boundary that a user chooses is cut also where the mesh is smooth.
CHOSEN = BoundaryOptions(mode="all")


def poser_of(run: PaperRun, name: str) -> Poser:
    """A body prepared for posing."""
    body = body_of(run, name)
    return run.once(f"poser {name}", lambda: Poser.of(body.vertices, body.faces, body.skeleton, progress=run.progress))


def domain_of_cartoon(run: PaperRun) -> Shown:
    """Figure 1: a flat character, its skeleton, and the bone of every triangle."""
    return _domains(run, "cartoon", mesh_alone=True)


def domain_of_dinopet(run: PaperRun) -> Shown:
    """Figure 2: skeleton and segments of a character in 3D."""
    return _domains(run, "dinopet")


def domain_of_woman(run: PaperRun) -> Shown:
    """Figure 3: the same of another character."""
    return _domains(run, "female")


def _domains(run: PaperRun, name: str, *, mesh_alone: bool = False) -> Shown:
    body, poser = body_of(run, name), poser_of(run, name)
    segmentation = poser.segmentation
    assert segmentation is not None
    labels, joints = segmentation.bone, body.skeleton.joints
    paint = segment_paint(labels, body.skeleton.n_bones)
    pictures = [
        picture(body, body.vertices, PALE, "skeleton", joints=joints, style=colored_bones(body)),
        picture(body, body.vertices, paint, "triangles in the colour of the bone that controls them"),
    ]
    if mesh_alone:
        pictures.insert(0, picture(body, body.vertices, PALE, "mesh"))
    used = len(np.unique(labels))
    text = (
        f"The {body.name}, {len(body.faces):,} triangles: {used} of {body.skeleton.n_bones} bones control triangles, "
        "found from lines of sight and shortest paths, without weights."
    )
    return Shown(text, (Panels(tuple(pictures), len(pictures)),), numbers={"bones": body.skeleton.n_bones})


#: Profile of a turned post with a step: radius and height.
STEP, HIGH = 1.0, 2.2
PROFILE = ((0.0, 0.0), (0.75, 0.0), (0.75, STEP), (0.32, STEP), (0.32, HIGH), (0.0, HIGH))


def _post(n_around: int, spacing: float) -> tuple[Float64, Int32]:
    """A turned post: vertices and faces of the profile about the y axis; sharp edges stay sharp."""
    rings = [np.array(PROFILE[0])]
    for a, b in zip(np.array(PROFILE[:-1]), np.array(PROFILE[1:]), strict=True):
        steps = max(1, round(float(np.linalg.norm(b - a)) / spacing))
        rings += [a + (b - a) * k / steps for k in range(1, steps + 1)]
    inner = np.array(rings[1:-1])
    angle = 2 * np.pi * np.arange(n_around) / n_around
    around = np.stack([np.cos(angle), np.zeros(n_around), -np.sin(angle)], axis=1)
    body = inner[:, None, :1] * around + inner[:, None, 1:] * np.array([0.0, 1.0, 0.0])
    vertices = np.concatenate([body.reshape(-1, 3), [[0, 0, 0], [0, HIGH, 0]]])
    first, last = len(vertices) - 2, len(vertices) - 1
    faces = []
    for i in range(n_around):
        j = (i + 1) % n_around
        faces.append((first, j, i))
        faces.append(((len(inner) - 1) * n_around + i, (len(inner) - 1) * n_around + j, last))
        for r in range(len(inner) - 1):
            a, b, c, d = r * n_around + i, r * n_around + j, (r + 1) * n_around + j, (r + 1) * n_around + i
            faces += [(a, b, c), (a, c, d)]
    return vertices, np.array(faces, np.int32)


def sharp_feature(run: PaperRun) -> Shown:
    """Figure 4: a joint below a step; its boundary, and the same boundary cut at the edge of the step."""
    vertices, faces = _post(run.size(64, 24), 0.06 if not run.options.quick else 0.12)
    off = 0.82 * STEP
    sticks = StickSkeleton(
        np.array([[0, 0.1, 0], [0, off, 0], [0, HIGH - 0.1, 0]]), np.array([[0, 1], [1, 2]]), ("a", "b", "c"), 0
    )
    body = Body("post", vertices, faces, sticks, {}, replace(PANEL, height=400, azimuth=30.0, elevation=25.0))
    before = segment_mesh(vertices, faces, sticks).bone
    after = cut_boundary_between(vertices, faces, before, sticks, ((0,), (1,)), options=CHOSEN)
    places = [_border_heights(vertices, faces, labels) for labels in (before, after)]
    away = [100 * float(np.abs(height - STEP).mean()) / HIGH for height in places]
    pictures = (
        picture(body, vertices, PALE, "mesh, and a joint below the step", joints=sticks.joints,
                style=colored_bones(body)),
        picture(body, vertices, segment_paint(before, 2), f"segments: {number(away[0])} % of the height off the step"),
        picture(body, vertices, segment_paint(after, 2), f"cut again: {number(away[1])} % off"),
    )  # fmt: skip
    text = (
        "A turned post whose joint lies below the sharp step. The minimum cut of the dual graph, with capacities from "
        f"dihedral angles, moves the boundary: its mean distance from the step falls from {number(away[0])} % of the "
        f"height to {number(away[1])} %."
    )
    return Shown(text, (Panels(pictures, 3),), numbers={"off_percent": away})


def _border_heights(vertices: Float64, faces: Int32, labels: Int32) -> Float64:
    """(n,) heights of the middles of edges between two segments."""
    sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    owner = np.repeat(labels, 3)
    order = np.lexsort(sides.T)
    sides, owner = sides[order], owner[order]
    same = (sides[1:] == sides[:-1]).all(axis=1) & (owner[1:] != owner[:-1])
    height: Float64 = vertices[sides[:-1][same]].mean(axis=1)[:, 1]
    return height


#: How far knee and ankle of figure 5 are misplaced.
KNEE, ANKLE = np.array([0.0, 0.09, 0.03]), np.array([0.0, 0.055, 0.02])


def one_leg(run: PaperRun) -> Shown:
    """Figure 5: a leg with misplaced joints, and its boundaries, cut one after the other."""
    body = body_of(run, "dinopet")
    sticks = body.skeleton
    joints = sticks.joints.copy()
    knee, ankle, toe, hip = (sticks.names.index(f"{name}.L") for name in ("knee", "ankle", "toe", "hip"))
    joints[knee] += KNEE
    joints[ankle] += ANKLE
    moved = replace(body, skeleton=replace(sticks, joints=joints))
    bone = {tuple(sorted(pair)): b for b, pair in enumerate(sticks.bones.tolist())}
    thigh, shank, foot = (bone[tuple(sorted(p))] for p in ((hip, knee), (knee, ankle), (ankle, toe)))
    begin = time.perf_counter()
    labels = segment_mesh(body.vertices, body.faces, moved.skeleton).bone
    whole = time.perf_counter() - begin
    rounds = [("misplaced knee and ankle", labels)]
    spent = []
    for name, sides in (("knee cut again", ((thigh,), (shank,))), ("ankle cut again", ((shank,), (foot,)))):
        begin = time.perf_counter()
        labels = cut_boundary_between(body.vertices, body.faces, labels, moved.skeleton, sides, options=CHOSEN)
        spent.append(time.perf_counter() - begin)
        changed = int((labels != rounds[-1][1]).sum())
        rounds.append((f"{name}: {changed} triangles change, {1000 * spent[-1]:.0f} ms", labels))
    near = body.vertices[(body.vertices[:, 0] > 0.02) & (body.vertices[:, 1] < joints[hip, 1])]
    camera = frame_camera(near, body.view)
    leg = colored_bones(body)
    pictures = [picture(moved, body.vertices, PALE, "the leg and its bones", joints=joints, style=leg, camera=camera)]
    pictures += [
        picture(moved, body.vertices, segment_paint(one, sticks.n_bones), words, camera=camera) for words, one in rounds
    ]
    text = (
        f"The left leg of the {body.name}. Only the boundary that is chosen is cut again, in "
        f"{1000 * max(spent):.0f} ms at most; the whole segmentation takes {1000 * whole:.0f} ms."
    )
    return Shown(text, (Panels(tuple(pictures), 4),), numbers={"seconds": spent, "segmentation_seconds": whole})
