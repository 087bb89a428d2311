"""Pipelines that run the stages in order, from a mesh sequence to a skinned model and its report.

This file imports nothing, so that `osteon skin` does not load modules that only `osteon rig` needs.
"""
