"""Collision detection on skinned characters: a tree whose bounds follow the bones, queries that skin few vertices."""
