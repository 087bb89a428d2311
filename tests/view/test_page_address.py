"""The address of the page says what is seen: loaded again, sent on or exported, it opens the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.io import save_model, save_sequence
from osteon.view.export import export_view
from osteon.view.server.collection import prepare_item

from .page_person import Person, fox
from .serving import served
from .test_page_panels import drawn

#: All that the address keeps.
SEEN = """() => {
  const { engine, store, page } = window.osteon;
  const { panel, mode, paint, bone, rank, swipe, wireframe, skeleton, ab, heatMax } = store.state;
  return { panel, mode, paint, bone, rank, swipe, wireframe, skeleton, ab, heatMax, frame: page.timeline.frame,
    camera: engine.orbitCamera.place, range: engine.clock.range };
}"""


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("address")
    sequence, fit = fox()
    save_model(fit.model, folder / "fox.npz")
    save_sequence(sequence, folder / "frames.npz")
    return folder


@pytest.fixture
def person(chromium: Any, address: str) -> Iterator[Person]:
    someone = Person(chromium, address, "small", reduced_motion="reduce")
    someone.sees_model()
    yield someone
    someone.leaves()


def fragment(person: Person) -> str:
    return str(person.page.evaluate("() => location.hash"))


def arranges(person: Person) -> dict[str, Any]:
    """Another panel, frame, camera and paint than at the start, once the address says so."""
    person.page.evaluate(
        """() => {
          const { store, page, engine } = window.osteon;
          store.set({ panel: "bones", paint: "weights", bone: 3, rank: 2, wireframe: true });
          page.timeline.goTo(7);
          store.set({ ab: [2, 9] });
          engine.lookFrom([-1, 0.2, 0.3]);
        }"""
    )
    person.page.wait_for_function("() => location.hash.includes('camera=') && location.hash.includes('ab=2-9')")
    return dict(person.page.evaluate(SEEN))


def assert_same(person: Person, before: dict[str, Any]) -> None:
    after = person.page.evaluate(SEEN)
    np.testing.assert_allclose(after.pop("camera"), before["camera"], rtol=1e-3, atol=1e-3)
    assert after == {key: value for key, value in before.items() if key != "camera"}


def test_a_page_that_was_just_opened_has_a_plain_address(person: Person) -> None:
    drawn(person)
    person.page.wait_for_timeout(600)  # longer than the page waits before it writes
    assert fragment(person) == ""


def test_a_reload_keeps_panel_frame_camera_and_paint(person: Person) -> None:
    before = arranges(person)
    assert (before["panel"], before["paint"], before["frame"]) == ("bones", "weights", 7)
    assert before["range"] == [2, 9]
    person.page.reload()
    person.sees_model()
    person.waits_for("s.panel === 'bones' && s.ab.length === 2")
    assert_same(person, before)
    assert person.page.evaluate("() => window.osteon.engine.playing") is False


def test_an_address_that_is_pasted_is_followed(person: Person) -> None:
    person.page.evaluate("() => { location.hash = '#panel=compare&frame=4&paint=error&mode=side'; }")
    person.waits_for("s.panel === 'compare' && s.paint === 'error' && s.mode === 'side'")
    assert person.page.evaluate("() => window.osteon.page.timeline.frame") == 4
    person.page.evaluate("() => { location.hash = '#panel=nonsense&paint=<b>&frame=x&camera=1,2&rank=99&mode=?'; }")
    person.waits_for("s.rank === s.pack.rank")
    assert person.state("panel") == "compare"  # what makes no sense is left out


def test_an_exported_page_keeps_it_too(chromium: Any, subjects: Path, tmp_path: Path) -> None:
    inputs, source = (str(subjects / "fox.npz"),), (str(subjects / "frames.npz"),)
    export_view(tmp_path / "fox.html", [prepare_item("m1", inputs, tmp_path / "m1.bin", source=source)])
    address = (tmp_path / "fox.html").as_uri()
    person = Person(chromium, address, "small", reduced_motion="reduce")
    person.sees_model()
    before = arranges(person)
    said = fragment(person)
    person.leaves()
    other = Person(chromium, address + said, "small", reduced_motion="reduce")  # as somebody gets it by mail
    other.sees_model()
    other.waits_for("s.panel === 'bones' && s.ab.length === 2")
    assert_same(other, before)
    other.leaves()


def test_the_clip_repeats_from_a_to_b(person: Person) -> None:
    button = person.page.locator(".between")
    person.page.evaluate("() => window.osteon.page.timeline.goTo(3)")
    button.click()
    assert button.get_attribute("aria-label") == "Loop to this frame (B)"
    person.page.evaluate("() => window.osteon.page.timeline.goTo(6)")
    person.page.keyboard.press("a")  # the key does the same
    assert person.state("ab") == [3, 6]
    seen = person.page.evaluate(
        """() => {
          const { engine } = window.osteon, seen = [];
          for (let i = 0; i < 200; i += 1) { engine.advance(0.013); seen.push(engine.clock.frame); }
          return seen;
        }"""
    )
    assert min(seen) >= 3
    assert max(seen) <= 6
    assert max(seen) - min(seen) > 2.5
    mark = person.page.locator(".loop-mark").bounding_box()
    track = person.page.locator(".scrub").bounding_box()
    assert mark["width"] == pytest.approx(3 / 11 * (track["width"] - 16), abs=4)
    button.click()
    assert person.state("ab") == []
    assert person.page.evaluate("() => window.osteon.engine.clock.range") is None


def test_a_warning_comes_before_a_fit_that_is_not_saved_is_lost(chromium: Any, subjects: Path, tmp_path: Path) -> None:
    with served(tmp_path / "view", str(subjects / "frames.npz")) as running:
        person = Person(chromium, running.server.address, "small", reduced_motion="reduce", accept_downloads=True)
        person.waits_for("s.pack && s.panel === 'fit'")
        warned = []
        person.page.on("dialog", lambda dialog: (warned.append(dialog.type), dialog.accept()))
        panel = person.opens("Fit")
        panel.get_by_label("Bones", exact=True).fill("4")
        panel.get_by_label("Refining rounds").fill("1")
        panel.get_by_role("button", name="Skin it").click()
        person.waits_for("s.pack?.kind === 'model'")
        assert person.state("unsaved") == ["m2"]
        person.page.reload()
        person.sees_model()
        assert warned == ["beforeunload"]
        assert person.state("model") == "m2"  # the address named it
        person.page.evaluate("() => window.osteon.store.set({ unsaved: ['m2'] })")
        with person.page.expect_download():
            person.opens("Fit").get_by_role("button", name="Save as .npz").click()
        person.waits_for("s.unsaved.length === 0")
        person.page.reload()
        person.sees_model()
        assert warned == ["beforeunload"]  # and no more
        person.leaves()
