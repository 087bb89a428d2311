"""Which bone controls each triangle (Simplex Transformations, 4.1 and 4.2). The entry point is `segment`."""
