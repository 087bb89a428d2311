"""The user experiment: figure 9 and Table 1, of simulated answers, with the tests of `osteon study report`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.papers.entries import Compared, Drawing, Shown, Table
from osteon.papers.mesh_approximation.comparisons import MODELS, Animation, four_animations
from osteon.papers.run import PaperRun
from osteon.report.charts import Axis, box_chart
from osteon.report.page_parts import number
from osteon.study.answers import HIGHEST, Answer
from osteon.study.plan import VIEWS, Question
from osteon.study.report_page import box_of
from osteon.study.results import Comparison, RatingSummary, StudyResults, compare_ratings

#: Raters of the paper, and what it prints: answers, mean and deviation for each model.
RATERS = 19
PRINTED = {
    "ssd": RatingSummary("SSD", 152, 7.875, 2.09165),
    "as": RatingSummary("Animation Space", 152, 8.881579, 1.306804),
    "mwe": RatingSummary("Multi-Weight Enveloping", 152, 6.289474, 2.633537),
}
#: Rows of the printed table: first and second group, t, p, ratio of variances and its p.
PRINTED_TESTS = (
    ("ssd", "as", -5.03176, 0.000001, 2.561869, 0.0),
    ("mwe", "ssd", -5.8124, 0.0, 1.585261, 0.004895),
    ("mwe", "as", -10.8702, 0.0, 4.061231, 0.0),
)
#: Labels of models in the plot that are shorter than their names.
SHORT = {"mwe": "Multi-Weight"}
#: Of simulated raters: the deviation (% of the diagonal) that costs a point, points per doubling, and deviations of the
#: rater's own scale and of single answers.
NOTICED, LOST, OWN, SCATTER, SEED = 0.02, 1.1, 0.5, 1.1, 3


def simulated(run: PaperRun) -> StudyResults:
    """Answers of simulated raters: a point is lost for every doubling of a model's deviation in unseen poses."""
    return run.once("simulated raters", lambda: answers_about(four_animations(run)))


def answers_about(animations: tuple[Animation, ...]) -> StudyResults:
    """Seeded answers of simulated raters about models of several animations."""
    rng = np.random.default_rng(SEED)
    questions = tuple(
        Question(animation.name, MODELS[word], view) for animation in animations for word in PRINTED for view in VIEWS
    )
    seen = {(one.name, MODELS[word]): _visible(one, word) for one in animations for word in PRINTED}
    answers = []
    for rater in range(1, RATERS + 1):
        own = rng.normal(0, OWN)
        for k, question in enumerate(questions):
            lost = LOST * np.log2(1 + seen[question.character, question.candidate] / NOTICED)
            score = round(float(np.clip(HIGHEST - lost + own + rng.normal(0, SCATTER), 0, HIGHEST)))
            answers.append(Answer(rater, k, question, score, ""))
    return StudyResults("simulated", questions, tuple(answers))


def _visible(animation: Animation, word: str) -> float:
    """Mean deviation in unseen poses, percent of the diagonal."""
    off = animation.result(word).unseen.deviation
    return off.percent(off.mean)


NOT_PEOPLE = (
    "The raters are simulated with a fixed seed, not real people: each loses about a point when the measured deviation "
    "of a model in unseen poses doubles, with scatter. The figure shows what osteon study report makes of such "
    "answers, not how people see the models."
)


def box_plot(run: PaperRun) -> Shown:
    """Figure 9: box and whisker plot of the answers."""
    results = simulated(run)
    found = [(word, box_of(results.of(name))) for word, name in MODELS.items()]
    boxes = [replace(box, label=SHORT.get(word, box.label)) for word, box in found if box is not None]
    svg = box_chart(boxes, title="Ratings", x=Axis("model"), y=Axis("rating"), high=HIGHEST)
    head = ("model", "mean", "deviation", "median", "answers")
    rows, compared = [], []
    for word, name in MODELS.items():
        summary, printed = results.of(name).summary, PRINTED[word]
        assert summary.mean is not None
        assert summary.deviation is not None
        assert printed.mean is not None
        box = results.of(name).quartiles
        median = "-" if box is None else number(box.median)
        rows.append((name, number(summary.mean), number(summary.deviation), median, str(summary.count)))
        why = "Simulated raters, and our fit of the models on other animations."
        compared.append(Compared(f"{name}: mean rating", printed.mean, summary.mean, "section 4.2", why=why))
    note = "Box: the middle half of the answers. Whiskers: within one and a half boxes. Diamond: mean and its interval."
    drawing = Drawing("Ratings", svg, (), note, head, tuple(rows))
    text = f"{len(results.answers)} answers of {results.n_raters} raters. {NOT_PEOPLE}"
    return Shown(text, (drawing,), tuple(compared), results.to_json())


HEAD = ("group 1 and group 2", "mean 1", "mean 2", "t", "df", "p", "N 1", "N 2", "SD 1", "SD 2", "F", "p of F")


def table_1(run: PaperRun) -> Shown:
    """Table 1: tests of all pairs, printed, of the printed means, and of simulated answers."""
    results = simulated(run)
    rows, compared, facts = [], [], {}
    for first, second, t, p, ratio, p_ratio in PRINTED_TESTS:
        one, other = PRINTED[first], PRINTED[second]
        names = f"{one.name} and {other.name}"
        printed = Comparison(one.name, other.name, one.count + other.count - 2, t, p, ratio, p_ratio)
        again = compare_ratings(one, other)
        left, right = (results.of(MODELS[word]).summary for word in (first, second))
        found = compare_ratings(left, right)
        rows += [
            _row(f"{names} (paper)", one, other, printed),
            _row("from the printed means", one, other, again),
            _row("simulated raters", left, right, found),
        ]
        assert again.t is not None
        assert again.f_ratio is not None
        why = "Rounding of the printed means and deviations."
        compared.append(Compared(f"{names}: t from the printed means", t, again.t, "Table 1", why=why))
        compared.append(Compared(f"{names}: F from the printed deviations", ratio, again.f_ratio, "Table 1", why=why))
        facts[names] = {"t": found.t, "p": found.p, "again": again.t}
    table = Table(HEAD, tuple(rows), frozenset(range(0, len(rows), 3)), note="Student's test with pooled variance.")
    text = (
        "Each pair of models three times: as printed; our tests applied to the printed means, deviations and counts; "
        f"and our tests of simulated answers. {NOT_PEOPLE}"
    )
    return Shown(text, (table,), tuple(compared), facts)


def _row(name: str, one: RatingSummary, other: RatingSummary, found: Comparison) -> tuple[str, ...]:
    values = (one.mean, other.mean, found.t, found.degrees, found.p, one.count, other.count)
    more = (one.deviation, other.deviation, found.f_ratio, found.p_variances)
    return (name, *("-" if value is None else _written(float(value)) for value in (*values, *more)))


def _written(value: float) -> str:
    return "< 1e-6" if 0 < abs(value) < 1e-6 else number(value)
