"""Mesh levels: simplify a skinned model with the least error in all its poses."""
