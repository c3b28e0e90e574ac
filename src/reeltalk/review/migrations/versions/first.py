"""The first form of the tables."""

from alembic import op

from reeltalk.review.tables import Base

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    Base.metadata.create_all(op.get_bind())
