"""What a Python session shows and refuses: summaries, the right call in an error, sources that are not replaced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import osteon
from osteon.core.errors import FileFormatError, GeometryError

from ..subjects import bent_tube


@pytest.fixture(scope="module")
def sequence() -> osteon.MeshSequence:
    return bent_tube().sequence.with_parts(name="tube")


@pytest.fixture(scope="module")
def fit(sequence: osteon.MeshSequence) -> osteon.SkinFit:
    return osteon.skin_sequence(sequence, options=osteon.SkinOptions(bones=2))


def test_a_sequence_of_arrays(sequence: osteon.MeshSequence) -> None:
    made = osteon.MeshSequence.from_arrays(sequence.frames, sequence.faces, fps=12)
    np.testing.assert_array_equal(made.frames, sequence.frames)
    np.testing.assert_array_equal(made.rest, sequence.frames[0])
    assert [(clip.n_frames, clip.fps) for clip in made.clips] == [(8, 12.0)]
    own = osteon.MeshSequence.from_arrays(list(sequence.frames), sequence.faces.tolist(), rest=sequence.rest)
    np.testing.assert_array_equal(own.rest, sequence.rest)
    with pytest.raises(GeometryError, match="the sequence is empty"):
        osteon.MeshSequence.from_arrays(sequence.frames[:0], sequence.faces)


def test_options_passed_as_arguments_show_the_right_call(sequence: osteon.MeshSequence) -> None:
    with pytest.raises(TypeError) as caught:
        osteon.skin_sequence(sequence, bones=8, rank=2)
    assert str(caught.value) == (
        "skin_sequence has no argument 'bones'; it is an option: skin_sequence(…, options=SkinOptions(bones=8, rank=2))"
    )
    with pytest.raises(TypeError, match=r"rig_sequence\(…, options=RigOptions\(bones=8\)\)"):
        osteon.rig_sequence(sequence, bones=8)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        osteon.skin_sequence(sequence, nonsense=8)


def test_a_fit_is_shown_as_a_summary(sequence: osteon.MeshSequence, fit: osteon.SkinFit) -> None:
    shown = repr(fit)
    assert shown.startswith("SkinFit('tube': 8 frames, 106 vertices; 2 scaled bones, 4 influences; E ")
    assert len(shown) < 200
    assert "array" not in shown
    assert repr(fit.model).startswith("SkinnedModel('tube': 106 vertices, 208 triangles, 2 scaled bones, linear blend")
    assert repr(sequence) == "MeshSequence('tube': 106 vertices, 208 triangles; frames: clip (8 at 24 fps))"


def test_a_model_does_not_replace_what_it_was_read_from(fit: osteon.SkinFit, tmp_path: Path) -> None:
    path = tmp_path / "a.glb"
    osteon.save_model(fit.model, path)
    osteon.save_model(fit.model, path)  # it was not read from there
    model = osteon.load_model(path)
    again = osteon.skin_sequence(osteon.load_sequence(path), options=osteon.SkinOptions(bones=2)).model
    (tmp_path / "link.glb").symlink_to(path)
    before = path.read_bytes()
    for found in (model, again, model.with_mesh(name="other")):
        for target in (path, tmp_path / "." / "link.glb"):
            with pytest.raises(FileFormatError, match="the model was read from it; name another file, or pass over"):
                osteon.save_model(found, target)
    assert path.read_bytes() == before
    osteon.save_model(model, tmp_path / "b.glb")
    osteon.save_model(model, path, overwrite=True)
