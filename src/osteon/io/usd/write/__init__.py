"""Writing skinned models and mesh sequences as USD stages."""
