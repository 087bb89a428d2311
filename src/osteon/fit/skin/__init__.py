"""Bones and weights: initial bones, influences, alternating refinement, and fits of one with the other fixed."""
