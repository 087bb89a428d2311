"""Options of skinning, checked on construction. The command line reads its flags' defaults from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from osteon.core.errors import OptionError
from osteon.core.model import BoneType

__all__ = ["Preset", "SkinModel", "SkinOptions", "WeightMethod"]

Preset = Literal["default", "paper"]
SkinModel = Literal["lbs", "dqs"]
WeightMethod = Literal["tsvd", "nnls", "bounded"]

_RANGES = (
    ("delta", 0, 1e6),
    ("tsvd_threshold", 0, 1),
    ("stiffness", 0, 1e6),
    ("smooth_weights", 0, 1e6),
    ("rounds", 0, 1e6),
    ("seed", 0, 2**63),
)


@dataclass(frozen=True, slots=True)
class SkinOptions:
    """How a sequence is skinned."""

    preset: Preset = "default"
    model: SkinModel = "lbs"  # how bones are blended: linearly, or as dual quaternions
    bones: int = 0  # exactly this many; 0: as many as mean shift finds
    bone_type: BoneType = "flexible"
    influences: int = 4  # bones a vertex, 1 … 8
    rank: int = 0  # columns of progressive corrections; more than there are frames count as many
    helpers: int = 0  # bones added to a rig that is given
    tolerance: float = 0.05  # eps of mean shift: rotation-matrix entries, 0 … 2
    weights: WeightMethod = "nnls"  # tsvd and bounded need the paper preset
    delta: float = 0.0  # weights >= -delta with 'bounded'
    tsvd_threshold: float = 1e-5  # of the largest singular value
    rounds: int = 24  # of refinement
    stiffness: float = 5e-3  # pull of flexible bones towards their rotation, of the data's own weight
    smooth_weights: float = 0.0  # pull of weights towards their neighbours', 0: none
    holdout: int = 0  # leave every K-th frame out of the fit; 0: none
    seed: int = 0
    threads: int = 0  # 0: all

    def __post_init__(self) -> None:
        if self.preset not in ("default", "paper"):
            raise OptionError(f"preset: expected default or paper, got {self.preset!r}")
        if self.bone_type not in ("rigid", "flexible"):
            raise OptionError(f"bone_type: expected rigid or flexible, got {self.bone_type!r}")
        if self.model not in ("lbs", "dqs"):
            raise OptionError(f"model: expected lbs or dqs, got {self.model!r}")
        if self.model == "dqs":
            self._check_dual_quaternions()
        if self.bones < 0:
            raise OptionError(f"bones: expected 1 or more (or 0 to find the number), got {self.bones}")
        if self.rank < 0:
            raise OptionError(f"rank: expected 0 or more, got {self.rank}")
        if self.helpers < 0:
            raise OptionError(f"helpers: expected 0 or more, got {self.helpers}")
        if not 1 <= self.influences <= 8:
            raise OptionError(f"influences: expected 1 … 8, got {self.influences}")
        if self.preset == "default" and self.weights != "nnls":
            raise OptionError(f"weights: '{self.weights}' needs --preset paper; the default preset keeps weights >= 0")
        if self.weights not in ("tsvd", "nnls", "bounded"):
            raise OptionError(f"weights: expected tsvd, nnls or bounded, got {self.weights!r}")
        if self.preset == "paper" and self.smooth_weights > 0:
            raise OptionError("smooth_weights: the paper preset has no smoothness term; use the default preset")
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if not low <= value <= high:  # also refuses NaN
                raise OptionError(f"{name}: expected {low:g} … {high:g}, got {value}")
        if self.holdout == 1 or self.holdout < 0:
            raise OptionError(f"holdout: expected 0 (none) or 2 and more, got {self.holdout}")

    def _check_dual_quaternions(self) -> None:
        if self.bone_type != "rigid":
            raise OptionError("model: dual quaternions blend rigid bones; add --bone-type rigid")
        if self.preset == "paper":
            raise OptionError("model: the paper preset blends linearly; use the default preset with --model dqs")
        if self.rank:
            raise OptionError("rank: corrections are fitted on top of linear blending only; leave --model dqs away")
        if self.smooth_weights > 0:
            raise OptionError("smooth_weights: pulls weights of linear blending only; leave --model dqs away")
