"""The page without a server: as a folder of static files, or as one file."""
