"""A vision model behind the chat-completions protocol that does all it is asked, for tests of construction.

Its replies are those of `scripted_replies`; it compares answers by their meaning.
What it says follows from the request alone, so that the same requests get the same replies.
`python tools/scripted_vision.py` serves it.
"""

import hashlib
import itertools
import json
import re
import sys
import time
from typing import Any, Final

from scripted_replies import PLAIN, REPLIES
from scripted_server import Body, serve, words


def reply(body: Body) -> str:
    """The model's text for a request."""
    text = "\n".join(words(message) for message in body["messages"])
    draw = int(hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest(), 16)
    name = body.get("response_format", {}).get("json_schema", {}).get("name", "")
    if name == "EquivalenceReply":
        return json.dumps(decide_equivalence(text))
    if name in REPLIES:
        return json.dumps(REPLIES[name](text, draw))
    # It has not watched the videos; `scripted_viewer.py` has.
    return "UNKNOWN" if "UNKNOWN" in text else PLAIN


_SYNONYMS: Final = {
    "cup": "mug", "couch": "sofa", "settee": "sofa", "armchair": "chair", "lifts": "takes", "lifted": "takes",
    "picks": "takes", "picked": "takes", "grabs": "takes", "taken": "takes", "places": "puts", "placed": "puts",
    "sets": "puts", "set": "puts", "shuts": "closes", "closed": "closes", "shut": "closes", "starts": "begins",
    "little": "small", "tiny": "small", "large": "big", "worktop": "counter", "hands": "gives", "handed": "gives",
    "given": "gives", "passes": "gives", "pursues": "chases", "chased": "chases", "pursued": "chases", "boy": "child",
    "kid": "child", "leaves": "exits", "wiped": "wipes", "cleans": "wipes", "cleaned": "wipes", "hides": "conceals",
    "hidden": "conceals", "lady": "woman", "gentleman": "man", "phones": "calls", "rings": "calls", "called": "calls",
    "enters": "comes", "walks": "comes", "lamp": "light", "fridge": "refrigerator", "doesn't": "not", "never": "not",
    "four": "4", "two": "2", "three": "3", "fixes": "repairs", "mends": "repairs", "repaired": "repairs",
    "pushed": "pushes", "fed": "feeds", "waters": "gives-water", "tv": "television", "stairs": "staircase",
}  # fmt: skip
_EMPTY: Final = frozenset(
    "a an the he she it they him her them his is are was were be by of to up down on onto in into at from with and "
    "then does do did that this there so as for off out again".split()
)


def _meaning(text: str) -> tuple[set[str], str | None]:
    """The concepts of a sentence, and who acts: the first with an article, or the one after *by* in a passive."""
    plain = [_SYNONYMS.get(word, word) for word in re.findall(r"[\w'-]+", text.lower())]
    named = [after for before, after in itertools.pairwise(plain) if before in ("the", "a", "an")]
    if re.search(r"\b(?:is|are|was|were)\b.*\bby\b", text.lower()) and plain.index("by") + 2 < len(plain) + 1:
        behind = [word for word in plain[plain.index("by") :] if word not in _EMPTY]
        named = [*behind[:1], *named]
    pronoun = plain[:1] in (["he"], ["she"], ["they"], ["it"])
    return {word for word in plain if word not in _EMPTY}, None if pronoun or not named else named[0]


def _same(question: str, reference: str, answer: str) -> bool:
    if answer.strip().lower().rstrip(".") in ("", "unknown", "i cannot tell", "it is not shown"):
        return False
    (due, doer), (said, other) = _meaning(reference), _meaning(answer)
    wanted = due - _meaning(question)[0] or due
    roles = doer is None or other is None or doer == other or doer not in said or other not in due
    return wanted <= said and ("not" in due) == ("not" in said) and roles


def decide_equivalence(text: str) -> dict[str, Any]:
    """The reply of a competent judge about pairs of answers."""
    pairs = [json.loads(line) for line in text.split("=====")[1].strip().splitlines()]
    verdicts = [any(_same(pair["question"], one, pair["answer"]) for one in pair["references"]) for pair in pairs]
    why = {True: "both say the same", False: "the answer says something else"}
    return {
        "pairs": [
            {"number": pair["number"], "reason": why[same], "same": same}
            for pair, same in zip(pairs, verdicts, strict=True)
        ]
    }


def main() -> None:
    """Serve until Ctrl-C."""
    with serve(reply) as server:
        print(server.base_url, flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            sys.exit(0)


if __name__ == "__main__":
    main()
