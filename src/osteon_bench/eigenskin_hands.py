"""Two hands in simulated poses for `osteon bench eigenskin`: the measured one and the built-in one.

Poses are stored in the user's cache folder, and computed again only if something that they depend on has changed.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from osteon.core.kernel_cache import user_caches
from osteon.core.mesh import Mesh
from osteon.elastic.body import ElasticBody
from osteon.elastic.lattice import lattice_around
from osteon.elastic.options import SweepOptions
from osteon.elastic.sweep import plan_sweep
from osteon.io.poses.pose_set import PoseSet, load_pose_set
from osteon.pipeline.simulate import SimulationPlan, simulate_poses
from osteon.synth.hand import hand_limits, make_hand
from osteon_bench.elastic_hand import HandCase, load_hand
from osteon_bench.run import BenchRun

#: All joints of the built-in hand, and the edge of the lattice around it.
SWEEP, CUBE = SweepOptions(sweep=True, each=6, validate=10), 0.07


def measured_hand(run: BenchRun) -> PoseSet | None:
    """Eight joints of `hand.mesh`, six poses each, pairs of neighbours, ten random poses; None if it is missing."""
    case = load_hand(run)
    return None if case is None else _simulated(run, case)


def built_in_hand(run: BenchRun) -> PoseSet:
    """All joints of the built-in hand."""
    vertices, faces, skeleton = make_hand()
    body = ElasticBody.of(lattice_around(Mesh(vertices.astype(np.float32), faces, name="hand"), CUBE), skeleton)
    limits = hand_limits()
    return _simulated(run, HandCase("built-in-hand", body, limits, plan_sweep(skeleton, limits, SWEEP)))


def _simulated(run: BenchRun, case: HandCase) -> PoseSet:
    folder = pose_folder(case.name)
    run.report(f"{case.name}: {len(case.poses)} poses in {folder}")
    plan = SimulationPlan(case.poses, case.limits, suffix=".ply")
    simulate_poses(case.body, plan, folder, jobs=run.threads)
    return load_pose_set(folder)


def pose_folder(name: str) -> Path:
    """The user's cache folder, or a temporary folder if the user has no home."""
    try:
        return user_caches() / "osteon" / "poses" / name
    except (RuntimeError, KeyError):
        return Path(mkdtemp(prefix="osteon-poses-"))
