"""What a report proposes, as HTML: fits that were made and weighed, then what else stands out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from osteon.report.advice import Advice
from osteon.report.numbers import number, percent
from osteon.report.sections import bytes_text
from osteon.report.trials import Trial, proposals

__all__ = ["advice_list", "proposal_table"]


def proposal_table(own: Trial | None, trials: Sequence[Trial]) -> str:
    """What to change, each with the error and the size that it gave."""
    if own is None or not trials:
        return ""
    kept = proposals(own, trials)
    done = f"{len(trials)} whole fit{'s' if len(trials) > 1 else ''} with other options"
    if not kept:
        return f"<p>{done}: none was clearly closer to the source or clearly smaller than this model.</p>"
    rows = "".join(_proposal(trial, own) for trial in (own, *kept))
    return (
        '<div class="proposals"><table><thead><tr><th scope="col">change</th><th scope="col">E, % of the motion</th>'
        f'<th scope="col">file</th></tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="note">Measured, not guessed: {done}, of all vertices and frames, and the files that they give. '
        "Add the option to the same command, in place of what it changes there.</p>"
    )


def _proposal(trial: Trial, own: Trial) -> str:
    code = f" <code>{escape(trial.option)}</code>" if trial.option else ""
    error, size = (
        _times(mine, its) for mine, its in ((trial.error_percent, own.error_percent), (trial.bytes, own.bytes))
    )
    return (
        f"<tr><td>{escape(trial.name)}{code}</td><td>{percent(trial.error_percent)}{error}</td>"
        f"<td>{bytes_text(trial.bytes)}{size}</td></tr>"
    )


def _times(value: float, own: float) -> str:
    """How many times the model's own value; nothing for the model itself."""
    return "" if value == own or own <= 0 else f"<small>{number(float(f'{value / own:.2g}'))} ×</small>"


def advice_list(advice: Sequence[Advice]) -> str:
    """What the measurements point to, in order."""
    items = "".join(f"<li>{escape(a.sentence)}</li>" for a in advice)
    return f'<h3>What stands out</h3><ul class="advice">{items}</ul>' if items else ""
