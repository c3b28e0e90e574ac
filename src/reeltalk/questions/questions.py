"""Questions from facts: what a scenario's graphs can answer, with exact answers, evidence and distractors.

Each kind of question finds its facts in a `Story`; `wording.py` puts them into words. What the graphs cannot answer
becomes a refusal item, never a guess. `checking.py` answers every question again by SPARQL.
"""

import random
from typing import Final

from reeltalk.graph.story import Story
from reeltalk.questions.question import Question
from reeltalk.questions.questions_of_acts import (
    acts_beside_acts,
    acts_counted,
    acts_done,
    order_of_acts,
    postures,
    reasons,
)
from reeltalk.questions.questions_of_scenes import how_long, looks_of_the_person, refusals, rooms_asked
from reeltalk.questions.questions_of_things import (
    cleaning,
    first_and_last_things,
    looks_and_states,
    places_of_things,
    things_after,
    things_counted,
    uses,
)


def questions(story: Story, *, seed: int = 0) -> list[Question]:
    """All that a story's graphs can answer, in a fixed order.

    Args:
        story: The scenario.
        seed: Decides which of the things that are not done are asked for.
    """
    draw = random.Random(f"questions {seed}")
    return [question for maker in _MAKERS for question in maker(story, draw)]


_MAKERS: Final = (
    first_and_last_things,
    things_after,
    acts_done,
    acts_counted,
    places_of_things,
    rooms_asked,
    acts_beside_acts,
    order_of_acts,
    things_counted,
    looks_of_the_person,
    postures,
    looks_and_states,
    reasons,
    cleaning,
    how_long,
    uses,
    refusals,
)
