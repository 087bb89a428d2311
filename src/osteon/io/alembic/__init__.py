"""Alembic (.abc, Ogawa): mesh caches in and out.

Faces in Alembic are clockwise, unlike those of all other formats here. Reader and writer reverse a polygon a b c d to
a d c b, which keeps its first corner, so that fans of triangles are restored exactly.

Several clips share one mesh and one time line, one after the other, because Alembic has no clips; a table in
the mesh's user properties (`osteon`, JSON) lists the start of each, and the reader separates them.

Notes. A sample selector of alembic3d takes seconds even if it selects an integer index; samples are therefore fetched
by index through `property.samples`. A time sampling handed to an object's constructor fails with bad_array_new_length,
one set on its schema works. Of 600 copies of a file with one to three bytes changed, the library itself crashed on 15:
`ogawa.py` walks the structure of the file first, and indices are looked up here, because the library trusts them.
"""
