"""Figures about rotations: the polar decomposition of a triangle (3), and mean shift of points of the plane (4)."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.parallel import available_threads
from osteon.fit.clustering.core_bones import triangle_rotations
from osteon.fit.clustering.mean_shift import climb_all, join_modes, nearest_mode, to_bytes
from osteon.papers.drawings import css_color, curves, plane_drawing, points_drawing
from osteon.papers.entries import Drawing, Shown
from osteon.papers.mesh_animations.clusters import clusters_of
from osteon.papers.panels import CLAY, common_camera, panels, shot
from osteon.papers.run import PaperRun
from osteon.papers.subjects import find_subject
from osteon.report.charts import Axis, Series
from osteon.report.page_parts import number
from osteon.report.picture import bone_colors

#: Colours of the marked triangles, and how far around a marked one its neighbours are coloured, in diagonals.
MARKED, AROUND = ((0.80, 0.15, 0.12), (0.90, 0.50, 0.10), (0.10, 0.45, 0.70)), 0.03


def triangle_motions(run: PaperRun) -> Shown:
    """Figure 3: the deformation of a triangle as a stretch and a rotation, and rotations over time."""
    found, clustering = find_subject(run, "horse"), clusters_of(run, "horse")
    sequence, labels = found.sequence, clustering.labels
    first, mate, other = _marked_triangles(labels, sequence.rest[sequence.faces].mean(axis=1).astype(np.float64))
    chosen = np.array([first, mate, other])
    frames = np.stack([sequence.frame(f) for f in range(sequence.n_frames)])
    rotations = triangle_rotations(sequence.rest, frames, sequence.faces[chosen])[0].reshape(3, -1, 3, 3)
    traces = np.trace(rotations.astype(np.float64), axis1=2, axis2=3)
    angles = np.degrees(np.arccos(np.clip((traces - 1) / 2, -1, 1)))
    frame = int(angles[0].argmax())
    corners = sequence.faces[first]
    gradient = _deformation(sequence.rest[corners].astype(np.float64), frames[frame][corners].astype(np.float64))
    rotation = rotations[0, frame].astype(np.float64)
    stretch = rotation.T @ gradient
    steps = _polar_drawing(sequence.rest[corners].astype(np.float64), stretch, rotation)
    names = ("the triangle", "one of the same bone", "one of another bone")
    at = list(range(sequence.n_frames))
    chart = curves(
        "Rotation of three triangles",
        [Series(name, at, angles[i].tolist(), kind=i) for i, name in enumerate(names)],
        Axis("frame", whole=True),
        Axis("angle, degrees"),
        note="Triangles of one bone rotate alike in all frames, so their points are close to each other.",
    )
    paint = _marked_paint(sequence.rest[sequence.faces].mean(axis=1), chosen, AROUND * sequence.diagonal)
    shots = [
        shot(sequence.rest, sequence.faces, paint, "rest pose"),
        shot(frames[frame], sequence.faces, paint, f"frame {frame}", camera=common_camera(sequence, [frame])),
    ]
    sizes = np.linalg.svd(stretch, compute_uv=False)
    text = (
        f"A triangle of the {found.name} (red) from rest to frame {frame}: it is stretched by W, by {number(sizes[0])} "
        f"at most and {number(sizes[-1])} at least, then rotated by R, by {number(angles[0, frame])} degrees. Its "
        f"point z has {9 * sequence.n_frames} coordinates: the entries of R in all frames. Orange: a triangle of the "
        "same bone; blue: one of another."
    )
    facts = {"frame": frame, "stretch": stretch, "rotation": rotation, "angles": angles}
    return Shown(text, (panels(shots), steps, chart), numbers=facts)


def _marked_triangles(labels: np.ndarray, centers: Float64) -> tuple[int, int, int]:
    """A triangle of a small bone, one of the same bone far from it, and one of the largest bone."""
    counts = np.bincount(labels[labels >= 0])
    bone = int(np.argsort(counts, kind="stable")[len(counts) // 2])
    own = np.flatnonzero(labels == bone)
    first = int(own[np.linalg.norm(centers[own] - centers[own].mean(axis=0), axis=1).argmin()])
    mate = int(own[np.linalg.norm(centers[own] - centers[first], axis=1).argmax()])
    largest = int(np.where(np.arange(len(counts)) == bone, -1, counts).argmax())
    away = np.flatnonzero(labels == largest) if len(counts) > 1 else np.arange(len(labels))
    other = int(away[np.linalg.norm(centers[away] - centers[first], axis=1).argmax()])
    return first, mate, other


def _marked_paint(centers: FloatArray, chosen: np.ndarray, radius: float) -> FloatArray:
    """(t,3) clay, and around each chosen triangle its colour."""
    paint = np.tile(CLAY, (len(centers), 1))
    for triangle, color in zip(chosen, MARKED, strict=True):
        paint[np.linalg.norm(centers - centers[triangle], axis=1) < radius] = color
    return paint


def _deformation(rest: Float64, posed: Float64) -> Float64:
    """(3,3) F = O_posed O_rest^-1, with columns e1, e2 and the unit normal."""

    def frame(corners: Float64) -> Float64:
        a, b = corners[1] - corners[0], corners[2] - corners[0]
        normal = np.cross(a, b)
        return np.stack([a, b, normal / np.linalg.norm(normal)], axis=1)

    return np.asarray(frame(posed) @ np.linalg.inv(frame(rest)))


def _polar_drawing(rest: Float64, stretch: Float64, rotation: Float64) -> Drawing:
    """The triangle at rest, stretched, and rotated, each about its centre, seen across the axis of the rotation."""
    shape = rest - rest.mean(axis=0)
    stages = [shape, shape @ stretch.T, shape @ (rotation @ stretch).T]
    shown = np.concatenate([*stages, np.zeros((1, 3))])
    across = np.linalg.svd(shown - shown.mean(axis=0), full_matrices=False)[2][:2]
    flat = [stage @ across.T for stage in stages]
    wide = 1.5 * max(float(np.ptp(one, axis=0).max()) for one in flat)
    shapes = [(one + np.array([i * wide, 0]), css_color(np.array(MARKED[0]))) for i, one in enumerate(flat)]
    names = ("rest", "W rest", "R W rest: posed")
    labels = [(np.array([i * wide, -0.62 * wide]), name) for i, name in enumerate(names)]
    return plane_drawing("One triangle: F = R W", shapes, labels)


#: Of figure 4: triangles of the sample, h in degrees, the largest angle shown, paths drawn, cells of the field.
SAMPLE, BANDWIDTH, WIDEST, PATHS, CELLS = 900, 14.0, 90.0, 150, (44, 30)


def mean_shift_of_points(run: PaperRun) -> Shown:
    """Figure 4: rotations of triangles in two frames as points of the plane, and their climb to the modes."""
    found = find_subject(run, "horse")
    sequence = found.sequence
    rng = np.random.default_rng(0)
    count = min(run.size(SAMPLE, 250), sequence.n_triangles)
    triangles = np.sort(rng.permutation(sequence.n_triangles)[:count])
    frames = np.array([sequence.n_frames // 8, 5 * sequence.n_frames // 8])
    posed = np.stack([sequence.frame(int(f)) for f in frames])
    rotations, valid = triangle_rotations(sequence.rest, posed, sequence.faces[triangles])
    matrices = rotations[valid].reshape(-1, 2, 3, 3).astype(np.float64)
    points = np.clip(_angles_about(matrices, _common_axis(matrices)), -WIDEST, WIDEST)
    ends, labels = _climbed(points, run.options.threads)
    modes = np.stack([ends[labels == k].mean(axis=0) for k in range(labels.max(initial=-1) + 1)])
    paths = [_path(points, start) for start in points[:: max(1, len(points) // PATHS)]]
    palette = [css_color(color) for color in bone_colors(len(modes))]
    colors = [palette[k] if k >= 0 else "var(--ink)" for k in labels]
    axes = Axis(f"angle in frame {frames[0]}, degrees"), Axis(f"angle in frame {frames[1]}, degrees")
    drawings = (
        points_drawing("Points in the colours of their clusters", points, colors, *axes, radius=2.6),
        points_drawing(
            "Density, climbs and modes",
            points,
            ["none"] * len(points),
            *axes,
            paths=paths,
            spots=modes,
            field=_field(points),
        ),
    )
    text = (
        f"Each of {len(points)} triangles of the {found.name} is a point: how far it rotates in two frames, about the "
        f"axis that most of them share. Bandwidth {BANDWIDTH:g} degrees; {len(modes)} modes (red), found by the "
        f"compiled mean shift that finds bones. {int((labels < 0).sum())} points are outliers."
    )
    return Shown(text, drawings, numbers={"modes": modes, "points": len(points)})


def _common_axis(rotations: Float64) -> Float64:
    """(3,) the axis that rotation vectors share most."""
    vectors = _rotation_vectors(rotations).reshape(-1, 3)
    axis: Float64 = np.linalg.eigh(vectors.T @ vectors)[1][:, 2]
    return axis


def _rotation_vectors(rotations: Float64) -> Float64:
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_rotvec()
    return np.asarray(flat.reshape(*rotations.shape[:-2], 3))


def _angles_about(rotations: Float64, axis: Float64) -> Float64:
    """(n,2) the parts of the rotation vectors along an axis, in degrees."""
    return np.asarray(np.degrees(_rotation_vectors(rotations) @ axis))


def _climbed(points: Float64, threads: int) -> tuple[Float64, np.ndarray]:
    """Where every point ends, and its cluster; -1 for those far from modes of at least a hundredth of the points."""
    unit = to_bytes((points / WIDEST).astype(np.float32))
    h = int(BANDWIDTH / WIDEST * 127.5)
    weights = np.ones(len(unit), np.float32)
    workers = available_threads(threads)
    shifted, _ = climb_all(unit, weights, h, unit, unit[:0], workers)
    modes, mode_of = join_modes(shifted, weights, h // 2)
    support = np.bincount(mode_of, minlength=len(modes))
    strong = np.argsort(-support, kind="stable")[: int((support >= len(unit) / 100).sum())]
    kept = np.ascontiguousarray(shifted[modes[strong]])
    ends = (shifted[:, :2].astype(np.float64) / 127.5 - 1) * WIDEST
    return ends, nearest_mode(shifted, kept, max(1, h // 4), workers)


def _path(points: Float64, start: Float64) -> Float64:
    """(s,2) the steps of one climb, in floating point."""
    steps = [start]
    for _ in range(60):
        near = np.clip(1 - np.abs(points - steps[-1]).sum(axis=1) / BANDWIDTH, 0, None) ** 2
        if near.sum() == 0:
            break
        steps.append((near[:, None] * points).sum(axis=0) / near.sum())
        if np.abs(steps[-1] - steps[-2]).sum() < 0.05:
            break
    return np.stack(steps)


def _field(points: Float64) -> tuple[Float64, Float64]:
    """Centres (n,2) of the cells of a grid, and the root of the density there, 0 … 1; climbs follow its gradient."""
    low, high = points.min(axis=0), points.max(axis=0)
    x, y = (np.linspace(low[i], high[i], CELLS[i]) for i in range(2))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    distance = np.abs(grid[:, None] - points).sum(axis=2) / BANDWIDTH
    density = (np.clip(1 - distance, 0, None) ** 3).sum(axis=1)
    return grid, np.sqrt(density / max(density.max(), 1e-30))
