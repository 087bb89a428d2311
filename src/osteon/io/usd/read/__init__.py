"""Reading USD stages as mesh sequences (`sequence`) or skinned models (`model`), in a child process."""
