"""The results of a study as one HTML file: means, a box and whisker plot, and every pair of candidates tested twice."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from osteon import __version__
from osteon.io.save.atomic import atomic_file
from osteon.report.charts import Axis, Box, box_chart
from osteon.report.page_parts import section, table, whole_page
from osteon.study.answers import HIGHEST
from osteon.study.paired import PairedComparison
from osteon.study.results import CandidateResult, Comparison, StudyResults

#: Differences with a smaller p are reported as significant.
SIGNIFICANT = 0.05
STYLE = """.rows { max-height: none; }
.plot-wide { max-width: 660px; margin-top: 1.4rem; }
th, td { padding-right: 1.2rem; }
@media (max-width: 640px) { th, td { padding-right: .7rem; font-size: .85rem; } }
td:first-child { white-space: nowrap; }
h3.next { margin-top: 1.6rem; }
.notes li { margin-bottom: .3rem; }"""


def write_study_page(path: Path, results: StudyResults) -> None:
    """Write the report; the file appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(build_study_page(results), encoding="utf-8")


def build_study_page(results: StudyResults) -> str:
    """The whole page as text."""
    sections = (
        section("How similar people found them", _ratings(results.results)),
        section("Do the candidates differ?", _pairs(results.paired, results.comparisons)),
        section("By character and by side", _parts(results)),
    )
    head = f'<h1>{escape(results.name)}</h1><p class="verdict">{_verdict(results)}</p>{_counts(results)}'
    body = f"<header>{head}</header><main>{''.join(sections)}</main>{_footer()}"
    return whole_page(f"{results.name}: how similar?", body, STYLE)


def _verdict(results: StudyResults) -> str:
    """The candidate with the highest mean, and whether the next one differs significantly."""
    rated = [r.summary for r in results.results if r.summary.mean is not None]
    if not rated:
        return "There are no answers yet."
    best, *others = sorted(rated, key=lambda s: -(s.mean or 0.0))
    verdict = (
        f'<strong class="good">{escape(best.name)}</strong> was found most similar: {_digits(best.mean)} of {HIGHEST}'
    )
    if not others:
        return f"{verdict}, on average."
    equal = [s.name for s in rated if s.mean == best.mean]
    if len(equal) > 1:
        return f"{escape(_listed(equal))} were found equally similar: {_digits(best.mean)} of {HIGHEST}, on average."
    pair = {best.name, others[0].name}
    p, how = _decisive(results, pair)
    next_best = f"{escape(others[0].name)} {_digits(others[0].mean)}"
    if p is None:
        return f"{verdict}, then {next_best}; there are too few answers to decide whether they differ."
    real = "they differ" if p < SIGNIFICANT else "that may be chance"
    return f"{verdict}, then {next_best}; {real} (p {_probability(p)}, {how})."


def _decisive(results: StudyResults, pair: set[str]) -> tuple[float | None, str]:
    """The p of the test that suits the answers best, and its name: within raters, if there are two or more."""
    within = next(c for c in results.paired if {c.first, c.second} == pair)
    if within.p_corrected is not None:
        return within.p_corrected, "paired t within raters, corrected for the number of pairs"
    student = next(c for c in results.comparisons if {c.first, c.second} == pair)
    return student.p, "Student's t of all answers"


def _counts(results: StudyResults) -> str:
    raters, finished = results.n_raters, results.n_finished
    people = f"{raters} {'person' if raters == 1 else 'people'}"
    return (
        f"<p>{len(results.answers):,} answers of {people}, of whom {finished} answered all {len(results.questions)} "
        f"questions: {len(results.characters)} × {len(results.candidates)} animations (characters × candidates), seen "
        f"from {len(results.views)} sides.</p>"
    )


def _ratings(found: Sequence[CandidateResult]) -> str:
    head = ("candidate", "mean", "deviation", "95 % interval", "median", "answers")
    boxes = [box for result in found if (box := box_of(result)) is not None]
    notes = [f"{result.summary.name}: {result.summary.reason}" for result in found if result.summary.reason]
    chart = ""
    if boxes:
        plot = box_chart(boxes, title="Ratings of every candidate", x=Axis("candidate"), y=Axis("rating"), high=HIGHEST)
        chart = (
            f'<figure class="plot-wide"><h3>Ratings of every candidate</h3>{plot}'
            '<p class="readout" aria-live="polite"></p><figcaption>Box: the middle half of the answers, the median as '
            "a thick line. Whiskers: the farthest answers within one and a half boxes; rings: answers beyond. "
            "Diamond: the mean, between the ends of its 95 % interval.</figcaption></figure>"
        )
    return table(head, [_row(result) for result in found]) + _notes(notes) + chart


def _row(result: CandidateResult) -> tuple[str, ...]:
    summary, box = result.summary, result.quartiles
    interval = _between(summary.interval)
    median = "–" if box is None else f"{box.median:g}"
    return summary.name, _digits(summary.mean), _digits(summary.deviation), interval, median, str(summary.count)


def box_of(result: CandidateResult) -> Box | None:
    """The box of a candidate's answers; None without answers."""
    summary, box = result.summary, result.quartiles
    if box is None or summary.mean is None:
        return None
    readout = (
        f"{summary.name}: mean {_digits(summary.mean)}, median {box.median:g}, half from {box.first:g} to {box.third:g}"
    )
    return Box(
        summary.name,
        low=box.low,
        first=box.first,
        median=box.median,
        third=box.third,
        high=box.high,
        mean=summary.mean,
        interval=summary.interval,
        outliers=box.outliers,
        readout=f"{readout}, {summary.count} answers",
    )


def _pairs(paired: Sequence[PairedComparison], comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return ""
    notes = [f"{c.first} against {c.second}: {c.reason}" for c in paired if c.reason]
    within = (
        "<h3>Within raters</h3><p>Every rater gives one difference: the mean over scenes rated with both candidates, "
        "seen from the same side. So it does not matter that some people rate everything higher. The intervals hold "
        "all differences of the table together with 95 %. p is two-sided, and corrected for the number of pairs "
        "(Holm). The paired t, with one degree of freedom fewer than there are raters, assumes nearly normal "
        "differences, Wilcoxon's signed ranks only symmetric ones. "
        "Effect: the difference over its deviation between raters, with its 95 % interval. Ranks: their "
        "correlation, 1 if the first candidate always wins.</p>"
        f"{table(_WITHIN, [_within_row(c) for c in paired])}{_notes(notes)}"
    )
    return within + _independent(comparisons)


_WITHIN = ("pair", "raters", "difference", "interval", "effect", "paired t", "p", "ranks", "p of the ranks")


def _within_row(found: PairedComparison) -> tuple[str, ...]:
    effect = "–"
    if found.effect is not None:
        effect = f"{found.effect:.2f} {_between(found.effect_interval)}".removesuffix(" –")
    return (
        f"{found.first} − {found.second}",
        str(found.raters),
        "–" if found.difference is None else f"{found.difference:+.2f}",
        _between(found.interval_together),
        effect,
        "–" if found.t is None else f"{found.t:.3f}",
        _probability(found.p_corrected),
        "–" if found.correlation is None else f"{found.correlation:+.2f}",
        _probability(found.p_ranks_corrected),
    )


def _between(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else "[{:.2f}; {:.2f}]".format(*interval)


def _independent(comparisons: Sequence[Comparison]) -> str:
    """The tests of the paper, which take all answers to be independent."""
    head = ("pair", "t", "df", "p", "F of the variances", "p of F")
    rows = [
        (
            f"{c.first} against {c.second}",
            "–" if c.t is None else f"{c.t:.4f}",
            "–" if c.degrees is None else str(c.degrees),
            _probability(c.p),
            "–" if c.f_ratio is None else f"{c.f_ratio:.4f}",
            _probability(c.p_variances),
        )
        for c in comparisons
    ]
    notes = [f"{c.first} against {c.second}: {c.reason}" for c in comparisons if c.reason]
    return (
        '<h3 class="next">Independent samples, as in the paper</h3>'
        "<p>t tests whether two means differ, with pooled variance; F is the larger variance over the smaller. "
        "Both p are two-sided and not corrected: how likely such a difference is where there is none.</p>"
        f"{table(head, rows)}{_notes(notes)}"
    )


def _parts(results: StudyResults) -> str:
    """Means per character and per side, where there are several."""
    shown = [("character", results.characters), ("view", results.views)]
    tables = []
    for key, names in shown:
        if len(names) < 2:
            continue
        rows = [(name, *(_part_mean(results, c, key, name) for c in results.candidates)) for name in names]
        tables.append(table(({"view": "side"}.get(key, key), *results.candidates), rows))
    return f'<p>Means with the number of answers.</p><div class="beside">{"".join(tables)}</div>' if tables else ""


def _part_mean(results: StudyResults, candidate: str, key: str, name: str) -> str:
    summary = results.of(candidate, lambda question: getattr(question, key) == name).summary
    return "–" if summary.mean is None else f"{_digits(summary.mean)} ({summary.count})"


def _notes(notes: Sequence[str]) -> str:
    lines = "".join(f"<li>{escape(note)}.</li>" for note in notes)
    return f'<ul class="note notes">{lines}</ul>' if lines else ""


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _digits(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _probability(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.000001" if p < 1e-6 else f"{p:.6f}"


def _footer() -> str:
    return (
        "<footer><p>Asked and tested as in <cite>Mesh Approximation for Animated Characters</cite>, sections 3.2.2 and "
        "4.2: each answer is a sample. The tests of independent samples ignore that answers of one person are related; "
        f"those within raters do not.</p><p>Osteon {escape(__version__)}.</p></footer>"
    )
