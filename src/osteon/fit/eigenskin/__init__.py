"""EigenSkin: displacements that follow the joints of a rig, learned from meshes of known poses."""
