"""Families other than linear blending, each fitted from a finished linear blend skin: one file per family."""
