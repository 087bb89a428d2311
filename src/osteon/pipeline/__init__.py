"""The one place that knows the order of stages: a mesh sequence in, a skinned model and its report out."""

from osteon.pipeline.budget import Budget, BudgetFit, Try, fit_to_budget
from osteon.pipeline.skeleton import RigFit, rig_sequence
from osteon.pipeline.skin import SkinFit, check_sequence, cut_fit, skin_sequence

__all__ = [
    "Budget",
    "BudgetFit",
    "RigFit",
    "SkinFit",
    "Try",
    "check_sequence",
    "cut_fit",
    "fit_to_budget",
    "rig_sequence",
    "skin_sequence",
]
