"""The web application on which people accept, edit, link and label every turn of a benchmark.

The database holds work in progress, the benchmark holds results: applying accepted work writes its next revision.
Home of FastAPI, SQLAlchemy, Alembic and argon2.
"""
