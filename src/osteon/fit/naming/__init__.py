"""Names for bones that were found: after regions of the source, and by sides where the shape has two."""
