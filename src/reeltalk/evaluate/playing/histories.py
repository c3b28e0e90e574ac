"""What a turn is told of the turns before it: reference answers, the model's own, none, or its own with a wrong one.

A wrong answer planted at one turn answers whether an early error cascades. It is another video's answer to a question
of the same form, so that only the video tells that it is wrong.
"""

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable

from reeltalk.baselines.constant import question_form, question_head
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.metrics.agree import agrees, is_yes_no, polarity
from reeltalk.schema.dialogue import Turn


class WrongAnswers:
    """Answers of other videos by the form of their question.

    Args:
        turns: Turns with the video each is about, as of the whole benchmark.
        seed: Decides which is taken.
    """

    def __init__(self, turns: Iterable[tuple[str, Turn]], *, seed: int) -> None:
        self._seed = seed
        self._by_form: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for video_id, turn in turns:
            if turn.references:
                for form in (question_form(turn.question), question_head(turn.question), ""):
                    self._by_form[form].append((video_id, turn.references[0]))

    def wrong(self, script: Script, step: Step) -> str | None:
        """An answer that is wrong for a turn; None where the benchmark holds none.

        Args:
            script: Whose turn it is.
            step: The turn.
        """
        turn = step.turn
        if turn.options is not None and turn.correct_option is not None:
            right = turn.options[turn.correct_option].strip().casefold()
            others = [option for option in turn.options if option.strip().casefold() != right]
            return self._draw(script, step).choice(others) if others else None
        if not turn.references:
            # Where nobody knows what is right, nobody knows what is wrong.
            return None
        said = {polarity(reference) for reference in turn.references}
        if said <= {"yes", "no"} and is_yes_no(turn.question):
            return None if len(said) > 1 else "No." if "yes" in said else "Yes."
        for form in (question_form(turn.question), question_head(turn.question), ""):
            fitting = [
                answer
                for video_id, answer in self._by_form.get(form, ())
                if video_id != script.video_id and not agrees(answer, turn.references, turn.question)
            ]
            if fitting:
                return self._draw(script, step).choice(sorted(set(fitting)))
        return None

    def _draw(self, script: Script, step: Step) -> random.Random:
        name = f"{self._seed} {script.id} {step.unit_id} {step.turn_index}"
        return random.Random(hashlib.sha256(name.encode()).hexdigest())
