"""glTF 2.0: what moves by skin, morph targets or nodes, as frames or as a model, in (`read`) and out (`write`).

Notes. pygltflib parses Soldier.glb (654 buffer views) in 0.97 s, the standard library's json in 7 ms, and the former
accepts wrong types as they are, so every field needs its own check either way. Reading therefore goes through plain
dictionaries with checked access.
"""
