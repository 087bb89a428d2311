"""The codec of meshoptimizer, both ways: attributes, triangles, indices, and the filters before them."""
