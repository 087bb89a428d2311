"""Plans and answer files of studies that need no meshes."""

from __future__ import annotations

from pathlib import Path

from osteon.study.answers import AnswerFile, create_answer_file
from osteon.study.plan import StudyCharacter, StudyPlan

FINGERPRINT = "0123456789abcdef" * 4


def paper_plan(characters: int = 4) -> StudyPlan:
    """Characters with the three frameworks of the paper."""
    return StudyPlan(
        tuple(
            StudyCharacter(f"character {i}", f"{i}.npz", {name: f"{i}-{name}.npz" for name in ("ssd", "as", "mwe")})
            for i in range(characters)
        )
    )


def token_of(number: int) -> str:
    return f"{number:032x}"


def open_answers(path: Path, plan: StudyPlan) -> AnswerFile:
    """A new file of answers, ready to be written."""
    create_answer_file(path, plan, FINGERPRINT)
    answers = AnswerFile(path)
    answers.begin_writing(FINGERPRINT, plan.questions)
    return answers
