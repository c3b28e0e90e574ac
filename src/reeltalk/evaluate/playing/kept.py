"""Keeps the answers of a player that takes its time, so that a run that was stopped does not ask it again."""

import json
import time

from reeltalk.evaluate.playing.player import Pictures, Player, Said, Seen
from reeltalk.llm.model import Message, Reply
from reeltalk.llm.replies import ReplyStore, reply_key


class KeptPlayer:
    """A player whose answers are kept; what it failed to answer is asked again.

    Args:
        player: Who answers where no answer is kept.
        store: Keeps answers, by all that was shown.
    """

    def __init__(self, player: Player, store: ReplyStore) -> None:
        self._player, self._store = player, store

    @property
    def name(self) -> str:
        """The player's."""
        return self._player.name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The player's."""
        return self._player.signature

    @property
    def sees_frames(self) -> bool:
        """The player's."""
        return self._player.sees_frames

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        """The answer that is kept, else a new one.

        Raises:
            BenchmarkError: The answer cannot be kept, as on a full disk.
        """
        said = [[past.question, past.answer] for past in seen.history]
        asked = json.dumps([seen.question, said, seen.options, seen.subtitles], ensure_ascii=False)
        shown = Message("user", asked, tuple(frame.reference for frame in seen.frames))
        key = reply_key(self.name, [shown], sampling=dict(self.signature))
        kept = self._store.get(key)
        if kept is not None:
            return Said(
                kept.text,
                took_s=kept.took_s,
                first_token_s=kept.first_token_s,
                prompt_tokens=kept.prompt_tokens,
                completion_tokens=kept.completion_tokens,
                cached=True,
            )
        began_s = time.monotonic()
        answer = await self._player.answer(seen, pictures)
        if answer.text is not None:
            took_s = answer.took_s if answer.took_s is not None else time.monotonic() - began_s
            reply = Reply(
                answer.text,
                self.name,
                answer.prompt_tokens,
                answer.completion_tokens,
                cut_off=False,
                took_s=took_s,
                first_token_s=answer.first_token_s,
            )
            self._store.put(key, reply)
        return answer
