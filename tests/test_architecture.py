"""Imports point one way, start-up stays quick, what a module says it offers exists, and nothing is written twice."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import osteon
from osteon.core import errors
from osteon_bench.fuzzing.readers import READERS

from .architecture_picture import FOLDERS, draw_architecture
from .repeated_lines import repeated_runs
from .source_modules import LAYERS, MODULES, SOURCE, TREES, imports_of, layer_of, package_of

ROOT = Path(__file__).resolve().parents[1]
#: What people write; bundles and packages of others aside.
WRITTEN = (".py", ".js", ".mjs", ".css", ".html", ".json")
NOT_OURS = {"node_modules", "static", "package-lock.json"}


def wrong_imports(module: str, tree: ast.Module, package: str) -> list[str]:
    """Imports of `module` that point the wrong way; `package` resolves relative ones."""
    below = LAYERS[LAYERS.index(layer_of(module)) + 1 :]
    return [name for name in sorted(imports_of(tree, package)) if layer_of(name) in below]


def test_found_the_modules() -> None:
    assert len(MODULES) >= 40
    assert {layer_of(name) for name in MODULES} >= {"core", "deform", "measure", "io", "fit", "synth", "pipeline"}


def test_every_module_has_a_place() -> None:
    assert {layer_of(name) for name in MODULES} - {""} <= set(LAYERS)
    assert not [name for name in MODULES if name.rpartition(".")[2] in ("util", "utils", "helpers", "misc")]


@pytest.mark.parametrize("module", [name for name in MODULES if name != "osteon"])
def test_imports_point_one_way(module: str) -> None:
    assert wrong_imports(module, TREES[module], package_of(module)) == []


@pytest.mark.parametrize(
    "line",
    [
        "import osteon.fit.skin.refine",
        "from osteon.fit.skin.refine import refine_skin",
        "from osteon import pipeline",
        "from ..fit import refine",
        "from .. import pipeline",
        "def later():\n    from osteon.cli import main",
    ],
)
def test_the_check_sees_a_wrong_import(line: str) -> None:
    assert wrong_imports("osteon.core.topology", ast.parse(line), "osteon.core")


def test_the_check_accepts_the_version() -> None:
    assert not wrong_imports("osteon.measure.shading", ast.parse("from osteon import __version__"), "osteon.measure")


def first_imports(module: str) -> set[str]:
    """Modules that are imported as soon as `module` is; not those that a function asks for when it runs."""
    lines = [node for node in TREES[module].body if isinstance(node, ast.Import | ast.ImportFrom)]
    return imports_of(ast.Module(lines, []), package_of(module)) & set(MODULES) - {"osteon"}


def circle_of(imports: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a circle, if there are any."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_of_imports() -> None:
    imports = {module: first_imports(module) for module in MODULES}
    assert sum(map(len, imports.values())) > 400
    assert circle_of(imports) == []
    assert circle_of({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_the_picture_is_current() -> None:
    drawn = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == draw_architecture(), "run scripts/draw-architecture"


def test_every_folder_is_in_the_picture() -> None:
    folders = {layer_of(name) for name in MODULES} - {"", "__main__"}
    assert folders <= set(FOLDERS), "a new folder needs a line in tests/architecture_picture.py"
    assert all(f">{name}/<" in draw_architecture() for name in folders)


def test_nothing_stands_twice() -> None:
    files = [path for path in sorted(SOURCE.rglob("*")) if path.suffix in WRITTEN and not NOT_OURS & set(path.parts)]
    assert len(files) > 300
    assert repeated_runs((path.relative_to(SOURCE), path.read_text(encoding="utf-8")) for path in files) == []


def test_the_check_sees_what_stands_twice() -> None:
    lines = [f"total += part_{i}" for i in range(10)]
    first = "\n".join(["import this", "def one():", *(f"    {line}" for line in lines)])
    second = "\n".join(["def two():", "", *(f"        {line}" for line in lines)])
    found = repeated_runs([(Path("one.py"), first), (Path("two.py"), second)])
    assert found == ["one.py:3 and two.py:3: 10 equal lines from 'total += part_0'"]
    assert repeated_runs([(Path("one.py"), first), (Path("two.py"), "\n".join(second.splitlines()[:-1]))]) == []


def test_the_check_passes_over_imports_and_brackets() -> None:
    same = "\n".join(["from a import (", *(f"    name_{i}," for i in range(12)), ")", *["# said"] * 12, *["}"] * 12])
    assert repeated_runs([(Path("one.py"), same), (Path("two.py"), same)]) == []


def test_mypy_makes_no_exception_for_the_package() -> None:
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert mypy["strict"] is True
    assert mypy["files"] == ["src"]
    assert not {"exclude", "ignore_errors", "disable_error_code"} & set(mypy)
    for override in mypy.get("overrides", []):
        named = override["module"] if isinstance(override["module"], list) else [override["module"]]
        assert named
        assert not [module for module in named if module.split(".")[0] in ("osteon", "*")]
    assert not [module for module, path in MODULES.items() if "# mypy:" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("module", ["osteon", "osteon.core.skin_options", "osteon.io"])
def test_quick_to_import(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{'numba', 'llvmlite'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_fuzzed_modules_exist() -> None:
    named = {module for reader in READERS.values() for module in reader.modules}
    assert len(named) > 20
    assert not [name for name in sorted(named) if not {f"osteon.io.{name}", f"osteon.{name}"} & set(MODULES)]


def test_public_names_resolve() -> None:
    assert len(osteon.__all__) == len(set(osteon.__all__)) > 10
    for name in osteon.__all__:
        assert getattr(osteon, name) is not None
    assert set(dir(osteon)) == set(osteon.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = osteon.no_such_name


def test_errors_are_one_complete_tree() -> None:
    classes = {n: c for n, c in vars(errors).items() if inspect.isclass(c) and c.__module__ == errors.__name__}
    assert sorted(errors.__all__) == sorted(classes)
    assert len(classes) >= 6
    for name, kind in classes.items():
        assert issubclass(kind, errors.OsteonError)
        assert kind.__doc__
        assert name in (errors.__doc__ or ""), f"{name} is missing from the tree in the docstring"
        assert kind.exit_code in (1, 2)


def assigned_names(tree: ast.Module) -> set[str]:
    """Names that a module defines or imports at its top level."""
    found: set[str] = set()
    for node in ast.walk(
        ast.Module(
            [n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)], []
        )
    ):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return found | {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}


def test_packages_offer_what_they_import() -> None:
    """`__all__` is for packages and modules that offer names of other modules; elsewhere private names have a `_`."""
    checked = 0
    for module, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" and module != "osteon":
                offered = ast.literal_eval(node.value)
                assert set(offered) <= assigned_names(tree), module
                checked += 1
    assert checked >= 20


def test_no_module_imports_private_names_of_another() -> None:
    imported = [
        (module, node.module, alias.name)
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("osteon")
        for alias in node.names
    ]
    assert len(imported) > 1000
    assert not [entry for entry in imported if entry[2].startswith("_") and not entry[2].startswith("__")]


def test_only_the_command_line_prints() -> None:
    for module, tree in TREES.items():
        if layer_of(module) != "cli":
            calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            assert not [c.lineno for c in calls if c.func.id == "print"], module
