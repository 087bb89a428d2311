"""`osteon simulate`: simulate flesh on a skeleton, and write its surface in many poses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from osteon.cli.common import console, json_option, print_json, progress_bar, write_json
from osteon.cli.info import print_facts
from osteon.cli.option_flags import options_of, refuse_unused
from osteon.cli.outputs import WRITTEN, file_output, folder_output, plan_outputs
from osteon.core.errors import BoundNotReached, OptionError
from osteon.core.options import check_options, option
from osteon.core.progress import duration_text
from osteon.elastic.options import FleshOptions, SweepOptions
from osteon.io.load.source import numbered

if TYPE_CHECKING:
    from osteon.core.kinematics import JointLimit
    from osteon.core.sticks import StickSkeleton
    from osteon.elastic.body import ElasticBody, PosedBody
    from osteon.elastic.solid_files import FleshSource
    from osteon.elastic.sweep import PlannedPose
    from osteon.pipeline.simulate import Simulation, SimulationCost


#: Poses that a note names at most.
SHOWN = 3


@dataclass(frozen=True, slots=True)
class SimulateFiles:
    """Where the poses are written, and the number of processes."""

    output: Path = option(
        Path(),
        help="Folder for the rest pose, one mesh per pose, and poses.json. Poses that it holds are not computed again.",
        flags=("-o", "--output"),
        metavar="FOLDER",
        required=True,
    )
    meshes: Literal["obj", "ply"] = option("obj", help="Format of the meshes.", flags=("--meshes",))
    jobs: int = option(
        0,
        help="Number of processes; each computes one pose at a time. 0: one per core.",
        flags=("--jobs", "-j"),
        minimum=0,
    )

    def __post_init__(self) -> None:
        check_options(self)


@click.command()
@click.argument("solid", type=click.Path(path_type=Path))
@click.argument("skeleton", type=click.Path(path_type=Path))
@click.argument("poses", nargs=-1, metavar="[POSE]...")
@options_of(files=SimulateFiles, sweep=SweepOptions, flesh=FleshOptions)
@json_option
def simulate(
    solid: Path,
    skeleton: Path,
    poses: tuple[str, ...],
    files: SimulateFiles,
    sweep: SweepOptions,
    flesh: FleshOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Simulate flesh on a skeleton: how its surface bulges and creases in many poses.

    SOLID is a MEDIT .mesh of tetrahedra, or any surface, which is filled with a lattice; holes are closed. SKELETON
    is .tgf, .skel, .json or a glTF with a skin. Each POSE is a file as `osteon pose` takes it; --sweep makes poses of
    every joint. The folder is what EigenSkin learns from (docs/simulate.md). Stopped, the same command continues.

    \b
    osteon simulate hand.mesh hand.tgf fist.json -o fist/
    osteon simulate hand.obj hand.json --sweep --limits hand-limits.json -o poses/
    osteon simulate arm.obj arm.tgf --sweep --joints elbow,wrist --validate 10 -o poses/
    """
    started = time.perf_counter()
    refuse_unused(given=bool(poses))
    if not poses and not sweep.sweep:
        raise OptionError("no pose is named; name pose files after the skeleton, or add --sweep")
    from osteon.pipeline.simulate import is_simulation

    folder = folder_output("-o", files.output, resumes=is_simulation(files.output))
    outputs = plan_outputs([solid, skeleton, *poses, sweep.limits], folder, file_output("--json", json_file))
    with progress_bar(quiet) as progress:
        from osteon.core.compile_kernels import start_compiling
        from osteon.fit.kernel_modules import ELASTIC_KERNELS
        from osteon.io.skeletons import load_skeleton

        start_compiling(ELASTIC_KERNELS)
        sticks = load_skeleton(skeleton)
        limits, guessed = _limits(sticks, sweep)
        planned = _plan(sticks, poses, sweep, limits)
        body, word, holes = _body(solid, sticks, flesh)
        from osteon.pipeline.simulate import SimulationPlan, simulate_poses

        facts = {"solid": solid.name, "skeleton": skeleton.name, **_about(body, word)}
        plan = SimulationPlan(planned, limits, flesh.load_steps, f".{files.meshes}", facts)
        with _reporting_interruption(files.output, len(planned)):
            done = simulate_poses(
                body,
                plan,
                files.output,
                jobs=files.jobs,
                check_changed=outputs.guard.check_changed,
                progress=progress,
                watch=None if quiet else PoseLines(len(planned)),
            )
    report = facts | _report(done, time.perf_counter() - started)
    report["notes"] = [*holes, *_notes(done, guessed, files.output)]
    with outputs.writing():
        write_json(report, json_file)
    print_json(report, json_file)
    if not quiet and json_file != "-":
        _print_report(report)
    if done.restless:
        raise BoundNotReached(f"{files.output}: forces of {_listed(done.restless)} are not in balance; bend less there")


def _limits(skeleton: StickSkeleton, sweep: SweepOptions) -> tuple[tuple[JointLimit, ...], bool]:
    """The limits of the joints, and whether they are a guess."""
    from osteon.elastic.joint_limits import guess_limits
    from osteon.io.poses.pose_list import load_limits

    if not sweep.sweep:
        return (), False
    if sweep.limits is not None:
        return load_limits(sweep.limits, skeleton), False
    found = guess_limits(skeleton)
    if not found:
        raise OptionError(
            f"--sweep: no joint of {skeleton.name} has a bone on both sides; define the limits with --limits"
        )
    return found, True


def _plan(
    skeleton: StickSkeleton, poses: tuple[str, ...], sweep: SweepOptions, limits: tuple[JointLimit, ...]
) -> list[PlannedPose]:
    from osteon.elastic.sweep import join_plans, plan_given, plan_sweep
    from osteon.io.poses import load_poses

    given = plan_given(skeleton, load_poses(poses, skeleton), sweep) if poses else []
    return join_plans(given, plan_sweep(skeleton, limits, sweep) if sweep.sweep else [])


def _body(path: Path, skeleton: StickSkeleton, flesh: FleshOptions) -> tuple[ElasticBody, str, list[str]]:
    """The flesh, the word for its elements, and notes about its surface."""
    from osteon.elastic.solid_files import load_flesh, make_body

    source = load_flesh(path, flesh)
    refuse_unused(solid=source.word)
    word = f"quadratic {source.word}" if flesh.elements == "quadratic" else source.word
    return make_body(source, skeleton, flesh), word, _hole_notes(source)


def _hole_notes(source: FleshSource) -> list[str]:
    closed = source.closed
    if closed is None or not closed.holes:
        return []
    size = 100 * closed.span / source.surface.diagonal
    return [
        f"the surface is open along {closed.open_edges:,} edges; {len(closed.holes)} "
        f"{'holes were' if len(closed.holes) > 1 else 'hole was'} closed to find its inside, "
        f"the widest {size:.1f} % of the diagonal"
    ]


@dataclass(frozen=True, slots=True)
class PoseLines:
    """The expected time before the first pose, then one line per pose, on standard error."""

    n_poses: int  # of the plan

    def expect(self, cost: SimulationCost) -> None:
        there = self.n_poses - cost.poses
        click.echo(
            f"about {_duration(cost.seconds_per_pose)} per pose, {numbered(cost.poses, 'pose')}"
            + (f" ({there} more are there)" if there else "")
            + f", {cost.processes} at a time: about {_duration(cost.seconds)}",
            err=True,
        )

    def finish(self, name: str, posed: PosedBody, count: int) -> None:
        wrong = f", {posed.inverted} elements inverted" if posed.inverted else ""
        still = "" if posed.in_balance else ", not in balance"
        click.echo(f"  {name}: {_duration(posed.seconds)}, {posed.newton_steps} steps{wrong}{still}", err=True)


def _about(body: ElasticBody, word: str) -> dict[str, Any]:
    """Facts about the elements and the material."""
    return {
        "elements": word,
        "nodes": len(body.solid.points),
        "tetrahedra": len(body.solid.tets),
        "held_nodes": int((body.held >= 0).sum()),
        "unknowns": body.system.n_unknowns,
        "vertices": body.solid.surface.n_vertices,
        "bones": body.skeleton.n_bones,
        "poisson": body.material.poisson,
        "stiffness": body.material.young,
    }


@contextmanager
def _reporting_interruption(folder: Path, n_poses: int) -> Iterator[None]:
    """After Ctrl-C or SIGTERM, print how many poses are done."""
    from osteon.io.poses.pose_list import LIST_NAME, read_pose_list

    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        path = folder / LIST_NAME
        done = len(read_pose_list(path).poses) if path.is_file() else 0
        if done:
            WRITTEN.paths.append(folder)
        click.echo(f"{done} of {n_poses} poses are done; the same command continues from there", err=True)
        raise


def _duration(seconds: float) -> str:
    """With a tenth where it is short."""
    return f"{seconds:.1f} s" if seconds < 9.5 else duration_text(seconds)


def _report(done: Simulation, seconds: float) -> dict[str, Any]:
    kinds = [pose.kind for pose in done.poses]
    return {
        "output": str(done.folder),
        "poses": len(kinds),
        "kinds": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "computed": done.computed,
        "steps": sum(int(pose.facts["steps"]) for pose in done.poses),
        "worst_imbalance": done.worst_imbalance,
        "inverted": done.inverted,
        "seconds": round(seconds, 2),
    }


def _notes(done: Simulation, guessed: bool, folder: Path) -> list[str]:
    notes = []
    if guessed:
        notes.append(
            f"the joint limits are a guess; edit 'limits' of {folder / 'poses.json'}, and name it with --limits"
        )
    if done.inverted:
        worst = max(done.inverted, key=done.inverted.__getitem__)
        notes.append(
            f"elements are inverted in {_listed(list(done.inverted))}, at most {done.inverted[worst]}; "
            "bend less there, or use smaller elements"
        )
    return notes


def _listed(names: list[str]) -> str:
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + rest


def _print_report(report: dict[str, Any]) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in report["kinds"].items())
    there = report["poses"] - report["computed"]
    shown = {
        "flesh": f"{report['tetrahedra']:,} tetrahedra ({report['elements']}), {report['unknowns']:,} unknowns",
        "surface": f"{report['vertices']:,} vertices on {report['bones']} bones",
        "poses": f"{report['poses']} ({kinds})" + (f", {there} were there" if there else ""),
        "balance": f"forces are off by at most {report['worst_imbalance']:.1e} of the reactions",
        "seconds": report["seconds"],
        "written": report["output"],
    }
    print_facts(shown, console())
    for note in report["notes"]:
        click.echo(f"note: {note}")
