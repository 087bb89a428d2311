"""What a file means as a solid, and poses by several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError, OptionError, OsteonError
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.options import FleshOptions
from osteon.elastic.pose_workers import PoseTask, pose_many
from osteon.elastic.solid_files import load_flesh, make_body
from osteon.io import save_sequence
from osteon_bench.subjects import bar_skeleton, make_bar

Y = np.array([0, 1.0, 0])


def medit(points, tets, faces=()) -> str:
    rows = [
        f"Vertices\n{len(points)}\n" + "\n".join(f"{x:.9g} {y:.9g} {z:.9g} 0" for x, y, z in points.tolist()),
        f"Tetrahedra\n{len(tets)}\n" + "\n".join(" ".join(map(str, (*(t + 1), 0))) for t in tets),
        f"Triangles\n{len(faces)}\n" + "\n".join(" ".join(map(str, (*(t + 1), 0))) for t in faces),
    ]
    return "MeshVersionFormatted 1\nDimension 3\n" + "\n".join(rows) + "\nEnd\n"


@pytest.fixture(scope="module")
def bar_files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bar")
    points, tets, faces = make_bar((8, 4, 4))
    mirrored = tets.copy()
    mirrored[::3] = mirrored[::3, [1, 0, 2, 3]]
    (folder / "bar.mesh").write_text(medit(points, mirrored))
    (folder / "shell.mesh").write_text(medit(points, tets[:0], faces))
    used, again = np.unique(faces, return_inverse=True)
    surface = points[used].astype(np.float32)
    save_sequence(MeshSequence(surface[None], again.reshape(-1, 3), surface), folder / "bar.obj")
    return folder


def test_tetrahedra_of_the_file(bar_files):
    source = load_flesh(bar_files / "bar.mesh", FleshOptions())
    assert source.word == "tetrahedra"
    body = make_body(source, bar_skeleton(), FleshOptions(poisson=0.3, stiffness=5.0))
    _, tets, faces = make_bar((8, 4, 4))
    assert len(body.solid.tets) == len(tets)
    assert body.solid.surface.n_triangles == len(faces)
    assert body.solid.surface.n_vertices == len(np.unique(faces))  # what no triangle names is left out
    assert (body.material.young, body.material.poisson) == (5.0, 0.3)


@pytest.mark.parametrize("name", ["bar.obj", "shell.mesh", "bar.mesh"])
def test_a_lattice_around_a_surface(bar_files, name):
    options = FleshOptions(elements="lattice") if name == "bar.mesh" else FleshOptions()
    source = load_flesh(bar_files / name, options)
    assert source.word == "lattice"
    body = make_body(source, bar_skeleton(), options)
    assert len(body.solid.tets) > 300
    coarse = make_body(source, bar_skeleton(), FleshOptions(elements=options.elements, cells=14))
    assert len(coarse.solid.tets) != len(body.solid.tets)


def test_what_cannot_be_used_is_named(bar_files, tmp_path, refused):
    with refused(OptionError, "bar.obj", "holds no tetrahedra"):
        load_flesh(bar_files / "bar.obj", FleshOptions(elements="tetrahedra"))
    with refused(OptionError, "shell.mesh", "holds no tetrahedra"):
        load_flesh(bar_files / "shell.mesh", FleshOptions(elements="tetrahedra"))
    points, tets, faces = make_bar((2, 1, 1))
    (tmp_path / "open.mesh").write_text(medit(points, tets[:0], faces[1:]))
    found = load_flesh(tmp_path / "open.mesh", FleshOptions()).closed
    assert found is not None
    assert found.holes == (3,)
    (tmp_path / "nan.mesh").write_text(medit(points, tets).replace("4 -0.5 -0.5", "nan -0.5 -0.5", 1))
    with refused(GeometryError, "nan.mesh", "NaN"):
        load_flesh(tmp_path / "nan.mesh", FleshOptions())
    (tmp_path / "flat.mesh").write_text(medit(points * [1, 1, 0], tets))
    with refused(GeometryError, "flat.mesh", "has no volume"):
        load_flesh(tmp_path / "flat.mesh", FleshOptions())
    (tmp_path / "bad.mesh").write_text(medit(points, tets + 5))
    with refused(FileFormatError, "bad.mesh", "names vertices"):
        load_flesh(tmp_path / "bad.mesh", FleshOptions())
    source = load_flesh(bar_files / "bar.obj", FleshOptions())
    with refused(GeometryError, "bar.obj", "is too small", "--cells"):
        make_body(source, bar_skeleton(8), FleshOptions(cells=3))


def tasks(*degrees) -> list[PoseTask]:
    return [PoseTask(k, {1: rotation_from_axis_angle(Y, np.radians(d))}) for k, d in enumerate(degrees)]


def test_processes_change_nothing(bar_files):
    body = make_body(load_flesh(bar_files / "bar.mesh", FleshOptions()), bar_skeleton(), FleshOptions())
    alone, together = (
        {done.number: done.posed for done in pose_many(body, tasks(10, 25, -20), jobs)} for jobs in (1, 2)
    )
    assert sorted(together) == [0, 1, 2]
    for k, posed in alone.items():
        assert np.array_equal(posed.places, together[k].places)
        assert posed.equilibrium.falls == together[k].equilibrium.falls


class Refusing:
    """A body that refuses every pose."""

    def pose(self, turns, shift, *, load_steps):
        raise GeometryError("flat")


def test_errors_of_processes_are_raised_here(refused):
    with refused(GeometryError, "flat"):
        list(pose_many(Refusing(), tasks(5, 10), 2))
    assert not multiprocessing.active_children()


def test_a_process_that_ends_is_told(bar_files, refused):
    body = make_body(load_flesh(bar_files / "bar.mesh", FleshOptions()), bar_skeleton(), FleshOptions())
    found = pose_many(body, [PoseTask(0, {0: np.eye(3)}), *tasks(*range(20, 60))[1:]], 2)
    assert next(found).number < 40  # the first is the rest pose, done at once
    children = [child for child in multiprocessing.active_children() if child.is_alive()]
    assert len(children) == 2
    for child in children:
        os.kill(child.pid, signal.SIGKILL)
    with refused(OsteonError, "has ended", "--jobs 1"):
        list(found)
    assert not multiprocessing.active_children()
