"""The questions of a study: every candidate of every character from two viewing directions, in an order per rater.

A study of one character is described on the command line, a study of several by a study file: JSON, with file names
relative to it:

    {"characters": [
        {"name": "horse", "reference": "horse/", "candidates": {"ssd": "horse-ssd.glb", "as": "horse-as.npz"}},
        {"name": "arm", "reference": "arm.npz", "candidates": {"ssd": "arm-ssd.glb", "as": "arm-as.npz"}}]}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.core.errors import FileFormatError, OptionError
from osteon.io.save.overwriting import input_files

#: Directions from the character to the camera: three-quarter views, slightly from above. +z is the front.
VIEWS: dict[str, tuple[float, float, float]] = {"front": (0.62, 0.3, 0.72), "back": (-0.62, 0.3, -0.72)}
#: Largest study file, in bytes.
LARGEST = 1_000_000
#: Largest number of questions per rater.
MOST_QUESTIONS = 1000


@dataclass(frozen=True, slots=True)
class StudyCharacter:
    """An original animation and the candidates that are compared with it."""

    name: str
    reference: str
    candidates: dict[str, str]  # by name: a model, or a sequence of the same vertices


@dataclass(frozen=True, slots=True)
class Question:
    """A candidate of a character, viewed from one side."""

    character: str
    candidate: str
    view: str


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """All characters of a study; each has the same candidates in the same order."""

    characters: tuple[StudyCharacter, ...]

    def __post_init__(self) -> None:
        names = [character.name for character in self.characters]
        _check_names("character", names)
        _check_names("candidate", self.candidates)
        for character in self.characters[1:]:
            if set(character.candidates) != set(self.candidates):
                raise OptionError(
                    f"character '{character.name}': has the candidates {', '.join(character.candidates)}, but "
                    f"'{names[0]}' has {', '.join(self.candidates)}; every character needs the same ones"
                )
        if len(self.questions) > MOST_QUESTIONS:
            raise OptionError(f"the study has {len(self.questions)} questions; at most {MOST_QUESTIONS} are possible")

    @property
    def candidates(self) -> list[str]:
        return list(self.characters[0].candidates)

    @property
    def questions(self) -> list[Question]:
        return [
            Question(character.name, candidate, view)
            for character in self.characters
            for candidate in self.candidates
            for view in VIEWS
        ]

    @property
    def inputs(self) -> list[str]:
        """All files that are read."""
        return [name for c in self.characters for name in (c.reference, *c.candidates.values())]

    def fingerprint(self) -> str:
        """A hash of the names and of the contents of all files, which identifies the study."""
        digest = hashlib.sha256(json.dumps(VIEWS).encode())
        for character in self.characters:
            digest.update(f"\0{character.name}\0".encode())
            digest.update(_file_digest(character.reference))
            for name in self.candidates:
                digest.update(f"\0{name}\0".encode())
                digest.update(_file_digest(character.candidates[name]))
        return digest.hexdigest()


def plan_character(reference: str, candidates: Sequence[str], names: Sequence[str]) -> StudyPlan:
    """A study of one character; candidates are named by `names`, or after their files if there are none."""
    if not candidates:
        raise OptionError("name a reference and at least one candidate, or a study file that ends in .json")
    if names and len(names) != len(candidates):
        raise OptionError(f"--names: expected {len(candidates)}, one for each candidate, got {len(names)}")
    labels = list(names) or [_stem(candidate) for candidate in candidates]
    _check_names("candidate", labels, "; name them with --names")
    return StudyPlan((StudyCharacter(_stem(reference), reference, dict(zip(labels, candidates, strict=True))),))


def read_study_file(path: Path) -> StudyPlan:
    """The characters that a study file lists."""
    try:
        if path.stat().st_size > LARGEST:
            raise FileFormatError(f"{path}: is too large for a study file; expected JSON with a list 'characters'")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is not JSON; expected a study file with a list 'characters'") from error
    listed = found.get("characters") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not listed:
        raise FileFormatError(f"{path}: expected an object with a list 'characters', see `osteon study run --help`")
    try:
        return StudyPlan(tuple(_character(path, index, one) for index, one in enumerate(listed, 1)))
    except OptionError as error:
        raise FileFormatError(f"{path}: {error}") from error


def question_order(token: str, count: int) -> list[int]:
    """The order of questions 0 … count - 1 for a rater: pseudo-random, and the same for the same token."""
    return sorted(range(count), key=lambda question: hashlib.sha256(f"{token} {question}".encode()).digest())


def _character(path: Path, index: int, found: Any) -> StudyCharacter:
    """One entry of a study file."""
    parts = found if isinstance(found, dict) else {}
    name, reference, candidates = parts.get("name"), parts.get("reference"), parts.get("candidates")
    texts = [name, reference, *(candidates.values() if isinstance(candidates, dict) else [None])]
    if not all(isinstance(text, str) and text for text in texts) or not isinstance(candidates, dict) or not candidates:
        raise FileFormatError(
            f"{path}: character {index} needs 'name', 'reference' and 'candidates', an object of files by name"
        )
    unknown = sorted(set(parts) - {"name", "reference", "candidates"})
    if unknown:
        raise FileFormatError(f"{path}: character {index} has '{unknown[0]}', which has no effect; omit it")
    files = {label: str(path.parent / file) for label, file in candidates.items()}
    return StudyCharacter(str(name), str(path.parent / str(reference)), files)


def _check_names(what: str, names: Sequence[str], advice: str = "") -> None:
    """Refuse empty names and duplicate names."""
    for name in names:
        if not name.strip() or name != name.strip() or any(ord(letter) < 32 for letter in name):
            raise OptionError(f"the {what} name '{name}' is empty or has blanks around it{advice}")
        if names.count(name) > 1:
            raise OptionError(f"two {what}s are called '{name}'{advice}")


def _stem(name: str) -> str:
    """The name of a file without suffix, or of a folder."""
    path = Path(name)
    return path.stem or path.resolve().name


def _file_digest(name: str) -> bytes:
    """Hash of all files that an input refers to."""
    digest = hashlib.sha256()
    for file in input_files([name]):
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.digest()
