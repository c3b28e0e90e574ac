"""How the tables came to be, version by version (Alembic)."""
