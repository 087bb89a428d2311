"""Assignment of triangles to bones (Simplex Transformations, 4.1 and 4.2). The entry point is `segment`."""
