"""What a report proposes, as HTML: fits that were made and weighed, then what else stands out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from osteon.pipeline.options import Try
from osteon.report.advice import Advice
from osteon.report.curves import Trial, proposals
from osteon.report.numbers import percent, share
from osteon.report.sections import bytes_text

__all__ = ["advice_list", "proposal_table", "tries_table"]


def proposal_table(own: Trial | None, trials: Sequence[Trial], max_bytes: int | None = None) -> str:
    """What to change, each with the error and the size that it gave; nothing larger than was asked for."""
    if own is None or not trials:
        return ""
    kept = proposals(own, trials, max_bytes)
    fits = "a whole fit" if len(trials) == 1 else f"{len(trials)} whole fits"
    if not kept:
        tried = " and ".join(f"<code>{escape(trial.option)}</code>" for trial in trials)
        return f"<p>Tried: {tried}. Neither clearly closer to the source nor clearly smaller than this model.</p>"
    rows = "".join(_proposal(trial, own) for trial in (own, *kept))
    return (
        '<div class="proposals"><table><thead><tr><th scope="col">change</th>'
        '<th scope="col">E<small>% of the motion</small></th><th scope="col">file</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        f'<p class="note">Measured, not guessed: {fits} of all vertices and frames, and the file written of each. Add '
        "the option to the same command, in place of what it changes there; small figures compare with this model."
        "</p></div>"
    )


def tries_table(tries: Sequence[Try]) -> str:
    """The files that a search measured, the smallest first."""
    if not tries:
        return ""
    rows = "".join(
        f"<tr><td>{t.bones}</td><td>{t.rank}</td><td>{t.normal_rank}</td><td>{percent(t.error_percent)}</td>"
        f"<td>{t.shading:.3g}°</td><td>{bytes_text(t.bytes)}</td></tr>"
        for t in sorted(set(tries), key=lambda t: t.bytes)
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("bones", "rank", "normal rank", "E", "shading", "file"))
    return (
        f'<div class="proposals"><h3>What the search measured</h3><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _proposal(trial: Trial, own: Trial) -> str:
    code = f" <code>{escape(trial.option)}</code>" if trial.option else ""
    error = _change(trial.error_percent, own.error_percent)
    size = _change(trial.bytes, own.bytes)
    return (
        f"<tr><td>{escape(trial.name)}{code}</td><td>{percent(trial.error_percent)}{error}</td>"
        f"<td>{bytes_text(trial.bytes)}{size}</td></tr>"
    )


def _change(value: float, own: float) -> str:
    """How much more or less than the model's own value; nothing for the model itself."""
    if value == own or own <= 0:
        return ""
    more = value / own - 1
    return f"<small>{'+' if more > 0 else '−'}{share(abs(more))}</small>"


def advice_list(advice: Sequence[Advice]) -> str:
    """What the measurements point to, in order."""
    items = "".join(f"<li>{escape(a.sentence)}</li>" for a in advice)
    return f'<div><h3>What stands out</h3><ul class="advice">{items}</ul></div>' if items else ""
