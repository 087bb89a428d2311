"""The one place that knows the order of stages: a mesh sequence in, a skinned model and its report out.

Imports nothing: `osteon skin` does not wait for what only `osteon rig` needs.
"""
