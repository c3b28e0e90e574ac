"""A layout: interviews as plain text.

    Video: kitchen
    Q: What does she pour?
    A: Milk.
    Q: Into what?
    A: A cup.

Each line `Video:` begins a dialogue. A layout is a module with two functions: `read` turns a file or a folder into the
records of a benchmark, and `write` turns the records into files.
"""

from pathlib import Path

from reeltalk.errors import InputError
from reeltalk.formats.layout import lost_beyond_dialogues
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.store.content import Content
from reeltalk.store.documents import read_text


def read(source: Path) -> Content:
    """Read one file.

    Args:
        source: The path that the user gave to `reeltalk import`.

    Raises:
        InputError: A line does not belong there. The error names the file and the line, and says what to do.
    """
    dialogues: list[Dialogue] = []
    for number, line in enumerate(read_text(source).splitlines(), start=1):
        word, _, text = (part.strip() for part in line.partition(":"))
        turns = dialogues[-1].turns if dialogues else ()
        if not line.strip():
            continue
        if word == "Video":
            name = DialogueId(f"interview-{len(dialogues) + 1}")
            dialogues.append(Dialogue(id=name, video_id=VideoId(text), turns=()))
        elif word == "Q" and dialogues:
            dialogues[-1] = dialogues[-1].model_copy(update={"turns": (*turns, Turn(question=text))})
        elif word == "A" and turns and not turns[-1].references:
            answered = turns[-1].model_copy(update={"references": (text,)})
            dialogues[-1] = dialogues[-1].model_copy(update={"turns": (*turns[:-1], answered)})
        else:
            hint = "write a line 'Video:', then for each question a line 'Q:' and a line 'A:'"
            raise InputError("this line has no place in an interview", file=source, line=number, value=line, hint=hint)
    videos = dict.fromkeys(dialogue.video_id for dialogue in dialogues)
    return Content(videos=[Video(id=name) for name in videos], dialogues=dialogues)


def write(content: Content, folder: Path) -> list[str]:
    """Write `interviews.txt`.

    Args:
        content: The benchmark.
        folder: An empty folder.

    Returns:
        A line for each thing that the layout cannot express, so that nothing is lost without a word.
    """
    lines: list[str] = []
    for dialogue in content.dialogues:
        lines.append(f"Video: {dialogue.video_id}")
        for turn in dialogue.turns:
            lines.append(f"Q: {' '.join(turn.question.split())}")
            lines += [f"A: {' '.join(answer.split())}" for answer in turn.references[:1]]
    (folder / "interviews.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return lost_beyond_dialogues(content, options=False)
