"""The first form of the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Text is compared as bytes on both databases, so that orders are the same.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "chain",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.Column("author", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("place", TEXT, nullable=True),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("previous", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("events_by_subject", "events", ["subject", "seq"], unique=False)
    op.create_table(
        "people",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("sign_in", TEXT, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("password", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("disabled_at", TEXT, nullable=True),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("sign_in"),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("files", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "queues",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("task", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("overlap", sa.Integer(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "requests",
        sa.Column("person_id", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("what", TEXT, nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("person_id", "key"),
    )
    op.create_index(op.f("ix_requests_at"), "requests", ["at"], unique=False)
    op.create_table(
        "videos",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("sha256", TEXT, nullable=True),
        sa.Column("duration_s", sa.Double(), nullable=True),
        sa.Column("file", TEXT, nullable=True),
        sa.Column("media_type", TEXT, nullable=True),
        sa.Column("problem", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_videos_sha256"), "videos", ["sha256"], unique=False)
    op.create_table(
        "invitations",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("token", TEXT, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("created_by", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("expires_at", TEXT, nullable=False),
        sa.Column("used_by", TEXT, nullable=True),
        sa.Column("withdrawn_at", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["used_by"],
            ["people.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token"),
    )
    op.create_table(
        "pairs",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("queue_id", TEXT, nullable=False),
        sa.Column("first_id", TEXT, nullable=False),
        sa.Column("second_id", TEXT, nullable=False),
        sa.Column("goal", sa.Integer(), nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("ended_at", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["first_id"],
            ["people.id"],
        ),
        sa.ForeignKeyConstraint(
            ["queue_id"],
            ["queues.id"],
        ),
        sa.ForeignKeyConstraint(
            ["second_id"],
            ["people.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "resets",
        sa.Column("token", TEXT, nullable=False),
        sa.Column("person_id", TEXT, nullable=False),
        sa.Column("expires_at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
        ),
        sa.PrimaryKeyConstraint("token"),
    )
    op.create_index(op.f("ix_resets_person_id"), "resets", ["person_id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("token", TEXT, nullable=False),
        sa.Column("person_id", TEXT, nullable=False),
        sa.Column("csrf", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("expires_at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
        ),
        sa.PrimaryKeyConstraint("token"),
    )
    op.create_index(op.f("ix_sessions_person_id"), "sessions", ["person_id"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("token", TEXT, nullable=False),
        sa.Column("person_id", TEXT, nullable=False),
        sa.Column("label", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("expires_at", TEXT, nullable=False),
        sa.Column("revoked_at", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token"),
    )
    op.create_index(op.f("ix_tokens_person_id"), "tokens", ["person_id"], unique=False)
    op.create_table(
        "units",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("queue_id", TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("video_id", TEXT, nullable=True),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("target_table", TEXT, nullable=True),
        sa.Column("target_id", TEXT, nullable=True),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("submitted", sa.Integer(), nullable=False),
        sa.Column("gold", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["queue_id"],
            ["queues.id"],
        ),
        sa.ForeignKeyConstraint(
            ["video_id"],
            ["videos.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_units_video_id"), "units", ["video_id"], unique=False)
    op.create_index("units_by_queue", "units", ["queue_id", "state", "position", "id"], unique=False)
    op.create_table(
        "assignments",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("unit_id", TEXT, nullable=False),
        sa.Column("person_id", TEXT, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("lease_until", TEXT, nullable=False),
        sa.Column("submitted_at", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
        ),
        sa.ForeignKeyConstraint(
            ["unit_id"],
            ["units.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("unit_id", "person_id", "role"),
    )
    op.create_index("assignments_by_person", "assignments", ["person_id", "state"], unique=False)
    op.create_index(op.f("ix_assignments_unit_id"), "assignments", ["unit_id"], unique=False)
    op.create_table(
        "live_dialogues",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("pair_id", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("unit_id", TEXT, nullable=False),
        sa.Column("investigator_id", TEXT, nullable=False),
        sa.Column("correspondent_id", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("finished_at", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["correspondent_id"],
            ["people.id"],
        ),
        sa.ForeignKeyConstraint(
            ["investigator_id"],
            ["people.id"],
        ),
        sa.ForeignKeyConstraint(
            ["pair_id"],
            ["pairs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["unit_id"],
            ["units.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("pair_id", "number"),
    )
    op.create_index(op.f("ix_live_dialogues_correspondent_id"), "live_dialogues", ["correspondent_id"], unique=False)
    op.create_index(op.f("ix_live_dialogues_investigator_id"), "live_dialogues", ["investigator_id"], unique=False)
    op.create_index(op.f("ix_live_dialogues_pair_id"), "live_dialogues", ["pair_id"], unique=False)
    op.create_index(op.f("ix_live_dialogues_unit_id"), "live_dialogues", ["unit_id"], unique=False)
    op.create_table(
        "results",
        sa.Column("unit_id", TEXT, nullable=False),
        sa.Column("place", TEXT, nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("how", TEXT, nullable=False),
        sa.Column("people", sa.Text(), nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["unit_id"],
            ["units.id"],
        ),
        sa.PrimaryKeyConstraint("unit_id", "place"),
    )
    op.create_table(
        "entries",
        sa.Column("assignment_id", TEXT, nullable=False),
        sa.Column("place", TEXT, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("stale", sa.Boolean(), nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignments.id"],
        ),
        sa.PrimaryKeyConstraint("assignment_id", "place"),
    )
    op.create_table(
        "messages",
        sa.Column("dialogue_id", TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["dialogue_id"],
            ["live_dialogues.id"],
        ),
        sa.PrimaryKeyConstraint("dialogue_id", "position"),
    )
