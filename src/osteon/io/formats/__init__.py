"""The registry of formats, the types of its entries, and what a caller may say about a file."""
