"""Which bone controls each triangle (Simplex Transformations, 4.1 and 4.2).

`segment` is the way in, `assign` has the steps in their order.
"""
