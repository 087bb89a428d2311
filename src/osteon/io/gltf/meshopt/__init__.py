"""The codec of meshoptimizer for buffer views, both ways: attributes, triangles, indices, and the filters before them."""
