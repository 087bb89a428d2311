"""FBX in, by ufbx: every animation stack becomes a clip of one mesh, posed by ufbx itself at a frame rate.

Lengths stay the file's own numbers (mostly centimetres). The scene is turned so that y points up, if it does not yet.
Geometry caches are read where they are in the folder of the FBX or below it (`library.py`); no other file is opened.

Notes. ufbx 0.0.5 for Python counts too few references to its elements (`library.py`), which ends the process with a
segmentation fault. They are counted by hand, and the library runs in a process of its own (`child.py`) that collects
no garbage and leaves without cleaning up. A file that still brings it down is refused in one line like any other.
"""
