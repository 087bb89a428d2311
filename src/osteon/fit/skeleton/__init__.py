"""Skeletons from example poses: near-rigid sections, joints between them, a tree, and the articulated fit."""
