"""Models that were compared, in a folder: a file each, what was measured, perhaps their source (docs/compare.md)."""
