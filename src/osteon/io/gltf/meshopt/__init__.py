"""The codec of meshoptimizer, encoder and decoder: attributes, indices, and the filters that precede them."""
