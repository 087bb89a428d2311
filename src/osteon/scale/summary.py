"""The summary of a batch: a table for the terminal, `summary.json`, and one HTML page sorted by error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

from osteon.core.progress import duration_text
from osteon.report.page_parts import number, section, whole_page
from osteon.scale.batch import BatchResult
from osteon.scale.ledger import Record
from osteon.scale.manifest import Asset

_STYLE = """
td.fail{color:var(--alarm)} table.assets td:not(:nth-child(1)):not(:last-child){text-align:right}
table.assets img{display:block;width:96px;height:72px;object-fit:contain}
#failed th:nth-child(2),#failed td.fail{text-align:left}
"""


def summary_json(assets: Sequence[Asset], result: BatchResult) -> dict[str, Any]:
    """Counts, and the record of every asset."""
    rows = []
    for asset, record in zip(assets, result.records, strict=True):
        rows.append(
            {
                "name": asset.name,
                "command": asset.command,
                "state": record.state,
                "output": asset.output if record.state == "finished" else None,
                "reason": record.reason or None,
                "exit_code": record.exit_code,
                "seconds": round(record.seconds, 3),
                "attempts": record.attempts,
                "deaths": record.deaths,
                "runs": record.runs,
                "bytes": sum(file.size for file in record.files if file.path.startswith(asset.output.rstrip("/"))),
                **record.facts,
            }
        )
    return {**counts_of(result.records), "kept": result.kept, "seconds": round(result.seconds, 3), "assets": rows}


def counts_of(records: Sequence[Record]) -> dict[str, int]:
    """Number of assets by state."""
    states = ("finished", "failed", "running", "waiting")
    found: Counter[str] = Counter("running" if record.state == "placing" else record.state for record in records)
    return {state: found[state] for state in states}


def failure_lines(records: Sequence[Record]) -> list[str]:
    """A line per asset that has failed."""
    return [f"{record.name}: {record.reason}" for record in records if record.state == "failed"]


def summary_page(title: str, summary: dict[str, Any], pictures: dict[str, str], *, live: bool = False) -> str:
    """The page: failed assets first, then by error, the largest first; `pictures` are data addresses by name."""
    failed = [row for row in summary["assets"] if row["state"] == "failed"]
    done = [row for row in summary["assets"] if row["state"] == "finished"]
    done.sort(key=lambda row: -row.get("error_percent", -1.0))
    left = len(summary["assets"]) - len(failed) - len(done)
    text = f"{len(done)} finished, {len(failed)} failed" + (f", {left} left" if left else "")
    head = f"<header><h1>{escape(title)}</h1><p>{text}, in {duration_text(summary['seconds'])}.</p></header>"
    body = section("Failed", _failed_table(failed), "failed") + section("Finished", _done_table(done, pictures), "done")
    refresh = '<meta http-equiv="refresh" content="10">' if live else ""
    return whole_page(title, f"{refresh}{head}<main>{body}</main>", _STYLE)


def _failed_table(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    cells = "".join(
        f'<tr><th scope="row">{escape(row["name"])}</th><td class="fail">{escape(row["reason"] or "")}</td>'
        f'<td>{row["attempts"]}</td><td><a href="logs/{escape(row["name"])}.txt">log</a></td></tr>'
        for row in rows
    )
    head = "<tr><th>asset</th><th>reason</th><th>attempts</th><th></th></tr>"
    return f'<div class="rows" tabindex="0"><table><thead>{head}</thead><tbody>{cells}</tbody></table></div>'


def _done_table(rows: Sequence[dict[str, Any]], pictures: dict[str, str]) -> str:
    if not rows:
        return ""
    columns = ["asset", "E %", "bones", "frames", "vertices", "kB", "seconds", "files"]
    if pictures:
        columns.insert(1, "")
    head = "".join(f"<th>{name}</th>" for name in columns)
    cells = "".join(_done_row(row, pictures) for row in rows)
    table = f'<table class="assets"><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>'
    return f'<div class="rows" tabindex="0">{table}</div>'


def _done_row(row: dict[str, Any], pictures: dict[str, str]) -> str:
    name = row["name"]
    values = [
        number(row["error_percent"]) if "error_percent" in row else "",
        *(f"{row[key]:,}" if key in row else "" for key in ("bones", "frames", "vertices")),
        f"{row['bytes'] / 1000:,.0f}",
        f"{row['seconds']:.1f}",
    ]
    picture = ""
    if pictures:
        picture = f'<td><img src="{pictures[name]}" alt=""></td>' if name in pictures else "<td></td>"
    links = f'<a href="{escape(row["output"])}">output</a> <a href="reports/{escape(name)}.json">report</a>'
    note = f" {escape(row['reason'])}" if row["reason"] else ""
    body = "".join(f"<td>{value}</td>" for value in values)
    return f'<tr><th scope="row">{escape(name)}</th>{picture}{body}<td>{links}{note}</td></tr>'
