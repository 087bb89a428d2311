"""A person at the page: a real browser before the real server, who sees, clicks, types and drops."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.pipeline.skin import SkinFit, skin_sequence
from osteon.synth.creature import CreatureOptions, make_creature
from osteon.view import bundle
from osteon_bench.players.browser import ARGUMENTS
from osteon_bench.players.tools import find_chromium

ROOT = Path(__file__).resolve().parents[2]
#: Where pictures of the page are kept for people to look at.
PICTURES = Path(os.environ.get("OSTEON_PICTURES", ROOT / "build" / "page"))
#: "small" costs a software renderer less, where the size does not matter.
SIZES = {"desk": (1440, 900), "tablet": (1024, 700), "wide": (1280, 720), "phone": (390, 844), "small": (800, 560)}
PANELS = ("Compare", "Bones", "Corrections", "Fit", "Pose", "Levels", "Crowd", "Light", "View", "About")
#: What stands under one tab on a phone.
GROUPS = {
    "Inspect": ("Compare", "Bones", "Corrections"),
    "Fit": ("Fit",),
    "Pose": ("Pose", "EigenSkin"),
    "Crowd": ("Levels", "Crowd"),
    "View": ("View", "Light", "About"),
}
#: Seconds after which something that a test waits for is said to be wrong, not slow: machines may do much else.
PATIENCE = 300.0
#: Roles that mean nothing to a reader without a name.
NAMED = "button|slider|textbox|combobox|checkbox|switch|radio|spinbutton|searchbox|listbox|progressbar|img|group|region"

DROP = """([names, bodies]) => {
  const carried = new DataTransfer();
  names.forEach((name, i) => {
    carried.items.add(new File([Uint8Array.from(atob(bodies[i]), (c) => c.charCodeAt(0))], name));
  });
  for (const type of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}"""


@cache
def fox() -> tuple[MeshSequence, SkinFit]:
    """A small creature, and its skin with corrections."""
    sequence = make_creature(CreatureOptions(frames=12, resolution=48))
    return sequence, skin_sequence(sequence, options=SkinOptions(bones=16, rank=4, rounds=3))


def build_bundle() -> None:
    """The page as its sources are now."""
    if shutil.which("node") is None and not (bundle.STATIC / "app.js").is_file():
        _miss("node is not installed, so the page cannot be bundled")
    done = subprocess.run([sys.executable, "hatch_build.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _miss(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    if find_chromium() is None:
        _miss("Chromium is not installed; run scripts/install-players")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(find_chromium()), args=list(ARGUMENTS))
        yield started
        started.close()


class Person:
    """Looks at one page, and keeps what the page should not have done."""

    def __init__(
        self,
        chromium: Any,
        address: str,
        size: str = "wide",
        scheme: str = "light",
        *,
        before: str = "",
        **options: Any,
    ) -> None:
        width, height = SIZES[size]
        self.size, self.scheme, self.address = size, scheme, address.partition("#")[0]
        self.context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=size == "phone", **options
        )
        self.context.set_default_timeout(1000 * PATIENCE)
        self.page = self.context.new_page()
        self.page.add_init_script(script=before)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)
        self.page.on("request", self._watch)
        self.page.goto(address)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _watch(self, request: Any) -> None:
        if not request.url.startswith((self.address, f"blob:{self.address.split('/', 3)[0]}", "data:")):
            self.complaints.append(f"asked {request.url}")

    def begins_anew(self) -> None:
        """As the page was when it had loaded."""
        self.page.evaluate(
            """() => {
              const { store, page, engine } = window.osteon;
              const rank = store.state.pack.rank;
              store.set({ panel: "", mode: "result", swipe: 0.5, paint: "material", bone: 0, rank });
              store.set({ shortcuts: true, crowd: false, wireframe: false, axes: false });
              store.set({ skeleton: false, levels: false, levelMesh: 0, relit: false });
              document.activeElement.blur();
              engine.speed = 1;
              if (!engine.loop) page.timeline.loop.click();
              page.timeline.first();
            }"""
        )

    def waits_for(self, condition: str, seconds: float = PATIENCE) -> Any:
        """Until a condition on the page's state `s` holds."""
        script = f"() => {{ const s = window.osteon?.store.state; return s && ({condition}); }}"
        return self.page.wait_for_function(script, timeout=1000 * seconds)

    def sees_model(self) -> None:
        self.waits_for("s.pack && window.osteon.page.timeline.scrub.max > 0")

    def measures_all(self) -> None:
        self.waits_for("window.osteon.page.tracker.track.complete && window.osteon.page.tracker.track.rms.length")

    def state(self, key: str) -> Any:
        return self.page.evaluate(f"() => window.osteon.store.state.{key}")

    def opens(self, panel: str) -> Any:
        """The panel, opened by its tab."""
        found = self.page.locator(f"#panel-{panel.lower()}")
        tab = self.page.locator(f"#tabs [aria-controls=panel-{panel.lower()}]")
        if found.is_hidden() and tab.is_visible():
            tab.click()
        elif found.is_hidden():  # on a phone: by the tab of its group, and then by its name in the head of the panel
            self._opens_group(panel)
        found.wait_for()
        return found

    def _opens_group(self, panel: str) -> None:
        group = next(name for name, panels in GROUPS.items() if panel in panels)
        tab = self.page.locator("#tabs .group-tab", has_text=group)
        if tab.get_attribute("aria-expanded") != "true":
            tab.click()
        if self.page.locator(f"#panel-{panel.lower()}").is_hidden():
            self.page.locator("#panels .subtab:visible", has_text=panel).click()

    def drops(self, *files: Path, names: tuple[str, ...] = ()) -> None:
        """Let files fall on the page."""
        bodies = [base64.b64encode(file.read_bytes()).decode() for file in files]
        self.page.evaluate(DROP, [list(names) or [file.name for file in files], bodies])

    def hears(self, role: str, words: str, seconds: float = PATIENCE) -> str:
        """What the page says, once it says something with these words."""
        told = self.page.locator(f"#stage [role={role}]", has_text=words)
        told.wait_for(timeout=1000 * seconds)
        return str(told.inner_text())

    def keeps_picture(self, name: str) -> Path:
        """A picture of the window, among the artefacts."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}-{self.size}-{self.scheme}.png"
        self.page.screenshot(path=path)
        return path

    def nameless(self) -> list[str]:
        """Controls that a screen reader could not name."""
        lines = self.page.locator("body").aria_snapshot().splitlines()
        assert len(lines) > 10
        return [line for line in lines if re.match(rf'\s*- ({NAMED})(?! ")', line)]

    def leaves(self) -> None:
        """Close the page; nothing may have gone wrong behind the scenes."""
        self.context.close()
        assert not self.complaints, self.complaints
