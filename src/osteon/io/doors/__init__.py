"""What a path means: inputs, options, the registry of formats, loading and saving, and outputs that appear whole."""
