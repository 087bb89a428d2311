"""Files in and out, one module a format, one registry by suffix."""

from osteon.io.frames_out import check_sequence_output, save_sequence, write_sequence
from osteon.io.model import MODEL_FORMATS, holds_model, load_model, save_model
from osteon.io.options import LoadOptions, SaveOptions
from osteon.io.registry import FORMATS
from osteon.io.sequence_files import load_sequence
from osteon.io.write import atomic_file, atomic_folder, check_output

__all__ = [
    "FORMATS",
    "MODEL_FORMATS",
    "LoadOptions",
    "SaveOptions",
    "atomic_file",
    "atomic_folder",
    "check_output",
    "check_sequence_output",
    "holds_model",
    "load_model",
    "load_sequence",
    "save_model",
    "save_sequence",
    "write_sequence",
]
