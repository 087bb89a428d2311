"""Quasi-static flesh: a solid around a stick skeleton, and the shape it takes when bones move. Useful alone."""
