"""Alembic (.abc, Ogawa): mesh caches in and out.

Alembic winds its faces clockwise, the other way round than every other format here. Both sides turn a polygon
a b c d into a d c b, which keeps its first corner, so that fans come back as they were.

Several clips share one mesh and one time line, one after the other, because a player of Alembic knows nothing else; a
table in the mesh's user properties (`osteon`, JSON) says where each begins, and reading takes them apart again.

Notes. A sample selector of alembic3d takes seconds even when it is given a whole number; samples are therefore fetched
by index through `property.samples`. A time sampling handed to an object's constructor fails with bad_array_new_length,
one set on its schema works. Of 600 copies of a file with one to three bytes changed, the library itself crashed on 15:
`ogawa.py` walks the structure of the file first, and indices are looked up here, because the library trusts them.
"""
