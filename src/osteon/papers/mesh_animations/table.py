"""Table 1 with all its columns: the printed row of each model above ours."""

from __future__ import annotations

from osteon.papers.entries import Compared, Shown, Table
from osteon.papers.mesh_animations.printed import COMBINATIONS, RANK, TABLE_1, PrintedRow
from osteon.papers.mesh_animations.variants import Variants, variants_of
from osteon.papers.run import PaperRun
from osteon.papers.subjects import Subject, find_subject
from osteon.report.page_parts import number

HEAD = (
    *("model", "frames", "vertices", "triangles", "mean shift", "skin", "bones", "eta"),
    *("E rigid, TSVD", "E rigid, NNLS", "rigid: smaller by"),
    *("E flexible, TSVD", "E flexible, NNLS", "flexible: smaller by"),
)
#: Smallest E % that is written out.
LEAST = 0.001
#: Why measured subjects differ from the paper.
CONSTANTS = "The paper does not print the constants of its mean shift program; ours are those of public copies of it."
STRAY = "Triangles that happen to rotate alike join a bone from afar, and its affine fit stretches to reach them."


def table_1(run: PaperRun) -> Shown:
    """All rows of the table."""
    rows: list[tuple[str, ...]] = []
    compared: list[Compared] = []
    facts = {}
    for row in TABLE_1:
        name = row.model.lower()
        found, variants = find_subject(run, name), variants_of(run, name, row.tolerance)
        title = row.model if row.tolerance == 0.05 else f"{row.model}, eps {row.tolerance:g}"
        rows += [_printed(title, row), _ours(found, row, variants)]
        compared += compared_numbers(title, row, variants, found)
        facts[title] = row_facts(variants) | {"subject": found.name}
    note = (
        f"E in percent of the motion, in brackets with corrections of rank {RANK}; a star marks the least of four. "
        "Grey rows are the paper's, on a Pentium 4 of 2 GHz. Smaller by: floats of the frames over floats of "
        "the model without corrections. The printed eta of the second flag counts the triangles at eps 0.1."
    )
    table = Table(HEAD, tuple(rows), frozenset(range(0, len(rows), 2)), note=note)
    stand_ins = "" if run.options.data else " Each model of the paper is replaced by a built-in one of the same kind."
    text = f"Clusters of eps 0.05 unless another is named, four influences per vertex.{stand_ins}"
    return Shown(text, (table,), tuple(compared), facts)


def _printed(title: str, row: PrintedRow) -> tuple[str, ...]:
    best = min(plain for plain, _ in row.errors.values())
    cells = [_error(plain, corrected, best) for plain, corrected in row.errors.values()]
    return (
        *(f"{title} (paper)", str(row.frames), f"{row.vertices:,}", f"{row.triangles:,}"),
        *(f"{row.mean_shift_minutes:g} min", f"{row.skin_minutes:g} min", str(row.bones), f"{row.near_rigid:g}"),
        *(*cells[:2], number(row.compression["rigid"]), *cells[2:], number(row.compression["flexible"])),
    )


def _ours(found: Subject, row: PrintedRow, variants: Variants) -> tuple[str, ...]:
    sequence, clustering = variants.sequence, variants.clustering
    by_rank = [variants.errors(which) for which in COMBINATIONS]
    best = min(errors[0] for errors in by_rank)
    cells = [_error(errors[0], errors[min(RANK, len(errors) - 1)], best, LEAST) for errors in by_rank]
    rigid, flexible = (variants.compression((kind, "nnls")) for kind in ("rigid", "flexible"))
    return (
        *(found.name, str(sequence.n_frames), f"{sequence.n_vertices:,}", f"{sequence.n_triangles:,}"),
        *(f"{number(variants.mean_shift_seconds)} s", f"{number(variants.skin_seconds(('flexible', 'nnls')))} s"),
        *(str(clustering.n_bones), f"{clustering.near_rigid_fraction:.2f}"),
        *(*cells[:2], number(rigid), *cells[2:], number(flexible)),
    )


def _error(plain: float, corrected: float | None, best: float, least: float = 0.0) -> str:
    """E without and with corrections; ours below `least` percent are not written out."""
    star = "*" if plain == best else ""
    shown = [f"<{least:g}" if one < least else number(one) for one in (plain, corrected) if one is not None]
    return f"{shown[0]}{star} ({shown[1] if corrected is not None else '-'})"


def compared_numbers(title: str, row: PrintedRow, variants: Variants, found: Subject) -> list[Compared]:
    """Bones, near-rigid fraction and the error of flexible bones with NNLS weights."""
    why = CONSTANTS if found.measured else f"The {found.name} takes the place of the paper's model."
    stray = STRAY if found.measured else why
    plain, _ = row.errors["flexible", "nnls"]
    ours = variants.errors(("flexible", "nnls"))[0]
    source = "Table 1"
    return [
        Compared(f"{title}: bones", row.bones, variants.clustering.n_bones, source, why=why),
        Compared(f"{title}: eta", row.near_rigid, variants.clustering.near_rigid_fraction, source, why=why),
        Compared(f"{title}: E, flexible, NNLS", plain, ours, source, "%", stray if ours > plain else why),
    ]


def row_facts(variants: Variants) -> dict[str, object]:
    """All figures of a row for machines."""
    sequence = variants.sequence
    return {
        "frames": sequence.n_frames,
        "vertices": sequence.n_vertices,
        "triangles": sequence.n_triangles,
        "bones": variants.clustering.n_bones,
        "near_rigid_fraction": variants.clustering.near_rigid_fraction,
        "mean_shift_seconds": variants.mean_shift_seconds,
        "combinations": {
            f"{bone_type} {weights}": {
                "error_percent_by_rank": variants.errors((bone_type, weights)),
                "compression": variants.compression((bone_type, weights)),
                "skin_seconds": variants.skin_seconds((bone_type, weights)),
            }
            for bone_type, weights in COMBINATIONS
        },
    }
