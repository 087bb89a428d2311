"""Files on the page: opened, refused in words, skinned, cancelled; and the page without a server behind it."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.sequence import MeshSequence
from osteon.io import save_model, save_sequence
from osteon.view.export import export_view
from osteon.view.pack.model_pack import pack_model
from osteon.view.server.collection import Collection, Item, prepare_item

from .page_person import Person, fox
from .serving import Served, served, wait_until
from .test_engine_pictures import dressed

NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fox.glb, frames/ of its source, and a file that is broken."""
    folder = tmp_path_factory.mktemp("subjects")
    sequence, fit = fox()
    save_model(fit.model, folder / "fox.glb")
    save_sequence(sequence, folder / "frames")
    (folder / "broken.glb").write_bytes((folder / "fox.glb").read_bytes()[:3000])
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """Nothing is open yet."""
    with served(tmp_path / "view") as running:
        yield running


@pytest.fixture
def person(chromium: Any, server: Served) -> Iterator[Person]:
    someone = Person(chromium, server.server.address, "small", reduced_motion="reduce")
    someone.waits_for("s.scene.can_fit")
    yield someone
    someone.leaves()


def test_an_empty_page_says_what_to_do(person: Person) -> None:
    assert "Drop a model or a mesh sequence here" in person.page.locator("#stage").inner_text()
    for panel, words in (
        ("Compare", "osteon view model.glb source/"),
        ("Bones", "no bones yet"),
        ("Corrections", "no corrections"),
        ("Crowd", "needs a skinned model"),
        ("Fit", "Drop a mesh sequence"),
        ("About", "Nothing is open"),
    ):
        assert words in person.opens(panel).inner_text()
        person.keeps_picture(f"8-empty-{panel.lower()}")
    for key in ("Space", "ArrowRight", "Home", "b", "e", "c", "w", "]", "f"):
        person.page.keyboard.press(key)
    assert not person.nameless()


def test_a_dropped_model_opens(person: Person, subjects: Path) -> None:
    person.drops(subjects / "fox.glb")
    person.sees_model()
    assert person.state("pack.counts.bones") == fox()[1].model.n_bones
    assert "There is no source to compare with" in person.opens("Compare").inner_text()
    person.keeps_picture("8-no-source")


def test_a_broken_file_is_refused_in_words(person: Person, subjects: Path) -> None:
    person.drops(subjects / "fox.glb")
    person.sees_model()
    person.drops(subjects / "broken.glb")
    said = person.hears("alert", "broken.glb")
    assert "/tmp" not in said
    assert person.state("pack.counts.bones") > 0  # what was open stays open
    person.keeps_picture("8-broken")
    person.page.get_by_role("button", name="Close the message").click()
    assert person.page.get_by_role("alert").is_hidden()
    forgive_refusals(person)


def test_what_nobody_reads_is_refused_in_words_and_never_as_markup(person: Person, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    person.drops(tmp_path / "note.txt", names=(f"{NASTY}.txt",))
    person.hears("alert", "not a kind of file that Osteon reads")
    assert person.page.locator("img").count() == 0
    forgive_refusals(person)


def test_names_from_a_file_are_text(person: Person, tmp_path: Path) -> None:
    _, fit = fox()
    names = (NASTY, *(f"<b>{b}</b>" for b in range(1, fit.model.n_bones)))
    track = replace(fit.model.track, names=names)
    clips = (Clip(NASTY, 0, 5, 24.0), Clip("run", 5, 12, 30.0))
    save_model(fit.model.with_mesh(name=NASTY).with_animation(track=track, clips=clips), tmp_path / "named.npz")
    person.drops(tmp_path / "named.npz")
    person.sees_model()
    person.page.get_by_role("combobox", name="Clip").select_option("run")
    assert "0 / 6" in person.page.locator("#timeline").inner_text()
    person.page.keyboard.press("Escape")
    person.page.get_by_role("slider", name="Frame").press("End")
    assert person.page.evaluate("() => window.osteon.engine.clock.frame") == 11
    assert NASTY in person.opens("Bones").inner_text()
    assert NASTY in person.opens("About").inner_text()
    assert person.page.locator("img, b").count() == 0


def test_too_large_a_file_is_refused_before_it_is_sent(person: Person, subjects: Path) -> None:
    person.page.evaluate("() => { window.osteon.store.state.scene.limits.upload_bytes = 1000; }")
    person.drops(subjects / "fox.glb")
    person.hears("alert", "takes at most")


def test_a_dropped_sequence_is_skinned_and_saved(person: Person, subjects: Path) -> None:
    frames = sorted((subjects / "frames").glob("*.*"))
    person.drops(*frames[::-1])
    person.waits_for("s.panel === 'fit' && s.pack?.kind === 'sequence'")
    assert person.state("mode") == "source"
    assert person.state("pack.counts.frames") == fox()[0].n_frames
    panel = person.opens("Fit")
    panel.get_by_label("Bones", exact=True).fill("8")
    panel.get_by_label("Rank of corrections").fill("2")
    panel.get_by_label("Refining rounds").fill("2")
    panel.get_by_role("button", name="Skin it").click()
    panel.get_by_role("progressbar").first.wait_for()
    person.keeps_picture("8-fitting")
    person.waits_for("s.pack?.kind === 'model'")
    assert person.state("mode") == "side"
    assert person.state("pack.rank") == 2
    assert person.opens("Compare").get_by_text("E, all frames").is_visible()
    person.measures_all()
    person.keeps_picture("8-fitted")
    person.opens("Bones").get_by_role("button", name="Find near-rigid triangles").click()
    person.waits_for("s.paint === 'clusters'")
    person.keeps_picture("8-near-rigid")
    assert "smaller by" in person.opens("About").inner_text()
    with person.page.expect_download() as kept:
        person.opens("Fit").get_by_role("button", name="Save as .glb").click()
    assert kept.value.suggested_filename.endswith(".glb")
    assert Path(kept.value.path()).read_bytes()[:4] == b"glTF"


def test_a_fit_is_cancelled(person: Person, server: Served, tmp_path: Path) -> None:
    sequence, _ = fox()
    long = np.concatenate([sequence.frames] * 12)
    save_sequence(MeshSequence(long, sequence.faces, sequence.rest, name="long"), tmp_path / "long.npz")
    person.drops(tmp_path / "long.npz")
    person.waits_for("s.panel === 'fit' && s.pack?.kind === 'sequence'")
    panel = person.opens("Fit")
    panel.get_by_label("Bones", exact=True).fill("40")
    panel.get_by_role("button", name="Skin it").click()
    panel.get_by_role("progressbar").first.wait_for()
    assert "long: 40 scaled bones" in panel.inner_text()
    panel.get_by_role("button", name="Cancel").click()
    person.hears("status", "cancelled")
    assert person.state("pack.kind") == "sequence"
    panel.get_by_role("button", name="Skin it").click()
    panel.get_by_role("progressbar").first.wait_for()
    assert server.session.running is not None
    person.page.reload()
    # A page that is gone wants no result. The browser may drop its last request; the server sees the line close.
    assert wait_until(lambda: server.session.running is None)


def test_a_server_that_ended_is_told_in_words(person: Person, server: Served) -> None:
    server.server.stop()
    person.hears("alert", "The server does not respond")
    forgive_refusals(person)


def test_a_browser_without_webgl_is_told_in_words(chromium: Any, server: Served) -> None:
    without = "HTMLCanvasElement.prototype.getContext = () => null;"
    person = Person(chromium, server.server.address, "small", before=without)
    person.hears("alert", "WebGL 2")
    person.opens("About")
    person.context.close()  # three.js complains in the console too


def test_the_export_needs_no_server(chromium: Any, subjects: Path, tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    item = prepare_item(
        collection.new_id(), (str(subjects / "fox.glb"),), tmp_path / "m1.bin", source=(str(subjects / "frames"),)
    )
    export_view(tmp_path / "page", [item])
    handler = functools.partial(_Quiet, directory=str(tmp_path / "page"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as static:
        thread = threading.Thread(target=static.serve_forever)
        thread.start()
        try:
            look_at_export(
                Person(chromium, f"http://127.0.0.1:{static.server_port}/", "small", reduced_motion="reduce")
            )
        finally:
            static.shutdown()
            thread.join()


def test_an_export_in_one_file_opens_from_disk(chromium: Any, subjects: Path, tmp_path: Path) -> None:
    sequence, fit = fox()
    names = ("</script><img src=x onerror=alert(1)>", *(f"bone_{b}" for b in range(1, fit.model.n_bones)))
    named = fit.model.with_mesh(name="</script>").with_animation(track=replace(fit.model.track, names=names))
    save_model(named, tmp_path / "fox.npz")
    collection = Collection(tmp_path)
    item = prepare_item(
        collection.new_id(), (str(tmp_path / "fox.npz"),), tmp_path / "m1.bin", source=(str(subjects / "frames"),)
    )
    alone = tmp_path / "alone"
    alone.mkdir()
    out = alone / "näme #1 & 100 %.html"
    assert export_view(out, [item]) == out.stat().st_size
    assert [path.name for path in alone.iterdir()] == [out.name]  # one file, and nothing beside it
    asked: list[str] = []
    person = Person(chromium, out.as_uri(), "small", reduced_motion="reduce")
    person.page.on("request", lambda request: asked.append(request.url))
    person.page.reload()
    person.sees_model()
    person.measures_all()
    frames = person.page.evaluate("() => window.osteon.store.state.pack.counts.frames")
    assert frames == sequence.n_frames
    assert NASTY[:4] in person.opens("Bones").inner_text()
    assert person.page.locator("img").count() == 0
    assert "needs the program" in person.opens("Pose").inner_text()
    look_at_export(person)
    assert [url for url in asked if not url.startswith("data:")] == [out.as_uri()]  # itself, and nobody else


def test_pictures_of_materials_are_seen_in_one_file(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "m1.bin").write_bytes(pack_model(dressed()))
    export_view(tmp_path / "dressed.html", [Item("m1", "dressed", "model", tmp_path / "m1.bin")])
    person = Person(chromium, (tmp_path / "dressed.html").as_uri(), "small", reduced_motion="reduce")
    person.waits_for("s.pack && window.osteon.engine.character.pictures[0]")
    person.leaves()


def test_a_still_mesh_in_one_file_has_no_timeline_and_opens_nothing(
    chromium: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    item = prepare_item("m1", (str(files[0]),), tmp_path / "m1.bin", clusters=True)
    export_view(tmp_path / "tube.html", [item])
    person = Person(chromium, (tmp_path / "tube.html").as_uri(), "small")
    person.waits_for("s.pack")
    assert person.state("panel") == ""  # nobody could pose it
    assert person.page.locator("#timeline").is_hidden()
    person.leaves()


def test_a_large_model_comes_in_pieces(chromium: Any, subjects: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("osteon.view.export.PIECE", 3 * 20_000)
    item = prepare_item("m1", (str(subjects / "fox.glb"),), tmp_path / "m1.bin", source=(str(subjects / "frames"),))
    export_view(tmp_path / "fox.html", [item])
    assert (tmp_path / "fox.html").read_bytes().count(b'data-pack="m1"') > 3
    person = Person(chromium, (tmp_path / "fox.html").as_uri(), "small", reduced_motion="reduce")
    look_at_export(person)


def look_at_export(person: Person) -> None:
    person.sees_model()
    person.measures_all()
    assert person.page.get_by_role("button", name="Open…").count() == 0
    assert "Fitting needs the program" in person.opens("Fit").inner_text()
    person.opens("Compare").get_by_role("switch", name="Error heat map").click()
    person.keeps_picture("8-export")
    person.leaves()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def forgive_refusals(person: Person) -> None:
    """The browser itself writes every refused request to its console; the person saw it in words."""
    person.complaints = [text for text in person.complaints if "Failed to load resource" not in text]
