"""Pure functions from answers and references to numbers."""
