"""Files that hold one pose of a mesh (OBJ, PLY, OFF, MEDIT), and the polygons, pictures and parts of a mesh."""
