"""Collision with a skinned animation: queries, interpenetration, and rigid bodies that it kicks.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7 and figure 18; James and Pai, BD-Tree, 2004.
"""
