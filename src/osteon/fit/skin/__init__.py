"""Bones and weights: seeds, influences, both in turn until nothing gains, and one half when the other is known."""
