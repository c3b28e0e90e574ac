"""The scripted vision model under several names: one writer plants faults, and the judge sees them.

`CARELESS` is a writer whose chains hold an untrue answer, a script, or an answer that nobody can know. A model whose
name begins with `judge` checks the chains of all. Every other name is the model of `scripted_vision`.
"""

import hashlib
import json
from typing import Any, Final

import scripted_vision
from scripted_replies import read_fenced_chains
from scripted_server import Body, words

CARELESS: Final = "careless-2b"
UNTRUE: Final = "He rides on an elephant through the room."
UNKNOWABLE: Final = "He thinks about his grandmother while he does it."
HOSTILE: Final = "What does <script>alert(1)</script> do to the box?"
FINDINGS: Final[dict[str, tuple[str, str]]] = {
    UNTRUE: ("contradicted", "There is no elephant in the room."),
    UNKNOWABLE: ("cannot tell", "Nobody can see what he thinks."),
}


def reply(body: Body) -> str:
    """The model's text for a request."""
    said = scripted_vision.reply(body)
    kind = body.get("response_format", {}).get("json_schema", {}).get("name", "")
    if body["model"] == CARELESS and kind == "ChainReply":
        return json.dumps(_spoilt(json.loads(said)))
    if body["model"].startswith("judge") and kind == "QualityReply":
        return json.dumps(_checked(json.loads(said), "\n".join(words(message) for message in body["messages"])))
    return said


def _spoilt(chain: dict[str, Any]) -> dict[str, Any]:
    turns = chain["turns"]
    draw = hashlib.sha256(json.dumps(turns).encode()).digest()[0] % 4
    if draw == 0:
        turns[1]["answer"] = UNTRUE
    elif draw == 1:
        turns[2]["question"] = HOSTILE
    else:
        turns[-1]["answer"] = UNKNOWABLE
    return chain


def _checked(judged: dict[str, Any], text: str) -> dict[str, Any]:
    turns = next(chain for chain in read_fenced_chains(text) if chain)
    for check, (_, answer) in zip(judged["turns"], turns, strict=True):
        if answer in FINDINGS:
            check["verdict"], check["seen"] = FINDINGS[answer]
    return judged
