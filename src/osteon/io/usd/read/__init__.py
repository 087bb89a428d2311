"""USD in: what a stage shows, as frames of a mesh (`sequence`) or as a skinned model (`model`)."""
