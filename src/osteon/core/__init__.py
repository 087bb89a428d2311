"""Data types, protocols and mathematics that all other folders use."""
