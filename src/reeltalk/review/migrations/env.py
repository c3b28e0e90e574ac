"""Run by Alembic: migrates over the connection that it is given."""

from alembic import context

from reeltalk.review.tables import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
with context.begin_transaction():
    context.run_migrations()
