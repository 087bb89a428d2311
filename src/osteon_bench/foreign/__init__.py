"""Files that others made: found in a tree, tried through the command line, judged by what a person would see."""
