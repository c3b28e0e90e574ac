"""What the link board computes about a rewritten question: repetitions, references to nothing, what no longer fits."""

import json
import subprocess
from typing import Any

import check_scripts
import pytest
from places import REVIEW

SCRIPT = REVIEW / "static" / "coherence.js"


def problems(wording: Any, around: Any) -> list[str]:
    """What the script says, run by Node."""
    node = check_scripts.find_node()
    if node is None:
        pytest.skip("there is no Node: neither Playwright's nor one on the PATH")
    program = (
        f"import {{ problemsOf }} from {json.dumps(SCRIPT.as_uri())};"
        "const [wording, around] = JSON.parse(process.argv[1]);"
        "console.log(JSON.stringify(problemsOf(wording, around)));"
    )
    done = subprocess.run(
        [node, "--input-type=module", "--eval", program, "--", json.dumps([wording, around])],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    found: list[str] = json.loads(done.stdout)
    return found


AROUND = {
    "source": {"question": "What does the woman pour?", "references": ["Milk."]},
    "target": {"question": "What is on the table?", "references": ["A red pot."]},
    "before": {"question": "Where does she sit?", "references": ["At the table."]},
    "after": {"question": "Is it full?", "references": ["No."]},
    "drafts": [{"question": "Is the milk in the pot?", "problems": ["too easy"]}],
    "others": [{"name": "Link 2 → 1", "question": "What lies on the table now?"}],
}


ALONE: dict[str, Any] = {"others": []}


@pytest.mark.parametrize(
    ("question", "answer", "changed", "found"),
    [
        (None, None, {}, []),
        ("Is the pot on the table the one into which the milk went?", "Yes.", ALONE, []),
        ("  ", "Yes.", {}, ["no words"]),
        ("Which pot holds the milk?", "", ALONE, ["no answer"]),
        (
            "where does she sit",
            "On a chair.",
            ALONE,
            ["of the turn before", "does not refer to the earlier turn", "next turn"],
        ),
        (
            "Is it full?",
            "No, the pot is empty.",
            ALONE,
            ["of the turn after", "does not refer to the earlier turn"],
        ),
        (
            "What does the woman pour?",
            "The pot.",
            ALONE,
            ["repeats the question of the earlier turn of the link"],
        ),
        ("Is the milk in the pot?", "Yes.", ALONE, ["too easy"]),
        ("Which pot holds the milk?", "The red one.", {}, ["in other words"]),
        ("Does the milk stand in a red pot?", "a red pot", ALONE, ["says its own answer"]),
        ("Which cup stands on the table?", "A blue one.", ALONE, ["does not refer to the earlier turn"]),
        ("Who drinks the milk?", "She.", ALONE, ["may rest on what the question no longer speaks of"]),
        (
            "Does he like it there?",
            "Yes, the pot.",
            {**ALONE, "before": None},
            ["does not refer to the earlier turn", "first turn"],
        ),
        ("桌上还有牛奶吗？", "有。", ALONE, []),
    ],
)
def test_what_can_be_computed_about_a_rewriting_is_said(
    question: str | None, answer: str | None, changed: dict[str, Any], found: list[str]
) -> None:
    wording = {"question": question, "references": None if answer is None else [answer]}
    around = {key: value for key, value in {**AROUND, **changed}.items() if value is not None}
    said = problems(wording, around)
    assert len(said) == len(found), said
    for part, line in zip(found, said, strict=True):
        assert part in line
