"""Applications of a skinned animation: editing the rest pose, collision detection, lighting.

One folder each. Based on: James and Twigg, Skinning Mesh Animations, 2005, sections 6 and 7.
"""
