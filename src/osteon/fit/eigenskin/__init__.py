"""EigenSkin: a rig and meshes of known poses in, displacements that follow the joints out."""
