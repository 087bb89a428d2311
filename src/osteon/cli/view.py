"""`osteon view`: models, their source and their differences in the browser."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import console, json_option, print_json, progress_bar, size_text, write_json
from osteon.cli.outputs import Outputs, file_output, folder_output, handling_signals, plan_outputs
from osteon.core.errors import OptionError
from osteon.core.options import command_text
from osteon.core.progress import Progress

if TYPE_CHECKING:
    from osteon.io.save.overwriting import Output
    from osteon.view.server.collection import Collection
    from osteon.view.server.model_files import NamedModels
    from osteon.view.server.session import Session


#: Seconds without a request from the browser after which advice is printed.
BROWSER_SECONDS = 15.0


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE... [SOURCE]")
@click.option("--skeleton", metavar="FILE", help="A stick skeleton to pose the mesh with: .tgf, .skel, .json, glTF.")
@click.option("--port", default=0, help="Port to listen on at 127.0.0.1.  [any free port]")
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option(
    "--export",
    "target",
    metavar="PATH",
    help="Write the page instead of serving it: NAME.html, one file to open from disk, or a folder for a web server.",
)
@json_option
def view(
    files: tuple[str, ...],
    skeleton: str | None,
    port: int,
    no_browser: bool,
    target: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Show a model, or several, and their source in the browser.

    FILE is a model written by Osteon, any glTF or USD animated by a skin or morph targets, or a sequence: a folder of
    meshes, a pattern, an animated file. A single mesh can be posed. SOURCE is the sequence to compare a model with.
    Of several files the last is the source; the models before it can be swapped during playback. A folder of models
    means all of them. For a character with EigenSkin, SOURCE may be the folder of poses that it was learned from:
    its joints are posed in the page, beside the skin alone and the simulated meshes. Ctrl-C ends the server.

    \b
    osteon view horse.glb horse/
    osteon view cloth/
    osteon view arm.obj --skeleton arm.tgf
    osteon view models/ horse/                after: osteon compare horse/ --save models
    osteon view mine.glb models/as.npz horse/
    osteon view hand.glb poses/               after: osteon eigenskin poses/rest.obj poses/ -o hand.glb
    osteon view horse.glb horse/ --export horse.html
    osteon view horse.glb horse/ --export page/
    """
    from osteon.view.bundle import check_bundle
    from osteon.view.server.cleanup_process import CleanupProcess
    from osteon.view.server.collection import Collection, prepare_models
    from osteon.view.server.session import Session

    export = None if target is None else _export_output(target, port, no_browser, skeleton)
    named = _models(files, skeleton)
    read = files if named is None else [*(model.path for model in named.models), named.source]
    outputs = plan_outputs([*read, skeleton], export, file_output("--json", json_file))
    check_bundle()
    with (
        TemporaryDirectory(prefix="osteon-view-") as temporary,
        CleanupProcess(Path(temporary)) as cleanup,
    ):
        collection = Collection(Path(temporary))
        with progress_bar(quiet) as progress:
            if named is not None:
                prepare_models(collection, named, clusters=target is not None, progress=progress)
            else:
                _prepare_one(collection, files, skeleton, target is not None, progress)
        if target is not None:
            _export(collection, target, outputs, json_file, quiet)
        else:
            _serve(Session.of(collection, cleanup=cleanup), port, not no_browser, outputs, json_file, quiet)


def _export_output(target: str, port: int, no_browser: bool, skeleton: str | None) -> Output | None:
    """The file or the folder that an export writes."""
    from osteon.view.export import check_export, is_single_page

    if port or no_browser:
        raise OptionError("--export: writes files and starts no server; omit --port and --no-browser")
    if skeleton is not None:
        raise OptionError("--export: a page without a server cannot pose; omit --skeleton")
    if is_single_page(target):
        return file_output("--export", target)
    check_export(target)
    return folder_output("--export", target)


def _models(files: tuple[str, ...], skeleton: str | None) -> NamedModels | None:
    """The models of one source, if several are named; prints notes about their files."""
    from osteon.view.server.model_files import find_models

    named = find_models(files)
    if named is not None and skeleton is not None:
        raise OptionError("--skeleton: poses one mesh, and several models are named; omit it")
    for note in named.notes if named is not None else ():
        click.echo(f"osteon: {note}", err=True)
    return named


def _prepare_one(
    collection: Collection, files: tuple[str, ...], skeleton: str | None, clusters: bool, progress: Progress | None
) -> None:
    """Add the named file with its source and skeleton as the only item of a collection."""
    from osteon.view.server.collection import prepare_item
    from osteon.view.server.model_files import names_sequence

    shown, source = (files, ()) if names_sequence(files) else (files[:1], files[1:])
    item_id = collection.new_id()
    pack = collection.pack_of(item_id)
    collection.add(
        prepare_item(item_id, shown, pack, source=source, skeleton=skeleton, clusters=clusters, progress=progress)
    )


def _export(collection: Collection, target: str, outputs: Outputs, json_file: str | None, quiet: bool) -> None:
    from osteon.view.export import export_view, is_single_page

    items = list(collection.items.values())
    kind = "file" if is_single_page(target) else "folder"
    facts: dict[str, Any] = {kind: target, "models": [item.to_json() for item in items]}
    with outputs.writing():
        facts["bytes"] = export_view(target, items)
        write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        console().print(_next_step(target, kind == "file", facts["bytes"]), markup=False, soft_wrap=True)


def _next_step(target: str, is_file: bool, size: int) -> str:
    """Path and size of the export, and how to open it."""
    from osteon.view.export import SLOW_BYTES

    written = f"written to {target}, {size_text(size)}; "
    if not is_file:
        return f"{written}to see it: {command_text('python', '-m', 'http.server', '-d', target)}"
    slow = "; a browser needs some time for that, a folder opens faster" if size > SLOW_BYTES else ""
    return f"{written}open it in a browser, it needs no server{slow}"


def _serve(session: Session, port: int, browser: bool, outputs: Outputs, json_file: str | None, quiet: bool) -> None:
    """Run the server until Ctrl-C, or until the tab that was opened here is closed."""
    from osteon.view.server.serve import ViewServer

    collection = session.collection

    def ready(address: str) -> None:
        facts: dict[str, Any] = {"address": address, "models": [item.to_json() for item in collection.items.values()]}
        with outputs.writing(private=True):
            write_json(facts, json_file)
        print_json(facts, json_file)
        if json_file != "-":
            click.echo(address if quiet else f"{address}  (Ctrl-C to end)")
        if browser:
            threading.Thread(target=open_tab, args=(address,), daemon=True).start()

    def open_tab(address: str) -> None:
        from osteon.view.server.serve import open_browser

        if not open_browser(address, collection.folder):
            click.echo("no browser was found; open the address in one", err=True)
            return
        session.on_idle = server.stop
        if not session.visited.wait(BROWSER_SECONDS) and not server.should_exit:
            click.echo("the browser has not opened the page yet; open the address yourself if it does not", err=True)

    server = ViewServer(session, port, ready)
    try:
        with handling_signals(lambda number: server.stop()) as ended:
            server.run()
    except KeyboardInterrupt:  # the usual end
        click.echo("osteon: stopped", err=True)
        ended = [signal.SIGINT]
    finally:
        session.worker.stop()
    if ended:
        raise SystemExit(128 + ended[0])
