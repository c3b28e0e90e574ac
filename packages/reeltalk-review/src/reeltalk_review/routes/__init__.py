"""The application's routes, by area."""
