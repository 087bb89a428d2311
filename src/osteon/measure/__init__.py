"""How far a result is from its source, and how large it is."""
