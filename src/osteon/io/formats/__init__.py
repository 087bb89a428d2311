"""The registry of formats, the types of its entries, and the options for reading and writing files."""
