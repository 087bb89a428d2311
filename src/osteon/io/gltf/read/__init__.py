"""glTF in: the document and its scene, as frames of a mesh (`sequence`) or as a skinned model (`model`)."""
