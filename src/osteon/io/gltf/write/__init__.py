"""glTF out: a skinned model as one file (`model`)."""
