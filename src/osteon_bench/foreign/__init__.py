"""Third-party files: found in a folder tree, run through the command line, and checked for what a user sees."""
