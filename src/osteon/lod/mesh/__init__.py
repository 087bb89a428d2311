"""Mesh levels: fewer triangles for a skinned model, chosen by what it costs in all its poses."""
