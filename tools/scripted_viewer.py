"""A model that has watched a benchmark's videos: it answers a turn if it is shown enough, for tests of the gates.

It knows the answers and their evidence from the tables. It says them when a request has a picture from inside the
evidence and, for a turn that goes on from another one, the answer before it; otherwise it does not know.
"""

import re
from collections import defaultdict
from pathlib import Path

import scripted_vision
from scripted_server import Body, Script, count_images, words

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES
from reeltalk_build.construct.equivalence import UNKNOWN
from reeltalk_build.construct.probing import claims_dialogue, parent_of


def viewer(folder: Path) -> Script:
    """Replies of a model that has watched the videos of a benchmark, and judges as `scripted_vision` does."""
    known: dict[str, list[tuple[Turn, str | None]]] = defaultdict(list)
    benchmark = Benchmark.open(folder)
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    for unit in units:
        for index, turn in enumerate(unit.turns):
            goes_on = claims_dialogue(unit, index)
            before = unit.turns[parent_of(unit, index)].references[0] if goes_on else None
            known[turn.question].append((turn, before))

    def reply(body: Body) -> str:
        text = words(body["messages"][-1])
        if UNKNOWN not in text or "response_format" in body:
            return scripted_vision.reply(body)
        moments = re.search(r"seconds of the video: ([\d., ]+)\.", text)
        times = [float(time) for time in moments[1].split(", ")] if moments else []
        assert len(times) in (0, count_images(body))
        question = re.findall(r"^Question: (.+)", text, re.MULTILINE)[-1]
        said = set(re.findall(r"^Answer: (.+)", text, re.MULTILINE))
        for turn, before in known[question]:
            inside = any(part.start_s <= time <= part.end_s for part in turn.evidence for time in times)
            if inside and (before is None or before in said):
                return turn.references[0]
        return UNKNOWN

    return reply
