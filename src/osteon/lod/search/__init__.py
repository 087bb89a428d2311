"""Search for orders of bones and blends of a model, by moments, so that each vertex is read once."""
