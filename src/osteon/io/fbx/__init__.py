"""FBX in, by ufbx: every animation stack becomes a clip of one mesh, posed by ufbx itself at a frame rate.

Lengths stay the file's own numbers (mostly centimetres). The scene is turned so that y points up, if it does not yet.
Geometry caches beside the file are not read; no file but the one that was named is opened.

Notes. In ufbx 0.0.5 for Python, taking an item out of a list of elements, and the buffer of a list, give away a
reference that the scene still counts on: looking twice at `scene.nodes[0]` ends the process with a segmentation fault,
and so does collecting garbage after materials were looked at. Each of these is therefore counted once more by hand, and
the library runs in a process of its own (`far_side.py`) that leaves without cleaning up. A file that still brings it
down is refused in one line like any other.
"""
