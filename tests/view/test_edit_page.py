"""The Edit panel used as a person would: brushes in any frame, undo, before and after, mirror, files, saved models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.apply.edit.edit_rest import edit_rest
from osteon.apply.edit.options import EditOptions
from osteon.apply.edit.strokes import Strokes, strokes_from_json
from osteon.core.model import SkinnedModel
from osteon.deform.edits import edits_of
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence, save_model
from tests.tolerance import assert_near, assert_same_points

from .page_person import Person, fox
from .serving import served
from .test_page_panels import drawn

#: The page shows edits by the blends of the skin; the columns that turn an edit are made when it is saved.
BLENDS = EditOptions(blends_only=True)
FRAME = 5
CLOSE = 1e-5
EDIT = "window.osteon.page.editing.edit"
STROKES = f"() => {EDIT}.toJson('edit')"
SHADER = "async (frame) => [...(await window.osteon.engine.readPositions(frame))]"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("edit") / "fox.glb"
    save_model(fox()[1].model, path)
    return path


@pytest.fixture(scope="module")
def model(file: Path) -> SkinnedModel:
    return load_model(file)


@pytest.fixture(scope="module")
def visitor(chromium: Any, tmp_path_factory: pytest.TempPathFactory, file: Path) -> Iterator[Person]:
    with served(tmp_path_factory.mktemp("served") / "view", str(file)) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.sees_model()
        yield someone
        someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Iterator[Person]:
    """The panel is open, the mesh of a frame can be edited, and nothing is edited yet."""
    visitor.page.evaluate(
        """(frame) => {
          const { store, page } = window.osteon;
          const kept = { editBrush: "grab", editSize: 0.08, editStrength: 1, editMirror: false, editShown: "after" };
          store.set({ panel: "edit", mode: "result", ...kept });
          page.timeline.goTo(frame);
        }""",
        FRAME,
    )
    main_toggle(visitor).check()
    drawn(visitor)
    yield visitor
    if visitor.page.evaluate(f"() => !{EDIT}.isEmpty"):
        visitor.page.evaluate("() => window.osteon.page.editing.reset()")


def main_toggle(person: Person) -> Any:
    return person.page.get_by_role("switch", name="Edit the rest pose")


def spot(person: Person, side: int = 0) -> tuple[float, float]:
    """A point of the window on the trunk of the posed mesh, perhaps on one side of the mirror plane at rest."""
    found = person.page.evaluate(
        """(side) => {
          const { engine, page } = window.osteon, box = engine.canvas.getBoundingClientRect();
          const { points } = page.editing.edit;
          let best = null;
          for (let x = 10; x < engine.width; x += 12) for (let y = 10; y < engine.height; y += 12) {
            const seen = engine.pick(x, y);
            if (!seen) continue;
            const [u, v, w] = points.rest.subarray(3 * points.ofVertex[seen.vertex]);
            const far = Math.abs(w) + Math.abs(v - 0.75) + (side ? Math.abs(u - 0.13 * side) : 0);
            if (!best || far < best[0]) best = [far, box.left + x, box.top + y];
          }
          return best;
        }""",
        side,
    )
    return found[1], found[2]


def stroke(person: Person, brush: str, by: tuple[int, int] = (30, 0), side: int = 0, key: str = "") -> Strokes:
    """Paint with a brush; returns what is stored in the rest pose."""
    person.page.locator("#panel-edit").get_by_text(brush, exact=True).click()
    mouse, (x, y) = person.page.mouse, spot(person, side)
    if key:
        person.page.keyboard.down(key)
    mouse.move(x, y)
    mouse.down()
    for part in (0.25, 0.5, 0.75, 1.0):
        mouse.move(x + part * by[0], y + part * by[1])
    mouse.up()
    if key:
        person.page.keyboard.up(key)
    person.page.wait_for_function(f"() => !{EDIT}.isEmpty")
    return strokes_of(person)


def strokes_of(person: Person) -> Strokes:
    return strokes_from_json(person.page.evaluate(STROKES))


def shown(person: Person, frame: int) -> np.ndarray:
    return np.array(person.page.evaluate(SHADER, frame), np.float64).reshape(-1, 3)


@pytest.mark.parametrize("brush", ["Grab", "Smooth", "Inflate", "Flatten"])
def test_a_stroke_is_stored_in_the_rest_pose_and_seen_in_all_frames(
    person: Person, model: SkinnedModel, brush: str
) -> None:
    if brush == "Smooth":  # something to smooth
        stroke(person, "Inflate", (4, 0))
    found = stroke(person, brush, (30, -30) if brush == "Grab" else (20, 0))
    assert found.n_vertices == model.n_vertices
    edited = edit_rest(model, found, options=BLENDS).model
    expected = pose_frames(edited)
    for frame in (0, FRAME, model.n_frames - 1):
        assert_same_points(shown(person, frame)[: model.n_vertices], expected[frame], CLOSE)


def test_a_grabbed_point_follows_the_pointer(person: Person, model: SkinnedModel) -> None:
    """In the frame that is seen the mesh moves as far as the pointer, although the rest pose is what is edited."""
    before = shown(person, FRAME)
    found = stroke(person, "Grab", (0, -40))
    apart = np.linalg.norm(shown(person, FRAME) - before, axis=1)
    pixels = person.page.evaluate(
        """() => {
          const { engine } = window.osteon, { camera, controls } = engine.orbitCamera;
          return engine.height / 2 / Math.tan(camera.fov * Math.PI / 360) / camera.position.distanceTo(controls.target);
        }"""
    )
    assert apart.max() == pytest.approx(40 / pixels, rel=0.25)
    assert 3 < len(found.moved) < model.n_vertices / 2


def test_ctrl_presses_in(person: Person) -> None:
    raised = stroke(person, "Inflate", (2, 0))
    person.page.evaluate("() => window.osteon.page.editing.reset()")
    pressed = stroke(person, "Inflate", (2, 0), key="Control")
    common = np.intersect1d(raised.moved, pressed.moved)
    assert len(common) > 3
    up, down = (s.displacements[np.isin(s.moved, common)] for s in (raised, pressed))
    assert (np.einsum("vi,vi->v", up, down) < 0).mean() > 0.9


def test_a_mirrored_stroke_is_symmetric(person: Person, model: SkinnedModel) -> None:
    person.page.get_by_role("switch", name="Mirror left and right").check()
    found = stroke(person, "Inflate", (4, 0), side=1)
    d = found.on(model).astype(np.float64)
    mirrored = np.abs(model.rest[:, None] * [-1, 1, 1] - model.rest[None]).max(axis=2)
    twin = mirrored.argmin(axis=1)
    paired = mirrored[np.arange(len(twin)), twin] < 1e-4
    moved = paired & (np.linalg.norm(d, axis=1) > 0.2 * np.linalg.norm(d, axis=1).max())
    assert (model.rest[moved, 0] > 0.03).any()
    assert (model.rest[moved, 0] < -0.03).any()
    assert_near(d[twin[moved]] * [-1, 1, 1], d[moved], 1e-5)


def test_undo_redo_and_reset(person: Person) -> None:
    first = stroke(person, "Inflate", (2, 0))
    second = stroke(person, "Grab", (0, -20))
    assert len(second.moved) >= len(first.moved)
    person.page.keyboard.press("Control+z")
    assert np.array_equal(strokes_of(person).displacements, first.displacements)
    person.page.keyboard.press("Control+Shift+z")
    assert np.array_equal(strokes_of(person).displacements, second.displacements)
    panel = person.page.locator("#panel-edit")
    panel.get_by_role("button", name="Reset").click()
    assert not len(strokes_of(person).moved)
    panel.get_by_role("button", name="Undo").click()
    assert np.array_equal(strokes_of(person).displacements, second.displacements)


def test_before_and_after(person: Person, model: SkinnedModel) -> None:
    found = stroke(person, "Grab", (0, -30))
    panel = person.page.locator("#panel-edit")
    panel.get_by_text("Before", exact=True).click()
    assert_same_points(shown(person, FRAME)[: model.n_vertices], pose_frames(model)[FRAME], CLOSE)
    panel.get_by_text("After", exact=True).click()
    expected = pose_frames(edit_rest(model, found, options=BLENDS).model)[FRAME]
    assert_same_points(shown(person, FRAME)[: model.n_vertices], expected, CLOSE)


def test_keys(person: Person) -> None:
    """Enter brushes in the middle of the view, Esc takes a stroke back, then ends editing, then closes the panel."""
    person.page.evaluate(
        """() => {
          const { engine, store } = window.osteon;
          store.set({ editBrush: "inflate" });
          engine.lookAtVertex(200);
          engine.draw();
          engine.canvas.focus();
        }"""
    )
    person.page.keyboard.press("Enter")
    person.page.wait_for_function(f"() => !{EDIT}.isEmpty")
    kept = strokes_of(person)
    x, y = spot(person)
    person.page.mouse.move(x, y)
    person.page.mouse.down()
    person.page.mouse.move(x + 5, y)
    person.page.keyboard.press("Escape")
    person.page.mouse.up()
    assert np.array_equal(strokes_of(person).displacements, kept.displacements)
    assert person.page.evaluate("() => window.osteon.store.state.editing")
    person.page.keyboard.press("Escape")
    person.waits_for("!s.editing && s.panel === 'edit'")
    person.page.keyboard.press("Escape")
    person.waits_for("s.panel === ''")
    person.page.evaluate("() => window.osteon.store.set({ panel: 'edit' })")
    person.page.evaluate("() => window.osteon.page.seeAll()")


def test_beside_the_mesh_the_view_turns(person: Person) -> None:
    place = "() => window.osteon.engine.orbitCamera.place"
    before = person.page.evaluate(place)
    box = person.page.locator("#canvas").bounding_box()
    person.page.mouse.move(box["x"] + 6, box["y"] + 6)
    person.page.mouse.down()
    person.page.mouse.move(box["x"] + 60, box["y"] + 20, steps=3)
    person.page.mouse.up()
    drawn(person)
    assert person.page.evaluate(place) != before
    assert person.page.evaluate(f"() => {EDIT}.isEmpty")
    stroke(person, "Inflate", (10, 0))
    person.page.evaluate("() => window.osteon.page.seeAll()")


def test_files(person: Person, model: SkinnedModel, tmp_path: Path) -> None:
    """The OBJ and the strokes both make the same model again."""
    found = stroke(person, "Grab", (0, -30))
    panel = person.page.locator("#panel-edit")
    saved = {}
    for name, suffix in (("Mesh .obj", ".obj"), ("Strokes .json", ".json")):
        with person.page.expect_download() as download:
            panel.get_by_role("button", name=name).click()
        saved[suffix] = tmp_path / f"edited{suffix}"
        download.value.save_as(saved[suffix])
    strokes = strokes_from_json(json.loads(saved[".json"].read_text()))
    assert np.array_equal(strokes.displacements, found.displacements)
    by_mesh = edit_rest(model, load_sequence([str(saved[".obj"])]).mesh).model
    by_strokes = edit_rest(model, strokes, options=EditOptions()).model
    assert_same_points(pose_frames(by_mesh), pose_frames(by_strokes), 1e-5)
    assert "osteon edit" in panel.locator(".command").inner_text()


def test_the_edited_model_is_saved(person: Person, model: SkinnedModel, tmp_path: Path) -> None:
    found = stroke(person, "Inflate", (20, 0))
    first = person.page.evaluate("() => window.osteon.store.state.model")
    panel = person.page.locator("#panel-edit")
    panel.get_by_role("button", name="Save model").click()
    person.waits_for(f"s.model !== '{first}' && s.panel === 'edit'")
    with person.page.expect_download() as download:
        panel.get_by_role("button", name="Save as .npz").click()
    download.value.save_as(tmp_path / "edited.npz")
    again = load_model(tmp_path / "edited.npz")
    assert edits_of(again.character).names == ("edit",)
    assert_near(edits_of(again.character).basis[0], found.on(model), 1e-6)
    assert_same_points(shown(person, FRAME)[: model.n_vertices], pose_frames(again)[FRAME], CLOSE)
    person.page.evaluate("(id) => window.osteon.page.opener.show(id, { panel: 'edit' })", first)
    person.waits_for(f"s.model === '{first}'")


def test_a_sequence_has_no_rest_pose_to_edit(chromium: Any, tmp_path: Path) -> None:
    from osteon.io import save_sequence

    save_sequence(fox()[0], tmp_path / "fox.npz")
    with served(tmp_path / "view", str(tmp_path / "fox.npz")) as running:
        someone = Person(chromium, running.server.address, "small", reduced_motion="reduce")
        someone.sees_model()
        panel = someone.opens("Edit")
        assert "Only a skinned model" in panel.inner_text()
        assert main_toggle(someone).is_hidden()
        someone.leaves()
