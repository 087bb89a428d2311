"""The user experiment: people rate the similarity of animations to an original; statistics of their answers."""
