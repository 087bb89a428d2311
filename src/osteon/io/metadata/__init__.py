"""What Osteon stores in a file beside what the format has a place for: materials, clips and assets, as JSON."""
