"""The user experiment: people rate how similar animations are to an original, and what their answers say."""
