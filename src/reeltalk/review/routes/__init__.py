"""The addresses of the application, by area."""
