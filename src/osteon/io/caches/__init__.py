"""Point caches: the vertices of every frame in one file, without triangles. One module per format."""
