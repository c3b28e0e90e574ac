"""Templates of the sheets that people fill in."""
