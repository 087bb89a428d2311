"""What lies over the picture says what the picture shows: one legend, tips that stay true, bones with their figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import pose_frames
from osteon.io import save_model

from .page_person import Person, fox
from .serving import served, wait_until
from .test_page_panels import CUT, drawn, point_on_mesh

#: Where the tip is, and the place on the canvas of the vertex that it names.
TIP = """() => {
  const { engine } = window.osteon, tip = document.querySelector(".tip");
  const vertex = Number(/vertex (\\d+)/.exec(tip.textContent)?.[1]);
  const { camera } = engine.orbitCamera;
  const p = camera.position.clone().fromArray(engine.posedVertex(vertex)).project(camera);
  const { offsetLeft: x, offsetTop: y, textContent: text } = tip;
  return { shown: tip.checkVisibility(), vertex, text, x, y,
           at: [(0.5 + 0.5 * p.x) * engine.width, (0.5 - 0.5 * p.y) * engine.height] };
}"""

#: From now on it is noted when the tip goes away, however soon it is there again.
WATCH_TIP = """() => {
  const tip = document.querySelector(".tip");
  window.tipWentAway = false;
  new MutationObserver(() => (window.tipWentAway ||= tip.hidden)).observe(tip, { attributes: true });
}"""


@pytest.fixture(scope="module")
def visitor(chromium: Any, address: str) -> Iterator[Person]:
    someone = Person(chromium, address, "small", reduced_motion="reduce")
    someone.sees_model()
    someone.measures_all()
    yield someone
    someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Person:
    visitor.begins_anew()
    visitor.page.mouse.move(5, 5)
    visitor.page.evaluate("() => window.osteon.page.seeAll()")
    drawn(visitor)
    return visitor


def legend(person: Person) -> str:
    """What the colours are said to mean, over the picture."""
    shown = person.page.locator("#stage .legend")
    return shown.inner_text() if shown.is_visible() else ""


# ---- one meaning at a time ------------------------------------------------------------------------------------------


def test_the_heat_map_and_the_bone_colours_release_each_other(person: Person) -> None:
    assert legend(person) == ""
    bones = person.opens("Bones")
    bones.get_by_text("By bone", exact=True).click()
    assert "each bone in its colour" in legend(person)
    assert bones.locator(".swatch").first.is_visible()
    compare = person.opens("Compare")
    heat = compare.get_by_role("switch", name="Error heat map")
    assert not heat.is_checked()
    assert "coloured by bone" in compare.inner_text()
    heat.click()
    assert "coloured by bone" not in compare.inner_text()
    bones = person.opens("Bones")
    assert bones.get_by_role("radio", name="Error heat map").is_checked()
    assert not bones.get_by_role("radio", name="By bone").is_checked()
    assert bones.locator(".swatch").first.is_hidden()  # no colour of a bone is on the mesh
    assert "error" in legend(person)
    assert "bone" not in legend(person)
    bones.get_by_role("option").nth(3).click()
    assert re.search(r"weights of bone_3\s+0\s+0\.5\s+1", legend(person))
    assert not person.opens("Compare").get_by_role("switch", name="Error heat map").is_checked()
    person.page.keyboard.press("e")
    assert heat.is_checked()
    person.page.keyboard.press("b")
    assert not heat.is_checked()
    person.page.keyboard.press("b")
    assert legend(person) == ""


def test_the_legend_is_of_what_is_drawn(person: Person) -> None:
    person.page.evaluate("() => window.osteon.store.set({ paint: 'error' })")
    assert "error" in legend(person)
    person.page.evaluate("() => window.osteon.store.set({ mode: 'source' })")
    assert legend(person) == ""  # the source has no error
    person.page.keyboard.press("b")
    assert person.state("mode") == "result"  # who asks for bones sees them
    assert "bone" in legend(person)
    person.page.evaluate("() => window.osteon.store.set({ crowd: true })")
    assert legend(person) == ""  # a crowd wears its material
    person.page.evaluate("() => window.osteon.store.set({ crowd: false })")


# ---- tips -----------------------------------------------------------------------------------------------------------


def rests(person: Person) -> tuple[float, float]:
    """The pointer on the mesh, until the tip is there."""
    drawn(person)  # a panel that just opened has left the mesh less room
    x, y = point_on_mesh(person)
    person.page.mouse.move(x, y)
    person.page.locator(".tip").wait_for()
    return x, y


def assert_tip_is_true(person: Person) -> None:
    """It says what is under it: the vertex it names is seen where it stands."""
    tip = person.page.evaluate(TIP)
    assert tip["shown"]
    assert np.hypot(tip["x"] - 14 - tip["at"][0], tip["y"] - 18 - tip["at"][1]) < 30, tip


@pytest.mark.parametrize("how", ["keys", "wheel", "whole mesh"])
def test_a_tip_vanishes_when_the_view_moves_and_comes_back_for_what_is_there(person: Person, how: str) -> None:
    rests(person)
    assert_tip_is_true(person)
    before = person.page.locator(".tip").inner_text()
    person.page.evaluate(WATCH_TIP)
    if how == "keys":
        person.page.locator("#canvas").focus()
        for _ in range(4):
            person.page.keyboard.press("Shift+ArrowRight")
    elif how == "wheel":
        person.page.mouse.wheel(0, -400)
    else:
        person.page.evaluate("() => window.osteon.engine.lookAtVertex(40)")
    person.page.wait_for_function("() => window.tipWentAway")
    person.page.wait_for_timeout(600)  # the view stands still again
    if person.page.locator(".tip").is_visible():
        assert_tip_is_true(person)
        assert person.page.locator(".tip").inner_text() != before


def test_a_tip_stays_with_its_vertex_while_the_mesh_plays(person: Person) -> None:
    rests(person)
    before = person.page.evaluate(TIP)
    person.page.evaluate("() => window.osteon.page.timeline.toggle()")
    person.page.wait_for_timeout(300)
    person.page.evaluate("() => window.osteon.page.timeline.toggle()")
    person.page.evaluate("() => { window.osteon.engine.setFrame(6); window.osteon.engine.draw(); }")
    after = person.page.evaluate(TIP)
    assert after["vertex"] == before["vertex"]
    moved = np.subtract(after["at"], before["at"])
    assert np.hypot(*moved) > 3  # the vertex went somewhere else
    np.testing.assert_allclose([after["x"] - before["x"], after["y"] - before["y"]], moved, atol=3)
    told = float(re.search(r"error ([\d.e-]+)\s%", after["text"]).group(1))
    known = person.page.evaluate("(v) => window.osteon.engine.errorNow(v)", after["vertex"])
    assert told == pytest.approx(100 * known, rel=0.01)  # of this frame
    person.page.evaluate("() => window.osteon.store.set({ mode: 'side' })")
    assert person.page.locator(".tip").is_hidden()


def test_words_in_a_panel_are_of_the_frame_that_is_shown(person: Person) -> None:
    panel = person.opens("Compare")
    rests(person)
    assert "vertex" in panel.locator(".readout").inner_text()
    person.page.mouse.move(5, 5)
    assert "vertex" in panel.locator(".readout").inner_text()  # to be read at leisure
    person.page.keyboard.press("ArrowRight")
    drawn(person)
    assert panel.locator(".readout").inner_text() == ""


# ---- the list of bones ----------------------------------------------------------------------------------------------


def figures() -> tuple[np.ndarray, np.ndarray]:
    """Vertices, and percent of the squared error, of every bone of the fox: by NumPy."""
    sequence, fit = fox()
    owners = fit.model.skin.bones[np.arange(fit.model.n_vertices), fit.model.skin.weights.argmax(axis=1)]
    apart = ((pose_frames(fit.model) - sequence.frames) ** 2).sum(axis=(0, 2))
    share = np.bincount(owners, apart, minlength=fit.model.n_bones) / apart.sum()
    return np.bincount(owners, minlength=fit.model.n_bones), 100 * share


def rows(panel: Any) -> list[tuple[str, int, float]]:
    """Name, vertices and share of the error in every row, read when all have all three: figures come a little later."""
    texts: list[list[str]] = []

    def whole() -> bool:
        texts[:] = [row.split("\n") for row in panel.get_by_role("option").all_inner_texts()]
        return all(len(row) == 3 and "…" not in row[2] for row in texts)

    assert wait_until(whole), texts
    return [(row[0], int(row[1].replace(",", "")), float(re.sub(r"[<\s%]", "", row[2]))) for row in texts]


def test_bones_have_their_vertices_and_their_share_of_the_error(person: Person) -> None:
    panel = person.opens("Bones")
    person.page.wait_for_function("() => !document.querySelector('.share').textContent.includes('…')")
    owned, share = figures()
    shown = rows(panel)
    assert [name for name, *_ in shown] == [f"bone_{b}" for b in range(len(owned))]
    assert [count for _, count, _ in shown] == owned.tolist()
    np.testing.assert_allclose([error for *_, error in shown], share, atol=0.15)
    head = panel.get_by_role("group", name="Sort the bones")
    head.get_by_role("button", name="Error").click()
    assert [error for *_, error in rows(panel)] == sorted((error for *_, error in shown), reverse=True)
    head.get_by_role("button", name="Vertices").click()
    assert [count for _, count, _ in rows(panel)] == sorted(owned.tolist(), reverse=True)
    head.get_by_role("button", name="Vertices").click()
    assert [count for _, count, _ in rows(panel)] == sorted(owned.tolist())
    head.get_by_role("button", name="Bone").click()
    assert rows(panel) == shown
    # At another rank the error is another one.
    person.page.evaluate("() => window.osteon.store.set({ rank: 0 })")
    person.page.wait_for_function("() => !document.querySelector('.share').textContent.includes('…')")
    person.measures_all()
    assert wait_until(lambda: rows(panel) != shown)
    person.page.evaluate("() => window.osteon.store.set({ rank: window.osteon.store.state.pack.rank })")
    person.measures_all()


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fox with 200 bones of long names; each vertex sits on one of them."""
    model = fox()[1].model.with_corrections(None)
    names = tuple(f"Character1_Ctrl_Reference:mixamorig:LeftHandIndex{b:03d}_end_joint" for b in range(200))
    transforms = np.repeat(model.track.transforms, 13, axis=1)[:, :200]
    bones = (np.arange(model.n_vertices) % 200).astype(np.int32)[:, None]
    skin = Skin(bones, np.ones(bones.shape, np.float32))
    file = tmp_path_factory.mktemp("crowded") / "crowded.npz"
    save_model(
        SkinnedModel(
            replace(model.character, deformer=LinearBlend(skin)),
            replace(model.animation, track=BoneTrack(transforms, model.track.bone_type, names)),
        ),
        file,
    )
    return file


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_two_hundred_bones_of_long_names_can_be_read(chromium: Any, crowded: Path, tmp_path: Path, size: str) -> None:
    with served(tmp_path / "view", str(crowded)) as running:
        person = Person(chromium, running.server.address, size, reduced_motion="reduce")
        person.sees_model()
        panel = person.opens("Bones")
        assert panel.get_by_role("option").count() == 200
        assert "200 of 200 bones" in panel.inner_text()
        assert panel.locator(".share").count() == 0  # nothing is known of an error
        assert panel.get_by_role("button", name="Error").count() == 0
        # The end of a name, which tells it from its neighbours, is not cut.
        cut = person.page.evaluate(
            "() => [...document.querySelectorAll('#panel-bones [role=option] span')]"
            ".filter((e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).length"
        )
        assert cut == 0
        assert person.page.evaluate(CUT) == []
        panel.get_by_role("searchbox").fill("Index171")
        assert panel.get_by_role("option").count() == 1
        panel.get_by_role("searchbox").fill("")
        person.page.evaluate("() => window.osteon.store.set({ paint: 'bones' })")
        drawn(person)
        person.keeps_picture("10-two-hundred-bones")
        panel.get_by_role("option").nth(150).click()
        box = panel.get_by_role("option", selected=True).bounding_box()
        home = person.page.locator("#panels").bounding_box()
        assert home["y"] <= box["y"] <= home["y"] + home["height"]
        person.keeps_picture("10-two-hundred-bones-one")
        person.leaves()
