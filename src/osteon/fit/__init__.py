"""The offline half: from a mesh sequence to bones and weights, one stage a file."""
