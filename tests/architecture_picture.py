"""The picture in docs/architecture.md, drawn from the imports: `scripts/draw-architecture`.

Folders stand on a stair in flow order. A line leaves the left side of the folder that imports, and goes up into the
one that is imported; it has that one's colour, and one of three widths by how many modules import.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from .source_modules import BENCH, LAYERS, SOURCE, importers


@dataclass(frozen=True, slots=True)
class Folder:
    """What the picture says of a folder."""

    holds: str
    color: str  # of its box, and of lines that lead to it; seen on white and on black
    paper: str = ""  # number of the paper it serves


#: A new folder needs a line here.
FOLDERS = {
    "core": Folder("what everything speaks", "#8b949e"),
    "deform": Folder("pose in, vertices out", "#e07b1f", "1"),
    "measure": Folder("how close, how large", "#b8900c", "1"),
    "io": Folder("files in and out", "#3a9d4a"),
    "fit": Folder("frames in, bones out", "#0f96a8", "1"),
    "simplex": Folder("posing without weights", "#dc4f87", "5"),
    "elastic": Folder("flesh around bones", "#c2703d", "2"),
    "lod": Folder("bones there is time for", "#1f9e83", "4"),
    "apply": Folder("edit, collide, light", "#b04a8f", "1"),
    "synth": Folder("built-in subjects", "#86980f"),
    "pipeline": Folder("the order of stages", "#4d83ee"),
    "report": Folder("pictures, charts, advice", "#a45fd0"),
    "scale": Folder("batches of assets", "#5b8c5a"),
    "view": Folder("the page, its server", "#e0564a"),
    "study": Folder("what people see", "#2f7fb5", "3"),
    "papers": Folder("the papers, made again", "#6b7bd6"),
    "cli": Folder("one file per command", "#8b949e"),
    "osteon_bench": Folder("every claim, measured", "#7a78e8"),
}
PAPERS = {
    "1": "Skinning Mesh Animations",
    "2": "EigenSkin",
    "3": "Mesh Approximation (and in fit/)",
    "4": "Progressive Skinning",
    "5": "Simplex Transformations",
}

#: Most importing modules, width of the line, words in the legend.
WIDTHS = ((1, 1.2, "imported by 1 module"), (5, 2.2, "by 2 to 5"), (10**6, 3.6, "by 6 or more"))

MARGIN, STEP, ROW = 20, 56, 64  # of the stair: from one box to the next, to the right and down
WIDE, HIGH = 226, 52  # a box
TRUNK, LANE, BEND = 20, 4.6, 7  # where lines enter a box from below, how far apart they leave, radius of their corners
LEGEND = 590  # its left side

STYLE = """
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 13px; fill: #57606a }
  .name { font-size: 16px; font-weight: 600; fill: #1f2328 }
  .badge { font-size: 12px; font-weight: 600; fill: #ffffff; text-anchor: middle }
  .ground { fill: #ffffff } .box { fill: #f6f8fa; stroke-width: 1.6 } .line { fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #9da7b3 } .name { fill: #e6edf3 } .ground { fill: #0d1117 } .box { fill: #161b22 }
  }
"""


def draw_architecture() -> str:
    """The picture as SVG text."""
    shown = [name for name in LAYERS if (SOURCE / name).is_dir() or name == BENCH.name]
    place = {name: (MARGIN + STEP * i, MARGIN + ROW * i) for i, name in enumerate(shown)}
    width, height = 2 * MARGIN + STEP * (len(shown) - 1) + WIDE, 2 * MARGIN + ROW * (len(shown) - 1) + HIGH
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    label = "Folders of Osteon in the order in which data flows, and which of them import which"
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
        *_lines(shown, place),
        *(_box(name, *place[name]) for name in shown),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(drawn) + "\n"


def _lines(shown: list[str], place: dict[str, tuple[int, int]]) -> list[str]:
    """All imports; thin ones over wide ones, so that a trunk is as wide as its widest line."""
    counts = importers()
    found = []
    for importing in shown:
        # The nearest leaves at the top, so that no two lines of a box cross.
        targets = [name for name in reversed(shown) if (importing, name) in counts]
        x, y = place[importing]
        for lane, imported in enumerate(targets):
            start = y + HIGH / 2 + LANE * (lane - (len(targets) - 1) / 2)
            width = next(wide for most, wide, _ in WIDTHS if counts[importing, imported] <= most)
            found.append((-width, _line(imported, x, start, place[imported], width)))
    arrows = [_arrow(name, *place[name]) for name in shown if any((other, name) in counts for other in shown)]
    return [line for _, line in sorted(found, key=lambda entry: entry[0])] + arrows


def _line(imported: str, x: int, y: float, box: tuple[int, int], width: float) -> str:
    """From the left side of a box to the column of the imported one, and up into it."""
    column, top = box[0] + TRUNK, box[1] + HIGH
    corner = f"H{column + BEND} Q{column} {y:.1f} {column} {y - BEND:.1f}"
    stroke = f'stroke="{FOLDERS[imported].color}" stroke-width="{width}"'
    return f'<path class="line" {stroke} d="M{x} {y:.1f} {corner} V{top}"/>'


def _arrow(name: str, x: int, y: int) -> str:
    """The head of all lines that lead to a box."""
    return f'<path fill="{FOLDERS[name].color}" d="M{x + TRUNK} {y + HIGH} l-5 9 h10 z"/>'


def _box(name: str, x: int, y: int) -> str:
    folder = FOLDERS[name]
    box = f'<rect class="box" x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" stroke="{folder.color}"/>'
    title = f'<text class="name" x="{x + 14}" y="{y + 22}">{name}/</text>'
    words = f'<text x="{x + 14}" y="{y + 41}">{folder.holds}</text>'
    return box + title + words + (_badge(folder.paper, x + WIDE - 22, y + HIGH // 2) if folder.paper else "")


def _badge(paper: str, x: int, y: int) -> str:
    """The number of a paper in the colour of the folder that is made for it."""
    color = {folder.paper: folder.color for folder in FOLDERS.values()}[paper]
    return f'<circle cx="{x}" cy="{y}" r="10" fill="{color}"/><text class="badge" x="{x}" y="{y + 4}">{paper}</text>'


def _legend() -> list[str]:
    y, drawn = MARGIN + 14, []
    for sentence in ("Data flows down the stair,", "imports point up."):
        drawn.append(f'<text class="name" x="{LEGEND}" y="{y}">{sentence}</text>')
        y += 22
    for _, width, words in WIDTHS:
        y += 22
        stroke = f'stroke="{FOLDERS["core"].color}" stroke-width="{width}"'
        drawn.append(f'<path class="line" {stroke} d="M{LEGEND} {y - 4} h34"/>')
        drawn.append(f'<text x="{LEGEND + 44}" y="{y}">{words}</text>')
    y += 12
    for paper, title in PAPERS.items():
        y += 26
        drawn.append(_badge(paper, LEGEND + 10, y - 4) + f'<text x="{LEGEND + 30}" y="{y}">{title}</text>')
    return drawn


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw_architecture(), encoding="utf-8")
