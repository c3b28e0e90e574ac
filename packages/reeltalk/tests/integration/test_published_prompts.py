"""Judges asked as the official scripts ask, and writers asked with a user's own prompts, over the network."""

import ast
import json
from pathlib import Path

import pytest
from scripted_server import Body, serve, words

from reeltalk.cli import run
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.store.runs import read_run

INSTRUCTION = "\nRate it after 'So rating='.\n\nOutput: Fine. So rating=3\n\n\n"
HEADED = """
1. Semantic Accuracy:
Score: 8
2. Contextual Coherence:
Score: 7
3. Logical Consistency:
Score: 6
4. Temporal Understanding:
Score: -1
5. Informational Completeness:
Score: 5
Overall Evaluation:
Score: 4
"""
SVBENCH = """
def create_evaluation_prompt(video_id, questions, ground_truth, model_responses, relationships):
    prompt = f\"\"\"
    Video ID: {video_id}
    Semantic Accuracy, Contextual Coherence, Logical Consistency, Temporal Understanding, Informational Completeness,
    Overall Evaluation. Score each.
    Questions:
    {questions}
    Ground Truth:
    {ground_truth}
    Model Responses:
    {model_responses}
    Relationships:
    {relationships}
    \"\"\"
"""
SINGLE = """
def create_evaluation_prompt(video_id, scene_id, question_id, question, ground_truth, model_response):
    prompt = f\"\"\"
    {video_id}/{scene_id}/{question_id}
    Q: {question}
    R: {ground_truth}
    A: {model_response}
    Accuracy:
    Score:
    \"\"\"
"""
MTV = """
def evaluate_single_task(task_data):
    PROMPT = f\"\"\"
    ### Answer:
    {model_answer}
    ### List:
    {checklist_str}
    {{
    "A1": "Yes/No"
    }}
    \"\"\"
"""


def adopted(folder: Path, source: str, **files: str) -> Path:
    """The prompts of a stand-in clone in the official layout."""
    for name, text in files.items():
        path = folder / "clone" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert run(["prompts", "--from", source, "--clone", str(folder / "clone"), "--out", str(folder / "own")]) == 0
    return folder / "own"


def sent(request: Body) -> Body:
    """A request's body, without what the server notes beside it."""
    return {name: value for name, value in request.items() if name not in ("path", "key")}


def judge(base_url: str, source: Path, out: Path, *more: str) -> int:
    model = ("--judge", "gpt-4o-mini-2024-07-18", "--judge-base-url", base_url, "--backoff-s", "0.001")
    return run(["judge", str(source), "--out", str(out), "--metrics", "none", "--null-units", "0", *model, *more])


@pytest.mark.parametrize(("kind", "folder"), [("refined", "refine"), ("template", "template")])
def test_a_published_vdeval_request_is_the_scripts_field_by_field(
    samples: Path, tmp_path: Path, kind: str, folder: str
) -> None:
    own = adopted(tmp_path, "vdact", VDEval__prompt=f"VDEVAL_INSTRUCTION = {INSTRUCTION!r}")

    def say(body: Body) -> str:
        # White space around a reply goes back to the judge as it came.
        return f" Turn {words(body['messages'][1]).count('Candidate answer: ')}. So rating=2\n"

    with serve(say, keep=99) as server:
        more = ("--format", "vdact", "--protocols", "vdeval", "--published", "--prompts", str(own))
        judge(server.base_url, samples / "vdact", tmp_path / "run", *more, "--judge-summary", kind)
        bodies = [sent(request) for request in server.requests]
    made = read_run(tmp_path / "run")
    # Of another scenario there is no summary, so its turns are unscored.
    turns = [turn for turn in made.answers() if turn.text and turn.references and turn.unit_id.startswith("09001")]
    summary = (samples / "vdact" / f"scenario_{folder}_summaries" / "09001.txt").read_text(encoding="utf-8")

    def block(turn: AnsweredTurn) -> str:
        return (
            f"Question: {turn.question}\nReference answer: {turn.references[0]}\n"
            f"Candidate answer: {turn.text}\nOutput: "
        )

    expected = []
    for key in dict.fromkeys((turn.model, turn.unit_id) for turn in turns):
        user = f"Summary: {summary}\n"
        for number, turn in enumerate([turn for turn in turns if (turn.model, turn.unit_id) == key], start=1):
            user += block(turn) if number == 1 else f" Turn {number - 1}. So rating=2\n\n\n{block(turn)}"
            expected.append(
                {
                    "model": "gpt-4o-mini-2024-07-18",
                    "messages": [
                        {"role": "system", "content": INSTRUCTION},
                        {"role": "user", "content": user},
                    ],
                    "temperature": 0,
                    "seed": 42,
                }
            )
    judged = {(row.criterion, row.value) for row in made.judged("vdeval") if row.replies}
    assert judged == {("vdeval", 2.0), ("vdeval.compat", 2.0)}
    # A dialogue that is there in part twice is judged once more with its last answers.
    assert [body for body in expected if body not in bodies] == []
    assert all(set(body) == {"model", "messages", "temperature", "seed"} for body in bodies)
    rows = {row.metric: row for row in made.summary}
    assert f"|mode:published|summary:{kind}|prompt:vdeval-published.v1#" in rows["vdeval"].signature


def test_published_prompts_of_svbench_are_filled_with_pythons_lists(samples: Path, tmp_path: Path) -> None:
    files = {"evaluation__eval_chainQA_gpt4_gpt4o": SVBENCH, "evaluation__eval_ConQA_gpt4_gpt4o": SVBENCH}
    own = adopted(tmp_path, "svbench", **files, evaluation__eval_SingleQA_gpt4_gpt4o=SINGLE)

    def say(body: Body) -> str:
        return "Accuracy:\nScore: 9\nComments: good" if "Q: " in words(body["messages"][0]) else HEADED

    with serve(say, keep=99) as server:
        more = ("--format", "svbench", "--protocols", "svbench,gpt-score", "--published", "--prompts", str(own))
        judge(server.base_url, samples / "svbench", tmp_path / "run", *more)
        bodies = [sent(request) for request in server.requests]
    assert bodies
    assert all(set(body) == {"model", "messages"} for body in bodies)
    assert all([message["role"] for message in body["messages"]] == ["user"] for body in bodies)
    made = read_run(tmp_path / "run")
    turns = list(made.answers())
    whole = [text for body in bodies if "Questions:\n" in (text := words(body["messages"][0]))]
    listed = [ast.literal_eval(text.partition("Questions:\n")[2].split("\n")[0].strip()) for text in whole]
    chains = [questions for questions in listed if questions and isinstance(questions[0], str)]
    kept = {
        (turn.model, turn.unit_id): [
            one.question for one in turns if (one.model, one.unit_id) == (turn.model, turn.unit_id)
        ]
        for turn in turns
    }
    assert chains
    assert all(questions in kept.values() for questions in chains)
    # The linked questions of a video stand in slots of lists.
    joined = [questions for questions in listed if questions and isinstance(questions[0], list)]
    assert all(len(slot) <= 2 for questions in joined for slot in questions)
    rows = {row.metric: row for row in made.summary}
    assert (rows["svbench.SA"].value, rows["svbench.SA.compat"].value) == (80.0, 80.0)
    # "-1" does not apply; the script's pattern takes it for 1.
    assert (rows["svbench.TU"].value, rows["svbench.TU.compat"].value) == (None, 10.0)
    assert rows["gpt-score"].value == rows["gpt-score.compat"].value == 90.0


def test_the_published_prompt_of_checklists_is_read_by_key_and_by_order(samples: Path, tmp_path: Path) -> None:
    own = adopted(tmp_path, "mt-video-bench", eval__eval=MTV)
    said = {"A1": "Yes", "A2": "No", "A3": "Yes", "A4": "No", "A5": "No"}
    with serve(lambda _: f"```json\n{json.dumps(said)}\n```", keep=99) as server:
        more = ("--format", "mt-video-bench", "--protocols", "checklist", "--eval-rounds", "1")
        judge(
            server.base_url,
            samples / "mt-video-bench-v2",
            tmp_path / "run",
            *more,
            "--published",
            "--prompts",
            str(own),
        )
        bodies = [sent(request) for request in server.requests]
    assert all(set(body) == {"model", "messages"} for body in bodies)
    made = read_run(tmp_path / "run")
    lists = {turn.text: turn.checklist.items for turn in made.answers() if turn.checklist and turn.text}
    for body in bodies:
        text = words(body["messages"][0])
        answer = text.partition("### Answer:\n    ")[2].partition("\n    ### List:")[0]
        items = "\n".join(f"Q{n}: {item.question}" for n, item in enumerate(lists[answer], start=1))
        assert text == (
            f'\n    ### Answer:\n    {answer}\n    ### List:\n    {items}\n    {{\n    "A1": "Yes/No"\n    }}\n    '
        )
    values = {row.criterion: row.value for row in made.judged("checklist") if row.replies}
    assert set(values) >= {"accuracy", "accuracy.compat"}


ANSWERING = """
def process():
    PROMPT = (
        f"You help somebody.\\n"
        f"Said before:\\n"
        f"{dialogue_history}\\n"
        f"Asked now:\\n"
        f"{question}"
    )
"""


def answered(samples: Path, folder: Path, preset: str, sample: str, *more: str) -> list[Body]:
    """The requests of a preset's run on a sample, without pictures."""
    assert run(["import", preset, str(samples / sample), str(folder / "bench")]) == 0
    with serve(lambda _: "He takes a mug.", keep=999) as server:
        model = ("--model", "m", "--base-url", server.base_url, "--backoff-s", "0.001", "--no-preflight")
        judging = ("--protocols", "match", "--metrics", "none", "--split", "all")
        run(["evaluate", str(folder / "bench"), "--out", str(folder / "run"), "--preset", preset, *model, *judging,
             "--policy", "none", *more])  # fmt: skip
        return [sent(request) for request in server.requests]


SENT = [
    # preset, sample, roles of a first request, words of the official prompt's facts that ours has
    ("mt-video-bench", "mt-video-bench-v2", ("assistant", "questions about a video", "conversation")),
    ("svbench", "svbench", ("expert", "one sentence", "concise", "do not mention")),
    ("vdact", "vdact", ("questions about a video",)),
]


@pytest.mark.parametrize(("preset", "sample", "facts"), SENT, ids=lambda value: str(value))
def test_a_preset_asks_as_the_official_script_does(
    samples: Path, tmp_path: Path, preset: str, sample: str, facts: tuple[str, ...]
) -> None:
    bodies = answered(samples, tmp_path, preset, sample)
    assert bodies
    turns = {turn.question: turn for turn in read_run(tmp_path / "run").answers()}
    for body in bodies:
        assert set(body) == {"model", "messages", "temperature", "max_tokens", "seed"}
        system, *conversation = body["messages"]
        assert system["role"] == "system"
        assert [fact for fact in facts if fact not in " ".join(words(system).split())] == []
        # One sentence, or the facts of the paper's list: nothing about refusing, topics or interest.
        assert words(system).count(".") <= 3
        assert not {"refuse", "topic", "interest", "openly", "truthfully"} & set(words(system).split())
        assert [one["role"] for one in conversation] == ["user", "assistant"] * (len(conversation) // 2) + ["user"]
        asked = [words(one) for one in conversation[::2]]
        assert set(asked) <= set(turns)
        # The history is the reference answers.
        assert [words(one) for one in conversation[1::2]] == [turns[text].references[0] for text in asked[:-1]]


def test_an_adopted_answering_prompt_is_sent_as_its_script_sends_it(samples: Path, tmp_path: Path) -> None:
    own = adopted(tmp_path, "mt-video-bench", eval__eval=MTV, eval__infer_qwen25vl=ANSWERING)
    prompt = own / "answer" / "mt-video-bench-published.md"
    bodies = answered(samples, tmp_path, "mt-video-bench", "mt-video-bench-v2", "--prompt", str(prompt))
    turns = {turn.question: turn for turn in read_run(tmp_path / "run").answers()}
    histories = []
    for body in bodies:
        [message] = body["messages"]
        assert message["role"] == "user"
        told = words(message).removeprefix("You help somebody.\nSaid before:\n")
        history, question = told.split("\nAsked now:\n")
        assert question in turns
        histories.append(ast.literal_eval(history))
    longest = max(histories, key=len)
    assert longest[0].startswith("User: ")
    first = turns[longest[0].removeprefix("User: ")]
    assert longest[1] == f"Assistant: {first.references[0]}"
    assert [] in histories
    made = read_run(tmp_path / "run").summary
    assert all("preset:mt-video-bench modified (" in row.signature for row in made if row.model == "m")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--protocols", "vdeval", "--published"), "reeltalk prompts --from vdact --clone PATH"),
        (("--protocols", "vdeval", "--prompts", "OWN"), "are for --published; pass it too"),
        (("--protocols", "lave", "--published", "--prompts", "OWN"), "lave has no published mode"),
        (("--protocols", "vdeval,checklist", "--published", "--prompts", "OWN"), "in runs of their own"),
        (("--protocols", "match", "--published", "--prompts", "OWN"), "for protocols that ask a model"),
        (("--protocols", "vdeval", "--published", "--judge-history", "none", "--prompts", "OWN"), "judge-history"),
    ],
)
def test_what_is_not_as_published_is_refused_before_anything_is_asked(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], problem: str
) -> None:
    own = adopted(tmp_path, "vdact", VDEval__prompt=f"VDEVAL_INSTRUCTION = {INSTRUCTION!r}")
    with serve(lambda _: "So rating=3") as server:
        chosen = tuple(str(own) if word == "OWN" else word for word in more)
        assert judge(server.base_url, samples / "vdact", tmp_path / "run", "--format", "vdact", *chosen) == 2
        assert server.count == 0
    assert problem in capsys.readouterr().err


def test_a_prompt_of_ones_own_is_what_a_judge_is_asked_with(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "own" / "judge" / "vdeval.md"
    path.parent.mkdir(parents=True)
    path.write_text("<!-- vdeval v7 -->\nMy own words. So rating=\n", encoding="utf-8")
    source = samples / "vdact" / "results" / "careful-8f.json"
    more = ("--format", "vdact", "--protocols", "vdeval", "--judge-summary", "none", "--prompts", str(tmp_path / "own"))
    with serve(lambda _: "Fine. So rating=3", keep=99) as server:
        assert judge(server.base_url, source, tmp_path / "run", *more) == 0
        assert {words(body["messages"][0]) for body in server.requests} == {"My own words. So rating="}
    rows = {row.metric: row for row in read_run(tmp_path / "run").summary}
    assert "|prompt:vdeval.v7#" in rows["vdeval"].signature


def test_a_preset_says_before_playing_that_meteor_cannot_be_scored(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reeltalk.metrics.meteor.shutil.which", lambda _: None)
    assert run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "bench")]) == 0
    told: list[str] = []

    def say(_: Body) -> str:
        told.append(capsys.readouterr().err)
        return "He takes a mug."

    with serve(say) as server:
        model = ("--model", "m", "--base-url", server.base_url, "--no-preflight", "--policy", "none")
        planned = ("--preset", "vdact", *model, "--protocols", "match", "--split", "all", "--plan")
        assert run(["evaluate", str(tmp_path / "bench"), "--out", str(tmp_path / "run"), *planned]) == 0
        assert "meteor will not be scored: METEOR 1.5 needs Java" in capsys.readouterr().err
        run(["evaluate", str(tmp_path / "bench"), "--out", str(tmp_path / "run"), "--preset", "vdact", *model,
             "--protocols", "match", "--split", "all", "--connections", "1"])  # fmt: skip
    assert "meteor will not be scored: METEOR 1.5 needs Java" in told[0]
    assert "meteor" not in "".join(told[1:])
