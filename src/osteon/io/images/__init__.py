"""Images of high dynamic range: Radiance (.hdr) and OpenEXR (.exr)."""
