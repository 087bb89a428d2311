"""What a path means: inputs, clips and frames of the caller's choice, limits, and loading."""
