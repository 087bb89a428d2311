"""Files in and out, one module a format, one registry by suffix."""

from osteon.io.doors.atomic import atomic_file, atomic_folder, check_output
from osteon.io.doors.models import holds_model, load_model, save_model
from osteon.io.doors.options import LoadOptions, SaveOptions
from osteon.io.doors.played import save_played
from osteon.io.doors.registry import FORMATS, MODEL_FORMATS
from osteon.io.doors.sequence_in import load_sequence
from osteon.io.doors.sequence_out import check_sequence_output, save_sequence, write_sequence

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
    "save_played",
    "save_sequence",
    "write_sequence",
]
