"""The second edition: groups, duties, guidelines, comments, and what tables of units and of people count."""

import json
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Text is compared as bytes on both databases, so that orders are the same.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add tables and columns. No row of the first edition changes its meaning."""
    op.add_column("units", sa.Column("flags", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("units", sa.Column("set_aside", sa.Text(), nullable=True))
    op.add_column("units", sa.Column("disputed", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("entries", sa.Column("unsure", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("entries", sa.Column("noted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("entries", sa.Column("active_s", sa.Double(), nullable=False, server_default="0"))
    _mark_noted()
    listed = ("queue_id", "position", "id", "state", "submitted", "turns", "flags", "disputed", "video_id")
    _index_some("units_listed", "units", listed, "gold IS NULL", "gold IS NULL")
    _index_some("units_set_aside", "units", ("queue_id",), "set_aside IS NOT NULL", "set_aside IS NOT NULL")
    _index_some("units_of_gold", "units", ("queue_id",), "gold IS NOT NULL", "gold IS NOT NULL")
    _index_some("entries_noted", "entries", ("assignment_id",), "noted = 1", "noted")
    _index_some("entries_unsure", "entries", ("assignment_id",), "unsure = 1", "unsure")
    op.create_index("assignments_by_unit", "assignments", ["unit_id", "role", "state", "person_id"])
    op.drop_index("ix_assignments_unit_id", "assignments")
    op.create_table(
        "unit_words",
        sa.Column("unit_id", TEXT, nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["unit_id"], ["units.id"]),
        sa.PrimaryKeyConstraint("unit_id"),
    )
    op.create_table(
        "groups",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "memberships",
        sa.Column("group_id", TEXT, nullable=False),
        sa.Column("person_id", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"]),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"]),
        sa.PrimaryKeyConstraint("group_id", "person_id"),
    )
    op.create_index("ix_memberships_person_id", "memberships", ["person_id"])
    op.create_table(
        "duties",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("queue_id", TEXT, nullable=False),
        sa.Column("unit_id", TEXT, nullable=True),
        sa.Column("person_id", TEXT, nullable=True),
        sa.Column("group_id", TEXT, nullable=True),
        sa.Column("deadline", TEXT, nullable=True),
        sa.Column("least", sa.Integer(), nullable=True),
        sa.Column("most", sa.Integer(), nullable=True),
        sa.Column("created_at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queues.id"]),
        sa.ForeignKeyConstraint(["unit_id"], ["units.id"]),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"]),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("duties_by_queue", "duties", ["queue_id", "unit_id"])
    for name in ("unit_id", "person_id", "group_id"):
        op.create_index(f"ix_duties_{name}", "duties", [name])
    op.create_table(
        "guidelines",
        sa.Column("queue_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queues.id"]),
        sa.PrimaryKeyConstraint("queue_id", "version"),
    )
    op.create_table(
        "readings",
        sa.Column("person_id", TEXT, nullable=False),
        sa.Column("queue_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"]),
        sa.ForeignKeyConstraint(["queue_id"], ["queues.id"]),
        sa.PrimaryKeyConstraint("person_id", "queue_id"),
    )
    op.create_table(
        "comments",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("unit_id", TEXT, nullable=False),
        sa.Column("place", TEXT, nullable=True),
        sa.Column("author_id", TEXT, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("mentions", sa.Text(), nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["unit_id"], ["units.id"]),
        sa.ForeignKeyConstraint(["author_id"], ["people.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_comments_unit_id", "comments", ["unit_id"])
    op.create_index("ix_comments_at", "comments", ["at"])


def _mark_noted() -> None:
    """Mark the entries that have a note. Values are canonical JSON, in which a quote inside a text has a backslash."""
    entries = sa.table("entries", *map(sa.column, ("assignment_id", "place", "value", "noted")))
    bind = op.get_bind()
    found = bind.execute(sa.select(entries).where(entries.c.value.like('%"note":"_%'))).all()
    for row in found:
        value = json.loads(row.value)
        if isinstance(value, dict) and str(value.get("note", "")).strip():
            of = (entries.c.assignment_id == row.assignment_id, entries.c.place == row.place)
            bind.execute(sa.update(entries).where(*of).values(noted=sa.true()))


def _index_some(name: str, table: str, columns: Sequence[str], on_sqlite: str, on_postgres: str) -> None:
    op.create_index(name, table, list(columns), sqlite_where=sa.text(on_sqlite), postgresql_where=sa.text(on_postgres))
