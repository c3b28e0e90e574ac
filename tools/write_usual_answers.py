"""Writes `usual_answers.toml`: what the acts and things of a question make anybody guess who has not seen the film.

Scenarios of many houses are played without being filmed, and the answers to all their questions are counted under what
each question names. An answer that prevails there is the usual one. Run it again when scenes or questions change.
"""

import json
from pathlib import Path
from typing import Final

from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.balancing import USUAL_ANSWERS, AnswerCounts
from reeltalk_household.questions.questions import questions
from reeltalk_household.world.film import plan_films, play_film, scene_graph
from reeltalk_household.world.settings import FilmSettings
from reeltalk_household.writer.graph_chains import UNASKED_KINDS
from reeltalk_household.writer.graph_dialogues import UNASKED_IN_DIALOGUES

FILMS: Final = FilmSettings(scenarios=240, houses=60, first_house=301, seed=301, min_duration_s=25, max_duration_s=60)
"""Other houses than those of the demo and of the releases."""
LEAST_SHARE: Final = 0.4
LEAST_COUNT: Final = 8


def main() -> None:
    """Count and write."""
    counts = AnswerCounts()
    for planned in plan_films(FILMS).plans:
        house, named = planned.built(), [scene.clip for scene in planned.scenes]
        texts = {
            name: scene_graph(house, name, scene.activity, scene.steps, begins_s=scene.start_s)
            for name, scene in zip(named, play_film(planned), strict=True)
        }
        story = Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()])
        counts.add((q for q in questions(story, seed=0) if q.kind not in UNASKED_KINDS | UNASKED_IN_DIALOGUES), story)
    lines = ["# Written by tools/write_usual_answers.py: a kind of question with what it names, and the usual answer."]
    for cue, answers in sorted(counts.answers.items()):
        (answer, times), *_ = answers.most_common(1)
        if len(cue) > 1 and times >= max(LEAST_COUNT, LEAST_SHARE * answers.total()):
            lines.append(f"{json.dumps(' '.join(cue))} = {json.dumps(answer)}")
    Path(USUAL_ANSWERS).write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
