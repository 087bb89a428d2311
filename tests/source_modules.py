"""The modules of the package, their folders in flow order, and who imports whom."""

from __future__ import annotations

import ast
from pathlib import Path

import osteon

SOURCE = Path(osteon.__file__).parent
#: The benchmarks are a package beside it, which is in no wheel.
BENCH = SOURCE.parent / "osteon_bench"

#: Each may import those before it. `osteon_bench` measures everything, and nothing imports it.
LAYERS = (
    *("core", "deform", "measure", "io", "fit", "simplex", "elastic", "lod", "apply", "synth"),
    *("pipeline", "report", "scale", "view", "study", "papers", "cli", "__main__", "osteon_bench"),
)


def module_of(path: Path) -> str:
    """Dotted name of a file under src."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for folder in (SOURCE, BENCH) for path in sorted(folder.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imports_of(tree: ast.Module, package: str) -> set[str]:
    """Dotted names of the two packages that a module imports anywhere in the file; `package` resolves relative ones."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from osteon import io` imports osteon.io; `from osteon.io import x` may be a name or a module.
            found |= {f"{base}.{alias.name}" if base == "osteon" else base for alias in node.names}
    return {name for name in found if name.split(".")[0] in ("osteon", "osteon_bench")}


def package_of(module: str) -> str:
    """What relative imports of a module start from."""
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def layer_of(module: str) -> str:
    """The folder of a module; "" for the package itself."""
    if module.split(".")[0] == "osteon_bench":
        return "osteon_bench"
    if module == "osteon.deprecated":
        return "core"  # a table of names, which imports nothing
    return module.split(".")[1] if "." in module else ""


IMPORTS = {name: imports_of(tree, package_of(name)) for name, tree in TREES.items()}


def importers() -> dict[tuple[str, str], int]:
    """How many modules of one folder import from another, for (importing, imported)."""
    counts: dict[tuple[str, str], int] = {}
    for module, imported in IMPORTS.items():
        for layer in {layer_of(name) for name in imported} & set(LAYERS) - {layer_of(module)}:
            counts[layer_of(module), layer] = counts.get((layer_of(module), layer), 0) + 1
    return counts
