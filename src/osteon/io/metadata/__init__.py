"""What Osteon stores in a file besides what the format has a place for: materials, clips and assets, as JSON."""
