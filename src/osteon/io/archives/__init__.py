"""NumPy files: sequences and skinned models in .npz, positions in .npy."""
