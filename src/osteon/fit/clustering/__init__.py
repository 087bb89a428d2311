"""Clustering of triangles that move together: rotation sequences, mean shift, and the bones of core triangles."""
