"""Tags that a model proposes for questions: CogME's profile and VDAct's question types, until a person checks them."""

from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.construct.prompting import PromptedModel, given, numbered
from reeltalk.construct.replies import TagsReply
from reeltalk.construct.writers import Unwritten
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.record import Json

UNVERIFIED: Final = "tags_verified"
"""Under this name a turn's `extra` says that no person has looked at its tags yet."""


def tagged(writer: PromptedModel, turns: Sequence[Turn], *, made: Mapping[str, Json]) -> tuple[Turn, ...] | Unwritten:
    """The turns with the tags that a model proposes.

    Args:
        writer: Proposes them.
        turns: What to tag; labels that they have in other vocabularies stay.
        made: What `extra` says about who wrote.

    Raises:
        ModelError: There is no reply to be had.
        BudgetError: A limit would be passed.
    """

    def complaint(reply: TagsReply) -> str | None:
        same = len(reply.tags) == len(turns)
        return None if same else f"there are {len(turns)} questions but {len(reply.tags)} entries"

    reply = given(writer.ask("tags", TagsReply, data={"chain": numbered(turns)}, check=complaint))
    if isinstance(reply, Unwritten):
        return reply
    return tuple(
        turn.model_copy(
            update={
                "labels": turn.labels
                | {
                    "cogme.target": tuple(tag.value for tag in tags.target),
                    "cogme.content": tuple(tag.value for tag in tags.content),
                    "cogme.thinking": (tags.thinking.value,),
                    "vdact.question_type": tuple(tag.value for tag in tags.types),
                },
                "extra": {**turn.extra, **made, UNVERIFIED: False},
            }
        )
        for turn, tags in zip(turns, reply.tags, strict=True)
    )
