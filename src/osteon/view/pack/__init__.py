"""What the page shows, as one binary per model or sequence."""
