"""USD out: skinned models and mesh sequences (`model`)."""
