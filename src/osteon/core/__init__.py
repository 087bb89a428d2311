"""What everything speaks."""
