"""Models and sequences for the page, each as one binary file."""
