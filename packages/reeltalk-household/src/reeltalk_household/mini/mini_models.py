"""The models that the household adds: `mini`, which was trained on its films, and `oracle`, which reads its graphs."""

from pathlib import Path
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.evaluation.models import AddedModel, CreatedPlayer, PlayerRequest
from reeltalk.evaluation.playing.other_players import CachedPlayer
from reeltalk_household.mini.mini import LONGEST_ANSWER, MiniModel
from reeltalk_household.oracle import OraclePlayer
from reeltalk_streaming.inference.stream_memory import MemoryPolicy, bounded_memory
from reeltalk_streaming.local_models import StreamPlayer


def create_mini(spec: str = "mini", *, policy: MemoryPolicy | None, max_words: int | None = None) -> MiniModel:
    """The model.

    Args:
        spec: `mini` for the weights that come with reeltalk, or `mini:FOLDER`.
        policy: The part of a stream that is kept. The default is everything.
        max_words: Longest answer, in words and pieces of words. The limit of the model still applies.

    Raises:
        InputError: The folder holds no such model.
        SettingError: No folder is named.
    """
    _, colon, name = spec.partition(":")
    if colon and not name:
        raise SettingError(f"{spec!r} names no folder; give mini:FOLDER, or mini for what comes with reeltalk")
    longest = min(max_words or LONGEST_ANSWER, LONGEST_ANSWER)
    return MiniModel(Path(name) if name else None, policy=policy, longest_answer=longest)


def _mini_player(request: PlayerRequest) -> CreatedPlayer:
    """reeltalk-mini, of a folder or the one that comes with reeltalk."""
    spec, asking = request.spec, request.asking
    policy = bounded_memory(asking.memory_frames) if asking.bounded else None
    model = create_mini(spec, policy=policy, max_words=asking.endpoint.max_tokens)
    if request.config.play.subtitles and not model.words.hears:
        raise SettingError(
            f"{spec} was trained on pictures and questions alone and reads no speech; give --no-subtitles"
        )
    asked = asking.endpoint.max_tokens
    player = StreamPlayer(
        model,
        memory=policy.signature if policy else "all",
        sees_frames=asking.sees_images,
        tells_options=False,
        longest=asked if asked < LONGEST_ANSWER else None,
    )
    return CreatedPlayer(CachedPlayer(player, request.store), (spec, ""))


def _oracle_player(request: PlayerRequest) -> CreatedPlayer:
    oracle = OraclePlayer.of(request.benchmark)
    return CreatedPlayer(oracle, (request.spec, ""), knows=oracle.knows)


MINI: Final = AddedModel(player=_mini_player, stream=create_mini)
ORACLE: Final = AddedModel(player=_oracle_player)
