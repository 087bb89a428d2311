"""Imports point one way, start-up stays quick, and what a module says it offers exists."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import osteon
from osteon.core import errors

SOURCE = Path(osteon.__file__).parent

#: Each may import those before it (DESIGN, section 1); `bench` measures everything but the command line.
LAYERS = (
    *("core", "deform", "measure", "io", "fit", "simplex", "lod", "apply", "synth"),
    *("pipeline", "report", "scale", "view", "bench", "cli", "__main__"),
)


def module_of(path: Path) -> str:
    """Dotted name of a file under src."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imports_of(tree: ast.Module, package: str) -> set[str]:
    """Dotted names below `osteon` that a module imports, wherever in the file; `package` resolves relative ones."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from osteon import io` imports osteon.io; `from osteon.io import x` may be a name or a module.
            found |= {f"{base}.{alias.name}" if base == "osteon" else base for alias in node.names}
    return {name for name in found if name.split(".")[0] == "osteon"}


def layer_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def wrong_imports(module: str, tree: ast.Module, is_package: bool) -> list[str]:
    """Imports of `module` that point the wrong way."""
    package = module if is_package else module.rpartition(".")[0]
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
    assert wrong_imports(module, TREES[module], MODULES[module].name == "__init__.py") == []


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
    assert wrong_imports("osteon.core.weld", ast.parse(line), is_package=False)


def test_the_check_accepts_the_version() -> None:
    assert not wrong_imports("osteon.measure.size", ast.parse("from osteon import __version__"), is_package=False)


@pytest.mark.parametrize("module", ["osteon", "osteon.core.options", "osteon.io"])
def test_quick_to_import(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{'numba', 'llvmlite'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


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


def test_modules_offer_what_they_define() -> None:
    checked = 0
    for module, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" and module != "osteon":
                offered = ast.literal_eval(node.value)
                assert set(offered) <= assigned_names(tree), module
                checked += 1
    assert checked >= 40


def test_only_the_command_line_prints() -> None:
    for module, tree in TREES.items():
        if layer_of(module) != "cli":
            calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            assert not [c.lineno for c in calls if c.func.id == "print"], module
