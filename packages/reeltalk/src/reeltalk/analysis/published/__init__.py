"""Published numbers with their sources, and why they may not be comparable with your own."""
