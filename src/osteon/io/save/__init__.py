"""Files that appear whole: frames, models, several outputs at once."""
