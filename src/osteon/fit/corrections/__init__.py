"""What the skin leaves: low-rank displacements of the rest pose, alone and with the skin, and their normals."""
