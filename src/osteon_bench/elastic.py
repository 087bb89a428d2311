"""`osteon bench elastic`: properties of simulated flesh.

Exactness on a bar (patch test, rotated scenes, CalculiX), and poses of two hands: the measured one with its tetrahedra,
and the built-in one in a lattice. Forces balance, energy decreases in every step, results do not depend on load steps,
almost no element is inverted, and a pose costs little compared with a factorisation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from osteon.core.mesh import Mesh
from osteon.core.parallel import single_threaded_blas
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal
from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.body import ElasticBody, PosedBody
from osteon.elastic.elements import Material, TetElements
from osteon.elastic.lattice import lattice_around
from osteon.elastic.newton import NewtonOptions, StiffnessSystem, factor_symmetric, find_equilibrium
from osteon.elastic.options import SweepOptions
from osteon.elastic.quadratic import quadratic_solid
from osteon.elastic.solid import solid_of_tetrahedra
from osteon.elastic.sweep import PlannedPose, plan_sweep
from osteon.synth.hand import hand_limits, make_hand
from osteon_bench.calculix import LoadedSolid, solve_with_calculix, why_no_calculix
from osteon_bench.elastic_hand import MIDDLE, HandCase, load_hand, pose_plan
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun
from osteon_bench.subjects import make_bar

TURN = rotation_from_axis_angle(np.array([1.0, -2.0, 0.5]), 1.9)
#: A bar with a large deflection: nodes per direction, length, force over Young's modulus.
CANTILEVER = ((24, 3, 3), 8.0, 0.004)
#: Bars of quadratic elements: nodes per direction, length, force over Young's modulus.
QUADRATIC = (((16, 2, 2), 16.0, 0.0004), ((16, 2, 2), 8.0, 0.004))
#: Joints of the built-in hand, and its lattice: small enough for every run.
MADE_SWEEP = SweepOptions(sweep=True, joints=("index.1", "index.2", "thumb.1", "thumb.2"), each=2, validate=2)
MADE_CUBE = 0.07


def bench_elastic(run: BenchRun) -> list[Row]:
    """All rows; the measured hand is in meshes/ beside the folder of sequences."""
    return elastic_rows(run)


def elastic_rows(run: BenchRun) -> list[Row]:
    """Rows of the bar, of the built-in hand, and of the measured one."""
    rows = [*_patch_rows(), *_cantilever_rows(run), *_quadratic_rows(run)]
    made = _made_hand()
    rows += _pose_rows(run, made, strict=tuple(made.skeleton.names))
    hand = load_hand(run)
    if hand is not None:
        others = tuple(name for name in hand.skeleton.names if name not in MIDDLE)
        rows += [*_pose_rows(run, hand, strict=others), *_time_rows(run, hand)]
    return rows


def _made_hand() -> HandCase:
    vertices, faces, skeleton = make_hand()
    body = ElasticBody.of(lattice_around(Mesh(vertices.astype(np.float32), faces, name="hand"), MADE_CUBE), skeleton)
    return HandCase("made hand", body, hand_limits(), plan_sweep(skeleton, hand_limits(), MADE_SWEEP))


def _patch_rows() -> list[Row]:
    """A solid whose surface is moved by a linear map is moved by the same map inside."""
    rng = np.random.default_rng(0)
    points, tets, faces = make_bar((6, 3, 3))
    outer = np.zeros(len(points), bool)
    outer[faces] = True
    points = points + np.where(outer[:, None], 0, 0.05 * rng.normal(size=points.shape))
    asked = points @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3))).T
    system = StiffnessSystem.of(TetElements.of(points, tets), outer)
    start = np.where(outer[:, None], asked, points)
    found = find_equilibrium(system, Material(), start, options=NewtonOptions(tolerance=1e-12))
    off = np.abs(found.places - asked).max() / bounding_diagonal(points)
    return [at_most("bar", "patch test: off the linear map, of the diagonal", off, 1e-9)]


def _cantilever_rows(run: BenchRun) -> list[Row]:
    cells, length, force = CANTILEVER
    points, tets, _ = make_bar(cells, length)
    held, end = points[:, 0] < 1e-9, points[:, 0] > length - 1e-9
    loads = np.zeros_like(points)
    loads[end, 2] = -force / end.sum()
    material = Material()
    system = StiffnessSystem.of(TetElements.of(points, tets), held)
    found = find_equilibrium(system, material, points, loads=loads)
    ours = (found.places - points)[end].mean(axis=0)
    rows = [figure("cantilever", "tip moved, of the length", float(np.linalg.norm(ours)) / length)]
    lacking = why_no_calculix()
    if lacking:
        run.report_missing(f"{lacking}; the cantilever is not compared")
        return rows
    run.report("cantilever: CalculiX")
    judged = solve_with_calculix(LoadedSolid(points, tets, held, loads, material))
    theirs = (judged - points)[end].mean(axis=0)
    apart = float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))
    return [*rows, at_most("cantilever", "tip off that of CalculiX, of its way", apart, 0.03)]


def _quadratic_rows(run: BenchRun) -> list[Row]:
    """Elements with ten nodes against CalculiX's C3D10, on a slender bar and on a stout one."""
    lacking = why_no_calculix()
    if lacking:
        run.report_missing(f"{lacking}; quadratic elements are not compared")
        return []
    rows: list[Row] = []
    for cells, length, force in QUADRATIC:
        run.report("quadratic elements: CalculiX")
        solid = quadratic_solid(solid_of_tetrahedra(*make_bar(cells, length)))
        points, tets = solid.points, solid.tets
        held, end = points[:, 0] < 1e-9, points[:, 0] > length - 1e-9
        loads = np.zeros_like(points)
        loads[end, 2] = -force / end.sum()
        system = StiffnessSystem.of(TetElements.of(points, tets), held)
        found = find_equilibrium(system, Material(), points, loads=loads).places
        judged = solve_with_calculix(LoadedSolid(points, tets, held, loads, Material()))
        way = float(np.linalg.norm((judged - points)[end].mean(axis=0)))
        apart = float(np.linalg.norm((found - judged)[end].mean(axis=0))) / way
        farthest = float(np.linalg.norm(found - judged, axis=1).max()) / way
        about = f"quadratic cantilever, length {length:g}"
        rows += [
            figure(about, "tip moved, of the length", way / length),
            at_most(about, "tip off that of CalculiX's C3D10, of its way", apart, 0.01),
            at_most(about, "any node off that of CalculiX's C3D10, of the way of the tip", farthest, 0.01),
        ]
    return rows


def _pose_rows(run: BenchRun, case: HandCase, strict: tuple[str, ...]) -> list[Row]:
    """Of all poses; single poses of the joints `strict` invert no element, others at most one."""
    posed = pose_plan(run, case)
    single = [
        body
        for pose, body in zip(case.poses, posed, strict=True)
        if pose.kind == "train" and {case.skeleton.names[j] for j in pose.joint_rotations} <= set(strict)
    ]
    falls = [fall for body in posed for fall in body.equilibrium.falls]
    steps = [body.newton_steps for body in posed]
    about = f"{case.name}, {case.body.system.n_unknowns:,} unknowns"
    return [
        figure(about, "poses", len(posed)),
        at_most(about, "forces out of balance, of the reactions", _worst(posed, _imbalance), 1e-4),
        at_most(about, "steps that do not lower the energy", sum(fall <= 0 for fall in falls), 0),
        at_most(about, "elements inside out in a single pose of index or thumb", _worst(single, _inverted), 0),
        at_most(about, "elements inside out in any pose", _worst(posed, _inverted), 1),
        figure(about, "steps to rest on average", float(np.mean(steps))),
        figure(about, "steps to rest at most", max(steps)),
        figure(about, "least volume of an element, of that at rest", min(body.least_dilation for body in posed)),
        *_load_step_rows(run, case, about, posed),
        *_turned_rows(run, case, about, posed),
    ]


def _imbalance(body: PosedBody) -> float:
    return body.equilibrium.imbalance


def _inverted(body: PosedBody) -> float:
    return body.inverted


def _worst(posed: list[PosedBody], what: Callable[[PosedBody], float]) -> float:
    return max(what(body) for body in posed)


def _load_step_rows(run: BenchRun, case: HandCase, about: str, posed: list[PosedBody]) -> list[Row]:
    """The farthest single pose and a random one, in two and in six load steps."""
    size, worst = bounding_diagonal(case.body.solid.points), 0.0
    for p in _samples(case.poses):
        for load_steps in (2, 6):
            run.report(f"{case.name}: {case.poses[p].name} in {load_steps} load steps")
            several = case.body.pose(case.poses[p].joint_rotations, load_steps=load_steps)
            worst = max(worst, float(np.abs(several.places - posed[p].places).max()) / size)
    return [at_most(about, "1, 2 and 6 load steps apart, of the diagonal", worst, 1e-4)]


def _samples(poses: list[PlannedPose]) -> list[int]:
    """The last single pose of the first joint, and the first random one."""
    kinds = [pose.kind for pose in poses]
    joint = next(iter(poses[0].joint_rotations))
    return [max(p for p, pose in enumerate(poses) if list(pose.joint_rotations) == [joint]), kinds.index("validate")]


def _turned_rows(run: BenchRun, case: HandCase, about: str, posed: list[PosedBody]) -> list[Row]:
    """Solid, skeleton and axes, all rotated first."""
    p = _samples(case.poses)[0]
    run.report(f"{case.name}: turned")
    body, skeleton = case.body, case.skeleton
    solid = solid_of_tetrahedra(body.solid.points @ TURN.T, body.solid.tets, body.solid.tets[:, :3])
    sticks = StickSkeleton(skeleton.joints @ TURN.T, skeleton.bones, skeleton.names, skeleton.root)
    system = StiffnessSystem.of(TetElements.of(solid.points, body.solid.tets, body.solid.fill), body.held >= 0)
    there = ElasticBody(solid, sticks, body.material, body.held, body.weights, system)
    turned = there.pose({j: TURN @ turn @ TURN.T for j, turn in case.poses[p].joint_rotations.items()})
    off = np.abs(turned.places - posed[p].places @ TURN.T).max() / bounding_diagonal(body.solid.points)
    return [at_most(about, "a turned scene off the turned shape, of the diagonal", off, 1e-9)]


def _time_rows(run: BenchRun, case: HandCase) -> list[Row]:
    """Farthest single poses of some joints, over one factorisation by SuperLU of the matrix in the file's order."""
    body, about = case.body, f"{case.name}, {case.body.system.n_unknowns:,} unknowns"
    matrix = _in_file_order(body)
    farthest = {pose.name: pose for pose in case.poses if pose.kind == "train"}
    chosen = {next(iter(pose.joint_rotations)): pose for pose in farthest.values()}  # the last of each joint
    ratios, seconds = [], []
    for pose in chosen.values():
        run.report(f"{case.name}: time of {pose.name}")
        factor = min(_seconds(lambda: factor_symmetric(matrix)) for _ in range(3))
        taken = min(_seconds(partial(body.pose, pose.joint_rotations)) for _ in range(2))
        ratios.append(taken / factor)
        seconds.append(taken)
    return [
        at_most(about, "time of a single-joint pose over one factorisation by SuperLU, at most", max(ratios), 20),
        figure(about, "the same on average", float(np.mean(ratios))),
        figure(about, "a single-joint pose (s)", float(np.mean(seconds))),
    ]


def _in_file_order(body: ElasticBody) -> csc_array:
    """The stiffness at rest, with the unknowns in the order of the nodes in the file."""
    order = np.argsort(body.system.free)
    entries = (3 * order[:, None] + np.arange(3)).ravel()
    matrix = body.system.stiffness(body.solid.points, body.material)
    return csc_array(matrix[entries][:, entries])


def _seconds(work: Callable[[], Any]) -> float:
    """Processor time with one thread, independent of other load."""
    with single_threaded_blas():
        begin = time.process_time()
        work()
        return time.process_time() - begin
