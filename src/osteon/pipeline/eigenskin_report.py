"""The report of a fitted EigenSkin: quality, method, and the errors with fewer columns.

| section | contents |
| --- | --- |
| quality | errors on training poses and on others, columns per vertex, size |
| method  | options, joints and pairs with support, columns, radius and ridge, bounded blends, joints that never move |
| ladder  | the residual in poses of single joints, by the number of eigendisplacements of each joint |
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from osteon import __version__
from osteon.core.arrays import IntArray
from osteon.core.progress import peak_memory_mb
from osteon.fit.eigenskin.eigenbasis import choose_counts, left_by_counts
from osteon.pipeline.eigenskin import LearnedSkin


def eigenskin_report(learned: LearnedSkin) -> dict[str, Any]:
    """The report as JSON."""
    model, found, fit, options = learned.model, learned.displacement, learned.fit, learned.options
    groups = fit.groups
    return {
        "input": {
            "vertices": model.n_vertices,
            "triangles": len(model.faces),
            "bones": model.n_bones,
            "poses": len(learned.training.names),
            "poses_of_one_joint": sum(len(poses) for poses in groups.single.values()),
            "poses_of_two_joints": sum(len(poses) for poses in groups.pair.values()),
            "poses_of_many_joints": len(groups.many),
            "validation_poses": 0 if learned.validation is None else len(learned.validation.names),
        },
        "quality": {
            "training": learned.training.to_json(),
            "validation": None if learned.validation is None else learned.validation.to_json(),
            "relative_training_error": left_by_counts(fit.bases, fit.counts),
            "eigendisplacements": found.rank,
            "eigendisplacements_a_vertex": _mean_and_max(found.columns_per_vertex[np.unique(model.faces)], learned),
            "eigennormals": found.n_normals,
            "eigennormals_a_normal": _mean_and_max(found.columns_per_normal, learned),
            "basis_bytes": found.basis_bytes,
        },
        "method": {
            "kind": found.kind,
            "deformer": model.deformer.kind,
            # The paper has no pairs of joints, and another support.
            "options": asdict(options)
            | {"per_pair": 0 if options.preset == "paper" else options.per_pair, "support": options.threshold},
            "joints": [row for row in _drivers(learned) if len(row["joints"]) == 1],
            "pairs": [row for row in _drivers(learned) if len(row["joints"]) == 2],
            "joints_never_moved": [model.track.names[int(fit.settings.joints[n])] for n in fit.settings.never_moved()],
            "inverses_bounded": fit.observed.bounded,
            "smallest_singular_value": fit.observed.flattest,
        },
        "ladder": ladder_of(learned),
        "doubts": [doubt.to_json() for doubt in learned.doubts],
        "warnings": list(learned.notes),
        "seconds": learned.seconds,
        "peak_memory_mb": peak_memory_mb(),
        "version": __version__,
    }


def ladder_of(learned: LearnedSkin) -> list[dict[str, Any]]:
    """Relative training error of the poses of single joints, without any limit, by columns per joint and axis.

    It ends where a further column would only fit rounding.
    """
    alone = [basis for basis in learned.fit.bases if not basis.is_pair]
    most = max((-(-len(basis.singular) // basis.n_axes) for basis in alone), default=0)
    rungs: list[dict[str, Any]] = []
    last: list[int] = []
    for n in range(most + 1):
        counts = choose_counts(alone, replace(learned.options, per_joint=n, total=0, max_error=0.0))
        if counts == last:
            break
        last = counts
        rungs.append({"of": "eigendisplacements a joint", "value": n, "relative_error": left_by_counts(alone, counts)})
    return rungs


def _mean_and_max(counts: IntArray, learned: LearnedSkin) -> dict[str, float]:
    return {"mean": float(counts.mean()), "max": int(counts.max(initial=0)), "limit": learned.options.limit}


def _drivers(learned: LearnedSkin) -> list[dict[str, Any]]:
    fit, names = learned.fit, learned.model.track.names
    normals = {} if fit.normals is None else {b.field.joints: i for i, b in enumerate(fit.normals.bases)}
    rows = []
    for basis, count, function in zip(fit.bases, fit.counts, fit.functions, strict=True):
        field = basis.field
        rows.append(
            {
                "joints": [names[int(fit.settings.joints[n])] for n in field.joints],
                "hinges": [bool(axis.any()) for axis in field.axes],
                "settings": len(field.values),
                "support": int(basis.support.sum()),
                "longest_displacement": field.reach,
                "eigendisplacements": count,
                "singular_values": basis.singular.tolist(),
                "radius": function.radius,
                "ridge": function.ridge,
                "normals": None if field.joints not in normals else _normals_of(learned, normals[field.joints]),
            }
        )
    return rows


def _normals_of(learned: LearnedSkin, number: int) -> dict[str, Any]:
    """The normals of a driver."""
    found = learned.fit.normals
    assert found is not None
    basis, function = found.bases[number], found.functions[number]
    return {
        "support": int(basis.support.sum()),
        "eigennormals": found.counts[number],
        "singular_values": basis.singular.tolist(),
        "radius": function.radius,
        "ridge": function.ridge,
    }
