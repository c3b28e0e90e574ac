"""Taking the test: a person answers a benchmark's questions one by one, and sees no more than a model."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.media import Clip
from reeltalk.schema.record import Json
from reeltalk.store.content import Content
from reeltalk_review.errors import InvalidValue
from reeltalk_review.naming import SEPARATOR, ContentNames
from reeltalk_review.tasks.task import Code, Draft, ReviewTask, Text, Value, remark_lines

Mode = Literal["dialogue", "streaming"]


class AnswerValue(Value):
    """One person's answer."""

    text: Text = ""
    choice: Annotated[int, Field(ge=0)] | None = None
    """Index of the chosen option, from 0, if there are options."""
    given: bool = False
    """True once it is given. Then it cannot be changed, like a model's answer, and the next question comes."""


def answer_drafts(content: Content, mode: Mode, *, split: str | None = None) -> list[Draft]:
    """Units for the test: chains and dialogues after their clips, or paths of questions asked while the video plays.

    Args:
        content: The benchmark.
        mode: `dialogue`, or `streaming` along dialogue paths.
        split: Only videos of this split.
    """
    videos = {video.id: video for video in content.videos if split is None or video.split == split}
    clips = {clip.id: clip for clip in content.clips}
    found: list[Draft] = []
    names, counts = ContentNames(content), Counter[str]()

    def add(kind: str, unit_id: str, video_id: str, turns: Sequence[tuple[Turn, float | None]]) -> None:
        asked = [_shown_question(turn, until_s) for turn, until_s in turns]
        if video_id in videos and asked:
            counts[video_id] += 1
            found.append(
                Draft(
                    target_table="test",
                    target_id=f"{kind} {unit_id}",
                    # The video's own name could say what happens in it, and models are not told it either.
                    title=f"{names.hidden_video(video_id)}{SEPARATOR}dialogue {counts[video_id]}",
                    video_id=video_id,
                    content={"mode": mode, "unit": kind, "id": unit_id, "turns": asked},
                )
            )

    if mode == "dialogue":
        for chain in content.chains:
            end_s = _end_of([clips[chain.clip_id]] if chain.clip_id in clips else [])
            add("chain", chain.id, chain.video_id, [(turn, end_s) for turn in chain.turns])
        for dialogue in content.dialogues:
            end_s = _end_of([clips[name] for name in dialogue.clip_ids if name in clips])
            add("dialogue", dialogue.id, dialogue.video_id, [(turn, end_s) for turn in dialogue.turns])
        return found
    chains: dict[str, QAChain] = {chain.id: chain for chain in content.chains}
    for path in content.paths:
        turns: list[tuple[Turn, float | None]] = []
        for step in path.steps:
            chain = chains[step.ref.unit_id]
            turn = step.turn or chain.turns[step.ref.turn_index]
            end_s = _end_of([clips[chain.clip_id]] if chain.clip_id in clips else [])
            turns.append((turn, turn.asked_at_s if turn.asked_at_s is not None else end_s))
        add("path", path.id, path.video_id, turns)
    return found


class AnswerTask(ReviewTask):
    """The test, question by question."""

    kind = "test"
    title = "Take the test"
    template = "work_test.html"
    adjudicated = False

    def drafts(self, content: Content) -> Iterator[Draft]:
        """None: people who review a benchmark know its answers. `answer_drafts` makes the units."""
        yield from ()

    def visible_content(self, content: Mapping[str, Json], values: Mapping[str, Json]) -> Mapping[str, Json]:
        """The questions up to the one to answer, and how many there are in all."""
        upto = _given(values) + 1
        turns = content["turns"][:upto]
        return {**content, "turns": turns, "count": len(content["turns"])}

    def lock_reason(self, content: Mapping[str, Json], values: Mapping[str, Json], place: str) -> str | None:
        """Given answers and later questions are locked."""
        given = _given(values)
        if int(place) < given:
            return "this answer was given and cannot be changed: the questions after it depend on it"
        return "this question was not asked yet" if int(place) > given else None

    def check(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The value as it is stored.

        Raises:
            InvalidValue: It is not an answer to that question.
        """
        if place not in self.places(content):
            raise InvalidValue("there is no such question", field="place")
        found = AnswerValue.parsed(value)
        options = content["turns"][int(place)]["options"]
        if found.choice is not None and found.choice >= len(options or ()):
            raise InvalidValue(f"the question has {len(options or ())} options", field="choice")
        if found.given and options and found.choice is None:
            raise InvalidValue("choose one of the options", field="choice")
        if found.given and not options and not found.text.strip():
            raise InvalidValue("write an answer; you may say that you do not know", field="text")
        return found.model_dump(mode="json")

    def is_decided(self, value: Json) -> bool:
        """True if the answer was given."""
        return value is not None and bool(value["given"])

    def essence(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        return {"text": value["text"], "choice": value["choice"]}

    def draft_value(self, content: Mapping[str, Json], place: str) -> Json:
        return AnswerValue().model_dump(mode="json")

    def codes(self, content: Mapping[str, Json], place: str, value: Json) -> Iterator[Code]:
        """The option or the words."""
        if content["turns"][int(place)]["options"]:
            yield Code("choice", "nominal", value["choice"])
        else:
            yield Code("answer", "text", value["text"])

    def summary(self, content: Mapping[str, Json], place: str, value: Json) -> Sequence[tuple[str, str]]:
        options = content["turns"][int(place)]["options"]
        said = options[value["choice"]] if options and value["choice"] is not None else value["text"]
        return [("Answer", said), *remark_lines(value)]


def bound_s(content: Mapping[str, Json], values: Mapping[str, Json]) -> float | None:
    """The time after which a person who takes the test sees and reads nothing; None if they may watch everything.

    Args:
        content: The content of a unit of the test.
        values: The person's values so far, by place.
    """
    turns, given = content["turns"], _given(values)
    return turns[given]["until_s"] if given < len(turns) else None


def _given(values: Mapping[str, Json]) -> int:
    """How many answers were given, counted from the first without a gap."""
    count = 0
    while (value := values.get(str(count))) is not None and value["given"]:
        count += 1
    return count


def _end_of(clips: Sequence[Clip]) -> float | None:
    ends = [clip.interval.end_s for clip in clips if clip.interval is not None]
    return max(ends) if ends else None


def _shown_question(turn: Turn, until_s: float | None) -> dict[str, Any]:
    return {
        "question": turn.question,
        "options": list(turn.options) if turn.options is not None else None,
        # The person who answers may not see anything after this time.
        "until_s": until_s,
    }
