"""Light: precomputed radiance transfer of a skinned animation, compressed across its frames.

`harmonics` spherical harmonics and their rotation · `environment` images and skies as coefficients · `rays` what a ray
meets · `transfer` one frame · `vertex_frames` the frames of reference that follow the bones · `compress` TSVD of
transfer · `nmf` lit colours · `model_light` the result, as files store it.
"""
