"""A model: it always says the same. `--model say:Yes` answers every question with *Yes*.

The entry point `say` stands for the models `say` and `say:ANYTHING`. A real model would load its weights where this one
reads its words.
"""

from dataclasses import dataclass
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.evaluation.models import AddedModel, CreatedPlayer, PlayerRequest
from reeltalk.evaluation.playing.play import Pictures, Response, TurnInput


@dataclass(frozen=True)
class SayPlayer:
    """Answers with the same words at every turn."""

    words: str
    sees_frames: bool = False
    """No frames are decoded for a player that does not look at them."""

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"say:{self.words}"

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Everything but the question that can change an answer."""
        return (("say", self.words),)

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """Answer a turn.

        Args:
            seen: What a model may know: the question, the history, and the frames up to the moment of the question.
            pictures: Gives the frames as JPEG files.
        """
        return Response(self.words)


def create_player(request: PlayerRequest) -> CreatedPlayer:
    """Create the model for a run.

    Args:
        request: The model's name on the command line, the settings of the run, and the benchmark.

    Raises:
        SettingError: No words are given.
    """
    words = request.spec.partition(":")[2].strip()
    if not words:
        raise SettingError("say needs words; give --model say:WORDS")
    return CreatedPlayer(SayPlayer(words), (request.spec, ""))


MODEL: Final = AddedModel(player=create_player)
