"""The page in the browser: packs for its renderer, the server that feeds it, and the export as static files."""
