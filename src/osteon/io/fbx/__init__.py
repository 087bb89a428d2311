"""FBX in, by ufbx: every animation stack becomes a clip of one mesh, posed by ufbx itself at a frame rate.

Lengths keep the unit of the file (mostly centimetres). The scene is rotated so that y points up.
Geometry caches are read where they are in the folder of the FBX or below it (`library.py`); no other file is opened.

Notes. ufbx 0.0.5 for Python counts too few references to its elements (`library.py`), which ends the process with a
segmentation fault. They are counted by hand, and the library runs in a child process (`child.py`) that collects no
garbage and exits without cleanup. A file that still crashes it is refused with one line of error.
"""
