"""The runtime half: pose in, vertices out, nothing fitted."""
