"""Output files: frames and models, written whole, several of them together."""

from osteon import __version__

__all__ = ["GENERATOR", "GENERATOR_KEY"]

#: The program that wrote a file, as every format that has a place for it stores it, and its key in JSON files.
GENERATOR = f"Osteon {__version__}"
GENERATOR_KEY = "generator"
