"""Measurements of Osteon itself; `osteon bench NAME` runs them."""
