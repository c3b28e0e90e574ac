"""Numbers that others have published, as data with their sources, and why they may not compare with one's own."""
