"""How the mesh is seen: from where, in which light, with which colours; and pictures of it that are kept."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from .page_person import Person, fox
from .test_page_panels import drawn

#: From where the mesh is seen: a unit vector.
FROM = """() => {
  const [x, y, z, a, b, c] = window.osteon.engine.orbitCamera.place;
  const far = Math.hypot(x - a, y - b, z - c);
  return [(x - a) / far, (y - b) / far, (z - c) / far];
}"""
#: The canvas alone.
CANVAS = "() => { const { engine } = window.osteon; engine.draw(); return engine.canvas.toDataURL(); }"
SIDES = {"Numpad1": (0, 0, 1), "Numpad3": (1, 0, 0), "Numpad7": (0, 1, 0)}
#: The colours of the heat map's scale and of values above it, as the legend has them.
SCALE = """() => {
  const heat = document.querySelector("#panel-compare .heat");
  const stops = [...heat.querySelectorAll("stop")].map((stop) => stop.getAttribute("stop-color"));
  return [...stops, heat.querySelector(".above").getAttribute("fill")];
}"""


@pytest.fixture(scope="module")
def visitor(chromium: Any, address: str) -> Iterator[Person]:
    someone = Person(chromium, address, "small", reduced_motion="reduce", accept_downloads=True)
    someone.sees_model()
    someone.measures_all()
    yield someone
    someone.leaves()


@pytest.fixture
def person(visitor: Person) -> Person:
    visitor.begins_anew()
    visitor.page.evaluate(
        """() => {
          window.osteon.store.set({ light: "room", lightTurn: 0, lightPower: 1 });
          window.osteon.page.seeAll();
        }"""
    )
    drawn(visitor)
    return visitor


def picture(person: Person) -> np.ndarray:
    """(y,x,3) the canvas."""
    drawn(person)
    data = person.page.evaluate(CANVAS).partition(",")[2]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")).astype(int)


def write_hdr(path: Path, color: tuple[float, float, float], *, packed: bool) -> None:
    """A picture of light whose upper half has a colour and whose lower half is black, 16 x 8 pixels."""
    scale = 2.0 ** (136 - 130)
    pixel = bytes([*(round(c * scale) for c in color), 130])
    rows = b""
    for y in range(8):
        value = pixel if y < 4 else bytes(4)
        runs = b"".join(bytes([128 + 16, value[channel]]) for channel in range(4))
        rows += bytes([2, 2, 0, 16]) + runs if packed else value * 16
    path.write_bytes(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 8 +X 16\n" + rows)


def test_front_side_and_top_by_the_numeric_pad_and_by_buttons(person: Person) -> None:
    for code, expected in SIDES.items():
        person.page.keyboard.press(code)
        drawn(person)
        np.testing.assert_allclose(person.page.evaluate(FROM), expected, atol=0.05)
        assert person.state("model") == "m1"  # the digit meant no model
    person.page.keyboard.press("Control+Numpad3")
    drawn(person)
    np.testing.assert_allclose(person.page.evaluate(FROM), (-1, 0, 0), atol=0.05)
    before = person.page.evaluate(FROM)
    person.page.keyboard.press("Numpad6")
    drawn(person)
    assert np.dot(person.page.evaluate(FROM), before) < 0.98
    panel = person.opens("View")
    for name, expected in (("Front", (0, 0, 1)), ("Side", (1, 0, 0)), ("Top", (0, 1, 0))):
        panel.get_by_role("button", name=name).click()
        drawn(person)
        np.testing.assert_allclose(person.page.evaluate(FROM), expected, atol=0.05)
    person.keeps_picture("14-top")


def test_the_room_lights_all_sides_and_turns(person: Person) -> None:
    room = picture(person)
    person.page.evaluate("() => window.osteon.store.set({ lightTurn: 180 })")
    turned = picture(person)
    person.page.evaluate("() => window.osteon.store.set({ light: 'camera' })")
    lamp = picture(person)
    for other in (turned, lamp):
        assert (np.abs(other - room).max(axis=2) > 6).mean() > 0.01  # the mesh, not the ground
    person.page.evaluate("() => window.osteon.store.set({ light: 'room', lightTurn: 0, lightPower: 0.3 })")
    assert picture(person).mean() < room.mean()


@pytest.mark.parametrize("packed", [True, False])
def test_a_dropped_picture_of_light_lights_the_mesh(person: Person, tmp_path: Path, packed: bool) -> None:
    write_hdr(tmp_path / "red.hdr", (1.0, 0.05, 0.05), packed=packed)
    before = picture(person)
    person.drops(tmp_path / "red.hdr")
    person.waits_for("s.light === 'picture' && s.lightName === 'red.hdr'")
    lit = picture(person)
    changed = np.abs(lit - before).max(axis=2) > 12
    assert changed.mean() > 0.01
    red = lit[changed].mean(axis=0)
    assert red[0] > 1.5 * red[1]
    assert person.state("model") == "m1"  # nothing was opened
    (tmp_path / "bad.hdr").write_bytes(b"#?RADIANCE\n\n-Y 8 +X 16\n\x02\x02\x00\x10")
    person.drops(tmp_path / "bad.hdr")
    assert "bad.hdr" in person.hears("alert", "truncated")
    person.page.get_by_role("button", name="Close the message").click()


def test_a_picture_is_saved_with_its_background_and_without(person: Person) -> None:
    panel = person.opens("View")
    with person.page.expect_download() as kept:
        panel.get_by_role("button", name="Save PNG").click()
    shown = person.page.evaluate("() => [window.osteon.engine.width, window.osteon.engine.height]")
    with Image.open(kept.value.path()) as image:
        assert image.size == tuple(shown)
        assert np.asarray(image.convert("RGBA"))[..., 3].min() == 255
    panel.get_by_role("switch", name="Transparent background").click()
    panel.get_by_text("2 ×", exact=True).click()
    with person.page.expect_download() as kept:
        panel.get_by_role("button", name="Save PNG").click()
    assert kept.value.suggested_filename.endswith(".png")
    with Image.open(kept.value.path()) as image:
        assert image.size == (2 * shown[0], 2 * shown[1])
        pixels = np.asarray(image.convert("RGBA")).astype(int)
    assert pixels[0, 0, 3] == 0
    solid = pixels[..., 3] == 255
    assert 0.03 < solid.mean() < 0.6  # the mesh, and nothing of the ground
    assert person.page.evaluate("() => window.osteon.engine.canvas.width") == shown[0]  # as before
    panel.get_by_role("switch", name="Transparent background").click()


def test_a_turntable_is_one_turn_and_can_be_cancelled(person: Person) -> None:
    panel = person.opens("View")
    before = person.page.evaluate(FROM)
    panel.get_by_role("button", name="Turntable GIF").click()
    person.page.locator("#stage").get_by_role("button", name="Cancel").click()
    person.hears("status", "Cancelled")
    np.testing.assert_allclose(person.page.evaluate(FROM), before, atol=1e-3)
    with person.page.expect_download() as kept:
        panel.get_by_role("button", name="Turntable GIF").click()
    assert kept.value.suggested_filename.endswith("-turntable.gif")
    with Image.open(kept.value.path()) as image:
        assert image.n_frames == 60
        assert max(image.size) <= 540
        frames = []
        for i in (0, 15, 30, 59):
            image.seek(i)
            frames.append(np.asarray(image.convert("RGB")).astype(int))
    far, near = np.abs(frames[2] - frames[0]).mean(), np.abs(frames[3] - frames[0]).mean()
    assert far > 1.25 * near  # it comes back to where it began
    drawn(person)
    assert np.abs(frames[0].mean(axis=(0, 1)) - picture(person).mean(axis=(0, 1))).max() < 12  # 256 colours are enough
    np.testing.assert_allclose(person.page.evaluate(FROM), before, atol=1e-3)


def test_colours_of_the_heat_map_are_those_of_its_scale(person: Person) -> None:
    person.opens("Compare").get_by_role("switch", name="Error heat map").click()
    errors = person.page.evaluate(
        """() => {
          const { engine, store } = window.osteon, all = [];
          for (let f = 0; f < store.state.pack.counts.frames; f += 1) all.push(...engine.errorAt(f).perVertex);
          return all;
        }"""
    )
    assert person.state("heatMax") == pytest.approx(np.percentile(errors, 99), rel=0.06)
    assert len(errors) == fox()[0].n_frames * fox()[0].n_vertices
    person.page.evaluate("() => window.osteon.store.set({ heatMax: window.osteon.store.state.heatMax / 4 })")
    table = np.array([[int(c) for c in text[4:-1].split()] for text in person.page.evaluate(SCALE)])
    shown = picture(person)
    scale = np.array([np.interp(np.linspace(0, 12, 256), range(13), table[:13, c]) for c in range(3)]).T
    known = np.concatenate([scale, table[13:]])
    plain = np.abs(picture_of_material(person) - shown).max(axis=2) > 30  # where colours are painted
    distance = np.abs(shown[plain][:, None] - known[None]).max(axis=2).min(axis=1)
    assert (distance <= 3).mean() > 0.7  # all but the silhouette and the edges
    above = np.abs(shown - table[13]).max(axis=2) <= 2
    assert above.sum() > 20  # and some of it lies above the end


def picture_of_material(person: Person) -> np.ndarray:
    person.page.evaluate("() => window.osteon.store.set({ paint: 'material' })")
    return picture(person)


def test_the_overlaid_source_has_the_colour_of_its_name(person: Person) -> None:
    person.page.evaluate("() => window.osteon.store.set({ mode: 'result', paint: 'bones' })")
    alone = picture(person)
    person.page.evaluate("() => window.osteon.store.set({ mode: 'overlay' })")
    drawn(person)
    swatch = person.page.locator(".side-name .swatch")
    assert swatch.is_visible()
    color = np.array([int(c) for c in swatch.evaluate("(e) => getComputedStyle(e).backgroundColor")[4:-1].split(",")])
    over = picture(person)
    changed = np.abs(over - alone).max(axis=2) > 24
    exact = np.abs(over - color).max(axis=2) <= 3
    assert (exact & changed).sum() > 50
    assert (
        changed.mean() < 0.25 * (np.abs(alone - alone[0, 0]).max(axis=2) > 30).mean() + 0.02
    )  # bones keep their colours
    person.keeps_picture("14-overlay")


def test_a_line_stands_between_the_sides(person: Person) -> None:
    assert person.page.locator(".divider:visible").count() == 0
    person.page.evaluate("() => window.osteon.store.set({ mode: 'side' })")
    drawn(person)
    (view, other) = person.page.evaluate("() => window.osteon.engine.views.map(({ left, span }) => [left, span])")
    line = person.page.locator(".divider:visible")
    assert line.count() == 1
    stage = person.page.locator("#stage").bounding_box()
    assert line.bounding_box()["x"] - stage["x"] == pytest.approx(other[0], abs=1)
    assert view[0] == 0
