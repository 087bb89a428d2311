"""Low-rank displacements of the rest pose that reduce the residual of a skin, and corrections of its normals."""
