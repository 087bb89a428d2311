"""Printed numbers of Skinning Mesh Animations, and the skins that its figures share."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.papers.mesh_animations.printed import COMBINATIONS, TABLE_1, printed_row
from osteon.papers.mesh_animations.rotations import _deformation
from osteon.papers.mesh_animations.variants import VariantOptions, Variants, fit_variants, rms_normal_error
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import BakeOptions, bake_cylinder
from osteon.synth.shapes import make_sphere

SEQUENCE = bake_cylinder(2, options=BakeOptions(frames=6)).sequence


@pytest.fixture(scope="module")
def variants() -> Variants:
    return fit_variants(SEQUENCE, VariantOptions(rank=3))


def test_printed_compression_follows_from_printed_sizes() -> None:
    """3 N S floats over those of rest pose, weights and bones of 7 or 12 floats: a check of the copied columns."""
    for row in TABLE_1:
        influences = min(4, row.bones)
        for kind, floats in (("rigid", 7), ("flexible", 12)):
            model = (3 + influences) * row.vertices + floats * row.frames * row.bones
            assert 3 * row.vertices * row.frames / model == pytest.approx(row.compression[kind], rel=0.02), row.model


def test_printed_rows() -> None:
    assert [row.bones for row in TABLE_1] == [1, 27, 21, 14, 23, 25, 30, 22, 17, 18, 6, 32, 100]
    assert printed_row("flag", 0.1).bones == 100
    assert printed_row("horse").errors["flexible", "nnls"] == (4.53, 0.53)
    assert [row.near_rigid for row in TABLE_1[:11]] == sorted((row.near_rigid for row in TABLE_1[:11]), reverse=True)


def test_shared_clusters_give_the_fits_of_the_paper_preset(variants: Variants) -> None:
    assert set(variants.fits) == set(COMBINATIONS)
    for (bone_type, weights), fit in variants.fits.items():
        options = SkinOptions(preset="paper", bone_type=bone_type, weights=weights, rank=3)
        alone = skin_sequence(SEQUENCE, options=options)
        np.testing.assert_array_equal(alone.labels, fit.labels)
        assert alone.report.error_percent_by_rank == fit.report.error_percent_by_rank
        assert fit.report.bones == variants.clustering.n_bones
        assert variants.errors((bone_type, weights))[0] == fit.report.error_percent_by_rank["0"]


def test_normals_of_the_source_itself_have_no_error(variants: Variants) -> None:
    model = bake_cylinder(2, options=BakeOptions(frames=6)).model
    assert rms_normal_error(model, SEQUENCE) < 1e-5
    assert rms_normal_error(variants.fits["rigid", "nnls"].model.truncate(0), SEQUENCE) > 1e-5


def test_no_bones_is_one_line() -> None:
    ball = make_sphere(3)
    noise = np.random.default_rng(0).normal(size=(4, *ball.vertices.shape)).astype(np.float32)
    torn = MeshSequence(noise, ball.faces, ball.vertices.astype(np.float32), name="torn")
    with pytest.raises(OptionError, match="mean shift finds no bones"):
        fit_variants(torn, VariantOptions(tolerance=0.01))


def test_the_deformation_of_a_triangle_takes_its_edges_and_its_normal() -> None:
    rng = np.random.default_rng(0)
    rest, posed = rng.normal(size=(2, 3, 3))
    found = _deformation(rest, posed)
    np.testing.assert_allclose(found @ (rest[1] - rest[0]), posed[1] - posed[0], atol=1e-12)
    np.testing.assert_allclose(found @ (rest[2] - rest[0]), posed[2] - posed[0], atol=1e-12)
    normals = [np.cross(p[1] - p[0], p[2] - p[0]) for p in (rest, posed)]
    unit = [n / np.linalg.norm(n) for n in normals]
    np.testing.assert_allclose(found @ unit[0], unit[1], atol=1e-12)
