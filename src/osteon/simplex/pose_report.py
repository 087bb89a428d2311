"""Reports on a poser and its poses: segments, distortion and flipped triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.pose_track import PoseTrack
from osteon.core.topology import degenerate_triangles, shells, triangle_areas
from osteon.measure.strain import flipped, triangle_distortion
from osteon.simplex.poser import Poser
from osteon.simplex.segmentation.sides import side_notes

#: Largest number of poses that are measured; of longer tracks, evenly spaced ones.
MOST = 48


def describe_poser(poser: Poser) -> dict[str, Any]:
    """Mesh, skeleton and segments."""
    facts: dict[str, Any] = {
        "mesh": {
            "vertices": len(poser.point_of),
            "triangles": len(poser.faces),
            "pieces": shells(poser.faces, len(poser.points))[0],
            "degenerate_triangles": int(degenerate_triangles(poser.points, poser.faces).sum()),
        },
        "dimension": poser.dimension,
        "method": poser.options.method,
    }
    if poser.skeleton is not None:
        facts["skeleton"] = {"joints": poser.skeleton.n_joints, "bones": poser.skeleton.n_bones}
        facts["segments"] = _describe_segments(poser)
    if poser.lines:
        counts = np.bincount(poser.groups.group, minlength=poser.groups.count)
        facts["lines"] = {line.name: int(counts[poser.groups.n_bones + i]) for i, line in enumerate(poser.lines)}
    if poser.segmentation is not None and poser.skeleton is not None:
        across = side_notes(poser.points, poser.faces, poser.skeleton, poser.groups.group)
        facts["exceptions"] = [*across, *poser.segmentation.exceptions]
    return facts


def _describe_segments(poser: Poser) -> dict[str, dict[str, float]]:
    """Triangles and share of the area by bone."""
    if poser.skeleton is None:
        return {}
    areas = triangle_areas(poser.points, poser.faces)
    counts = np.bincount(poser.groups.group, minlength=poser.groups.count)
    shares = np.bincount(poser.groups.group, areas, poser.groups.count) / max(float(areas.sum()), 1e-300)
    return {
        poser.skeleton.bone_name(b): {"triangles": int(counts[b]), "area_percent": 100 * float(shares[b])}
        for b in range(poser.skeleton.n_bones)
    }


def describe_poses(poser: Poser, track: PoseTrack, posed: Float64) -> dict[str, Any]:
    """The worst of all measured poses: flipped triangles, and distortion as in figure 9."""
    chosen = np.unique(np.linspace(0, track.n_frames - 1, min(MOST, track.n_frames)).round().astype(int)).tolist()
    first = np.zeros(len(poser.points), np.int64)
    first[poser.point_of[::-1]] = np.arange(len(poser.point_of))[::-1]
    rows: list[dict[str, float]] = []
    for f in chosen:
        points = posed[f][first]
        found = triangle_distortion(poser.points, points, poser.faces)
        turned = flipped(poser.points, points, poser.faces, poser.ideal(track.frame(f))[0])
        rows.append(
            {
                "pose": f,
                "flipped": int(turned.sum()),
                "area": float(found.area.max()),
                "angle": float(found.angle.max()),
                "strain": float(found.strain.max()),
                "mean_strain": float(found.strain.mean()),
            }
        )
    worst = {key: max(row[key] for row in rows) for key in rows[0] if key != "pose"}
    return {"poses": track.n_frames, "measured_poses": len(chosen), "worst": worst, "by_pose": rows}
