"""USD (.usda, .usdc, .usdz, .usd): reading and writing skinned models by UsdSkel, and mesh sequences.

A model is one SkelRoot with a Mesh, a Skeleton, its SkelAnimation, BlendShapes for the corrections, and materials as
UsdPreviewSurface. Polygons, UVs by corner (origin at the bottom left) and vertex colours are those of the asset.
`joints.py` describes how flexible bones are represented by joints whose scales have half precision.

Clips follow each other on the single timeline of a stage, all in one SkelAnimation: players of UsdSkel evaluate only
the animation that is bound to the skeleton, so with one prim per clip they would show only the first. A table in the
customData of the root (`osteon`, JSON) lists the start of each clip. Lengths are in metres, y is up.

SaveOptions: `normals` is supported. `quantize` and `key_error` are refused: a time sample holds an array of all joints,
so single keys cannot be dropped, and UsdSkel fixes all types, with halves for scales.

Images of materials are stored in a .usdz, or in a folder beside the stage (`stage.py`).

The library crashes, or does not return, on about one damaged .usdc of 750. Files are therefore read in a child process
(`client.py`, `child.py`, `io/native/client.py`); this process itself opens only stages that it writes.
"""
