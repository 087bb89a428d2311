"""USD (.usda, .usdc, .usdz, .usd): skinned models by UsdSkel, and mesh sequences, out and in.

A model is one SkelRoot with a Mesh, a Skeleton, its SkelAnimation, BlendShapes for the corrections, and materials as
UsdPreviewSurface. Polygons, UVs by corner (origin at the bottom left) and vertex colours are those of the asset.
`write/joints.py` tells how flexible bones fit into joints whose scales are halves.

Clips follow each other on the one time line that a stage has, all in one SkelAnimation: players of UsdSkel look at the
animation that is bound to the skeleton and at nothing else, so one prim a clip would show the first and hide the rest.
A table in the customData of the root (`osteon`, JSON) says where each clip begins. Lengths are in metres, y is up.

SaveOptions: `normals` counts. `quantize` and `key_error` are refused: an array of joints is one value at a time, so it
has no keys of its own to leave out, and UsdSkel fixes all types, with halves for scales already.

Pictures of materials go into a .usdz, or beside the stage into a folder of its name (`write/pictures.py`).

The library fails, or never comes back, on about one damaged .usdc of 750. Files are therefore read in a child
(`client.py`, `child.py`, `io/native/client.py`); what this process itself opens is only what it writes.
"""
