"""A small study and its server: a tube that bends, a copy that is exact and one that shakes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.io import save_model, save_sequence
from osteon.study.animations import prepare_animations
from osteon.study.answers import AnswerFile, create_answer_file
from osteon.study.plan import StudyPlan, plan_character
from osteon.study.server import open_listener, study_server
from osteon.synth.baked import bake_cylinder


def write_subjects(folder: Path) -> tuple[Path, Path, Path]:
    """A sequence, the model it was baked from, and the sequence with noise."""
    baked = bake_cylinder(2)
    sequence, noise = baked.sequence, np.random.default_rng(7).normal(0, 0.03, baked.sequence.frames.shape)
    files = folder / "tube.npz", folder / "secret-model.npz", folder / "secret-noise.npz"
    save_sequence(sequence, files[0])
    save_model(baked.model, files[1])
    save_sequence(sequence.with_parts(frames=(sequence.frames + noise).astype(np.float32)), files[2])
    return files


@dataclass(frozen=True)
class ServedStudy:
    """A running server of a study."""

    address: str
    answers: AnswerFile


@contextmanager
def served_study(folder: Path) -> Iterator[ServedStudy]:
    """Serve the subjects in a folder of their own."""
    folder.mkdir()
    reference, *candidates = map(str, write_subjects(folder))
    with serving(plan_character(reference, candidates, ("ssd", "noise")), folder) as running:
        yield running


@contextmanager
def serving(plan: StudyPlan, folder: Path) -> Iterator[ServedStudy]:
    """Serve a plan, with its answers in a folder; answers that are there are continued."""
    target, fingerprint = folder / "answers.sqlite", plan.fingerprint()
    if not target.exists():
        create_answer_file(target, plan, fingerprint)
    answers = AnswerFile(target)
    answers.begin_writing(fingerprint, plan.questions)
    packs = folder / "packs"
    packs.mkdir(exist_ok=True)
    ready = threading.Event()
    server = study_server(answers, prepare_animations(plan, packs), open_listener(), lambda _: ready.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(300)
        yield ServedStudy(server.address, answers)
    finally:
        server.stop()
        thread.join(300)
        answers.close()
        assert not thread.is_alive()
