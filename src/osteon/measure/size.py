"""How small a skinned animation is.

compression = 3 N S / (3 N + k N + c S B): floats of the sequence over floats of rest pose, weights and bones, with
c = 12 for a flexible bone and 7 for a rigid one (quaternion and translation). James and Twigg 2005, table 1.
Displacements of rank r add r (3 N + S). Other families say themselves how many floats they hold instead of k N.
"""

from __future__ import annotations

from osteon.core.model import SkinnedModel

__all__ = ["compression_ratio"]


def compression_ratio(model: SkinnedModel) -> float:
    """Floats of the model's frames over floats of the model."""
    frames, vertices = model.n_frames, model.n_vertices
    out = 3 * vertices + model.deformer.n_floats + model.animation.n_floats
    rank = sum(len(displacement.basis) for displacement in model.character.displacements)
    return 3 * vertices * frames / (out + rank * (3 * vertices + frames))
