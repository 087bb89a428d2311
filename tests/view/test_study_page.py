"""A rater at the page of a study: a real browser before the real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from osteon.study.plan import question_order

from .page_person import PICTURES, SIZES, Person
from .study_serving import ServedStudy, served_study

SHOWN = "() => window.osteonStudy.pair.engine.character && !document.querySelector('fieldset').disabled"

#: How much the left half differs from the right one at one moment, a channel on average, and how much there is to see.
HALVES = """() => {
  const { engine } = window.osteonStudy.pair;
  engine.pause();
  engine.setTime(0.4);
  engine.draw();
  engine.draw(); // the shadow comes with the second
  const canvas = document.createElement("canvas");
  const { width, height } = Object.assign(canvas, { width: engine.canvas.width, height: engine.canvas.height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(engine.canvas, 0, 0);
  const half = Math.floor(width / 2);
  const [left, right] = [0, half].map((x) => context.getImageData(x, 0, half, height).data);
  let [sum, least, most] = [0, 255, 0];
  left.forEach((value, i) => {
    sum += Math.abs(value - right[i]);
    [least, most] = [Math.min(least, value), Math.max(most, value)];
  });
  return { apart: sum / left.length, contrast: most - least };
}"""


@pytest.fixture
def study(tmp_path: Path) -> Iterator[ServedStudy]:
    with served_study(tmp_path / "study") as running:
        yield running


class RatingPerson(Person):
    """Somebody who rates."""

    def begins(self) -> None:
        self.page.get_by_role("button", name="Begin").click()
        self.sees_pair()

    def sees_pair(self) -> None:
        self.page.wait_for_function(SHOWN)

    def reads(self) -> str:
        return str(self.page.locator(".count").inner_text())

    def token(self) -> str:
        return str(self.page.evaluate("() => window.osteonStudy.rater.token"))

    def waits_for_question(self, number: int) -> None:
        self.page.locator(".count", has_text=f"Question {number} of").wait_for()
        self.sees_pair()

    def keeps(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}-{self.size}.png")


def scores_of(study: ServedStudy) -> list[int]:
    return [answer.score for answer in study.answers.answers()]


def test_a_whole_study_by_mouse_and_keys(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(chromium, study.address)
    bodies: list[str] = []
    person.page.on("response", lambda answer: bodies.append(f"{answer.url} {answer.headers}"))
    person.page.get_by_role("heading", name="How similar").wait_for()
    person.keeps("study-welcome")
    person.begins()
    assert person.reads() == "Question 1 of 4"
    assert person.page.get_by_role("button", name="Next").is_disabled()
    person.page.get_by_text("7", exact=True).click()
    person.keeps("study-question")
    person.page.get_by_role("button", name="Next").click()
    person.waits_for_question(2)
    person.page.keyboard.press("3")
    person.page.keyboard.press("t")  # thinks better of it
    person.page.keyboard.press("Enter")
    person.waits_for_question(3)
    person.page.keyboard.press("Enter")  # nothing is chosen: nothing happens
    person.page.keyboard.press("0")
    person.page.keyboard.press("Enter")
    person.waits_for_question(4)
    person.page.keyboard.press("9")
    person.page.keyboard.press("Enter")
    person.page.get_by_role("heading", name="Thank you").wait_for()
    person.keeps("study-thanks")
    assert scores_of(study) == [7, 10, 0, 9]
    order = question_order(person.token(), 4)
    assert [answer.number for answer in study.answers.answers()] == order
    assert not [body for body in bodies if re.search("ssd|noise|secret", body)]
    person.leaves()


def test_nothing_the_browser_gets_names_a_candidate(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(chromium, study.address)
    person.begins()
    state = person.page.evaluate("() => window.osteonStudy.state")
    assert set(state) == {"questions", "answered", "next"}
    assert set(state["next"]) == {"number", "original", "copy", "direction"}
    for part in ("original", "copy"):
        pack = person.page.request.get(f"{study.address}pack/{state['next'][part]}").body()
        header = pack[12 : 12 + int.from_bytes(pack[8:12], "little")]
        assert json.loads(header)["kind"] == "sequence"
        assert not re.search(rb"ssd|noise|secret|tube", header)
    person.leaves()


def test_a_rater_goes_on_where_he_stopped_and_the_next_one_begins(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(chromium, study.address, "small")
    person.begins()
    token = person.token()
    for number in (1, 2):
        person.waits_for_question(number)
        person.page.keyboard.press("5")
        person.page.keyboard.press("Enter")
    person.waits_for_question(3)
    person.page.reload()
    person.waits_for_question(3)
    assert person.token() == token
    for number in (3, 4):
        person.waits_for_question(number)
        person.page.keyboard.press("6")
        person.page.keyboard.press("Enter")
    person.page.get_by_role("button", name="Another person").click()
    person.begins()
    assert person.token() != token
    assert person.reads() == "Question 1 of 4"
    assert study.answers.counts() == (4, 1)
    person.leaves()


def test_two_tabs_answer_a_question_once(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(chromium, study.address, "small")
    person.begins()
    answer = {"rater": person.token(), "number": 1, "score": 2}
    assert person.page.request.post(f"{study.address}answer", data=answer).status == 200
    assert person.page.request.post(f"{study.address}answer", data=answer).status == 409
    person.page.keyboard.press("8")
    person.page.keyboard.press("Enter")
    person.waits_for_question(2)
    assert scores_of(study) == [2]
    assert all("409" in text for text in person.complaints)
    person.context.close()


def test_both_halves_play_in_step_from_where_the_question_says(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(chromium, study.address, "small")
    person.begins()
    found = person.page.evaluate(
        """() => {
          const { pair, state } = window.osteonStudy;
          const { orbitCamera, character, view } = pair.engine;
          const seen = orbitCamera.camera.position.clone().sub(orbitCamera.controls.target).normalize().toArray();
          const moment = { first: 3, second: 4, between: 0.5 };
          const [a, b] = ["source", "result"].map((role) => [...character.positionsOf(role, moment, [0, 1, 2])]);
          const how = { playing: pair.engine.playing, mode: view.mode, turns: orbitCamera.controls.enabled };
          return { seen, asked: state.next.direction, a, b, ...how };
        }"""
    )
    length = sum(x * x for x in found["asked"]) ** 0.5
    assert found["seen"] == pytest.approx([x / length for x in found["asked"]], abs=1e-3)
    assert found["a"] == pytest.approx(found["b"], abs=0.2)
    assert found["playing"]
    assert found["mode"] == "side"
    assert not found["turns"]
    person.leaves()


def test_on_a_phone_all_answers_are_within_reach(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(chromium, study.address, "phone")
    person.keeps("study-welcome")
    person.begins()
    assert person.page.locator("#stage.stacked").count() == 1
    width, height = SIZES["phone"]
    for score in range(11):
        box = person.page.locator(f"label[for=score-{score}]").bounding_box()
        assert box["width"] >= 44
        assert box["height"] >= 44
        assert 0 <= box["x"] <= width - box["width"]
        assert box["y"] + box["height"] <= height
    person.page.locator("label[for=score-10]").tap()
    person.keeps("study-question")
    person.page.get_by_role("button", name="Next").tap()
    person.waits_for_question(2)
    assert scores_of(study) == [10]
    assert not person.nameless()
    person.leaves()


def test_the_halves_show_what_they_should(chromium: Any, study: ServedStudy) -> None:
    """A copy that is exact looks like the original; one that shakes does not."""
    person = RatingPerson(chromium, study.address, "small")
    person.begins()
    apart: dict[str, float] = {}
    for number in range(1, 5):
        person.waits_for_question(number)
        candidate = study.answers.questions[question_order(person.token(), 4)[number - 1]].candidate
        found = person.page.evaluate(HALVES)
        assert found["contrast"] > 60  # there is something to see
        apart[candidate] = found["apart"]
        person.page.keyboard.press("4")
        person.page.keyboard.press("Enter")
    assert apart["ssd"] < 0.2
    assert 5 * apart["ssd"] + 0.2 < apart["noise"]
    person.page.get_by_role("heading", name="Thank you").wait_for()
    person.leaves()


def test_a_line_that_breaks_costs_nothing(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(chromium, study.address, "small")
    person.begins()
    person.page.keyboard.press("8")
    person.context.set_offline(True)
    person.page.keyboard.press("Enter")
    person.page.get_by_text("The server does not answer").wait_for()
    assert person.reads() == "Question 1 of 4"
    person.context.set_offline(False)
    person.page.keyboard.press("Enter")  # the choice still stands
    person.waits_for_question(2)
    assert scores_of(study) == [8]
    person.context.close()


def test_a_browser_that_cannot_draw_is_told_so(chromium: Any, study: ServedStudy) -> None:
    person = RatingPerson(
        chromium, study.address, "small", before="HTMLCanvasElement.prototype.getContext = () => null"
    )
    person.page.get_by_role("button", name="Begin").click()
    person.page.get_by_text("This browser cannot draw").wait_for()
    assert person.page.get_by_role("button", name="Try again").is_visible()
    assert not person.page.locator(".scale").is_visible()
    person.context.close()
