"""Report pages on scenarios of activity graphs."""
