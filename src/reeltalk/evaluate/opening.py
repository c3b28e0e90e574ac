"""From names on the command line to what answers and what judges."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from reeltalk.errors import SettingError
from reeltalk.evaluate.judging.judge import Judge
from reeltalk.evaluate.playing.chat import ChatPlayer, answer_prompt
from reeltalk.evaluate.playing.kept import KeptPlayer
from reeltalk.evaluate.playing.player import Player
from reeltalk.evaluate.settings import JudgeSettings
from reeltalk.extension import PREFIX as PREFIX_OF_OWN
from reeltalk.llm import Budget, Endpoint, ReplyStore
from reeltalk.llm.inspected import PREFIX
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

if TYPE_CHECKING:
    from reeltalk.llm.senders import Sender
    from reeltalk.llm.serving import Picture, ServedModel

KINDS: Final = (
    "baseline:NAME", "oracle", "summary:MODEL", "answers:PATH", "human:PATH", "python:CLASS", "transformers:FOLDER",
    "mini", "mini:FOLDER",
)  # fmt: skip
"""What may stand before or in place of a model's name; all else names a model at an address."""


Memory = Literal["all", "bounded"]


@dataclass(frozen=True)
class Asking:
    """How a language model is asked."""

    endpoint: Endpoint
    api_key: str | None = None
    connections: int = 20
    """Requests at a time."""
    stream: bool = False
    """Let replies come in pieces, so that the time to the first token is known."""
    batch: bool = False
    """Use a provider's batch API, where inspect_ai offers it."""
    sees_images: bool = True
    memory: Memory = "all"
    """What a model that follows streams keeps of them."""
    model_args: Mapping[str, Any] = field(default_factory=dict)


def served(
    spec: str, asking: Asking, store: ReplyStore, budget: Budget | None, picture: "Picture | None" = None
) -> "ServedModel":
    """A language model by its name.

    Args:
        spec: `inspect:PROVIDER/MODEL`, `transformers:FOLDER`, or the name of a model at the endpoint's address.
        asking: How it is asked.
        store: Keeps its replies.
        budget: Limits.
        picture: Gives the JPEG files for what messages hold in place of pictures.

    Raises:
        MissingExtraError: What is needed to ask it is not installed.
        ModelError: It cannot be opened.
        SettingError: `--batch` is asked of an address, where inspect_ai has no batch API.
    """
    from reeltalk.llm.senders import InspectSender, ModelSender, WireSender
    from reeltalk.llm.serving import served_model

    endpoint = asking.endpoint.model_copy(update={"model": spec})
    peak_memory = None
    sender: Sender
    connections = asking.connections
    if spec.startswith(PREFIX):
        sender = InspectSender(spec.removeprefix(PREFIX), endpoint, batch=asking.batch, **asking.model_args)
    elif spec.startswith("transformers:"):
        from reeltalk.evaluate.playing.local_model import LocalModel
        from reeltalk.inference.video_model import LocalVideoModel

        folder = Path(spec.removeprefix("transformers:"))
        local = LocalModel(LocalVideoModel(folder, max_new_tokens=endpoint.max_tokens))
        sender, connections, peak_memory = ModelSender(local), 1, local.peak_memory
        endpoint = endpoint.model_copy(update={"model": local.name})
    elif asking.batch:
        raise SettingError("--batch works with inspect:PROVIDER/MODEL only; servers at an address have no batch API")
    else:
        sender = WireSender(endpoint, api_key=asking.api_key, stream=asking.stream)
    model = served_model(
        endpoint,
        sender,
        store,
        connections=connections,
        budget=budget,
        picture=picture,
        sees_images=asking.sees_images,
    )
    model.peak_memory = peak_memory
    return model


@dataclass(frozen=True)
class Opened:
    """Who answers."""

    player: Player
    source: tuple[str, str]
    """Where its answers are from, and a hash of that."""
    logged: Any = None
    """inspect_ai's own Model, where it has one."""
    model: "ServedModel | None" = None


def opened_player(
    spec: str,
    benchmark: Benchmark,
    content: Content,
    *,
    asking: Asking,
    store: ReplyStore,
    budget: Budget | None,
    picture: "Picture | None",
    prompt: str,
    answers: Content | None = None,
    answers_sha256: str = "",
    train: tuple[Benchmark, Content] | None = None,
    workers: int = 2,
) -> Opened:
    """Who answers, by name.

    Args:
        spec: One of `KINDS`, or the name of a model at an address.
        benchmark: What is played.
        content: Its rows.
        asking: How a language model is asked.
        store: Keeps its replies.
        budget: Limits.
        picture: Gives the JPEG files for what messages hold in place of pictures.
        prompt: Prompt that answers are asked with.
        answers: What was read from `answers:PATH` or `human:PATH`.
        answers_sha256: Hash of that.
        train: A benchmark that baselines learn from, with its rows; this one by default.
        workers: Videos that are decoded at a time.

    Raises:
        SettingError: There is none of the name.
        ModelError: It cannot be opened.
        InputError: Its files are missing, broken or do not fit each other.
        MissingExtraError: What is needed to run it is not installed.
        BenchmarkError: It needs what the benchmark does not hold.
    """
    kind, colon, name = spec.partition(":")
    if kind == "baseline" and colon:
        from reeltalk.evaluate.playing.baseline_players import opened_baseline

        source, known = (benchmark, content) if train is None else train
        return Opened(opened_baseline(name, source, known, workers=workers), (spec, ""))
    if spec == "oracle":
        from reeltalk.evaluate.playing.oracle import OraclePlayer

        return Opened(OraclePlayer.of(benchmark), (spec, ""))
    if kind == "python" and colon:
        from reeltalk.evaluate.playing.python_class import PythonPlayer

        return Opened(KeptPlayer(PythonPlayer(name), store), (spec, ""))
    if kind == "mini":
        return Opened(KeptPlayer(_mini_player(spec, asking), store), (spec, ""))
    if kind in ("answers", "human") and colon:
        from reeltalk.evaluate.playing.from_file import AnswersPlayer

        assert answers is not None
        # Tables tell people from models by the source.
        source_name = spec if kind == "human" else name
        player = AnswersPlayer.of(answers, source=name, sha256=answers_sha256)
        return Opened(player, (source_name, answers_sha256))
    if kind == "summary" and colon:
        from reeltalk.evaluate.playing.summary_player import SummaryPlayer

        model = served(name, asking, store, budget)
        summaries = {str(video.id): video.summaries for video in content.videos}
        teller = SummaryPlayer(model, lambda video: told_summary(summaries.get(video, {})))
        return Opened(teller, (spec, ""), model.model, model)
    model = served(spec, asking, store, budget, picture)
    return Opened(ChatPlayer(model, answer_prompt(prompt)), (spec, ""), model.model, model)


def _mini_player(spec: str, asking: Asking) -> Player:
    """reeltalk-mini, of a folder or the one that comes with reeltalk."""
    from reeltalk.evaluate.opened_mini import bounded, opened_mini
    from reeltalk.evaluate.playing.stream_player import StreamPlayer

    policy = bounded(None) if asking.memory == "bounded" else None
    model = opened_mini(spec, policy=policy, max_words=asking.endpoint.max_tokens)
    kept = policy.signature if policy else "all"
    return StreamPlayer(model, memory=kept, sees_frames=asking.sees_images, tells_options=False)


def told_summary(summaries: Mapping[str, str]) -> str | None:
    """The told text: as sentences of a template where there are some, for those leave nothing out."""
    return summaries.get("template") or next(iter(summaries.values()), None)


def opened_judges(settings: JudgeSettings, benchmark: Benchmark | None) -> tuple[Judge, ...]:
    """Judging protocols by name, in the order given.

    Args:
        settings: Which, and how.
        benchmark: Holds the graphs that `graph` looks into.

    Raises:
        SettingError: There is none of the name, or it cannot judge this.
    """
    return tuple(_judge(name, settings, benchmark) for name in dict.fromkeys(settings.protocols))


PROTOCOLS: Final = (
    "vdeval", "lave", "clair", "llm-acc", "svbench", "gpt-score", "checklist", "choice", "agree", "graph", "cogme",
    "rubric", "rubric-words",
)  # fmt: skip
"""Judging protocols by name."""


def _judge(name: str, settings: JudgeSettings, benchmark: Benchmark | None) -> Judge:
    compat = settings.compat
    match name:
        case "vdeval":
            from reeltalk.evaluate.judging.vdeval import VDEval

            return VDEval(
                history=settings.judge_history,
                summary=settings.judge_summary,
                shots=1 if settings.judge_shots else 0,
                compat=compat,
            )
        case "lave":
            from reeltalk.evaluate.judging.lave import Lave

            return Lave(compat=compat)
        case "clair":
            from reeltalk.evaluate.judging.clair import Clair

            return Clair(compat=compat)
        case "llm-acc":
            from reeltalk.evaluate.judging.llm_acc import LlmAcc

            return LlmAcc(compat=compat)
        case "svbench":
            from reeltalk.evaluate.judging.svbench import SVBenchJudge

            return SVBenchJudge(compat=compat)
        case "gpt-score":
            from reeltalk.evaluate.judging.gpt_score import GPTScore

            return GPTScore(compat=compat)
        case "checklist":
            from reeltalk.evaluate.judging.checklist import ChecklistJudge

            return ChecklistJudge(
                eval_rounds=settings.eval_rounds,
                compat=compat,
                missing=settings.missing,
                version=settings.checklist_version,
            )
        case "choice":
            from reeltalk.evaluate.judging.choice import ChoiceJudge

            return ChoiceJudge()
        case "agree":
            from reeltalk.evaluate.judging.choice import AgreeJudge

            return AgreeJudge()
        case "cogme":
            from reeltalk.evaluate.judging.cogme import CogMEJudge

            return CogMEJudge()
        case "rubric" | "rubric-words":
            from reeltalk.evaluate.judging.rubric import RubricJudge

            return RubricJudge("model" if name == "rubric" else "words")
        case "graph":
            from reeltalk.evaluate.judging.grounded import GraphJudge, graphs_of

            if benchmark is None:
                raise SettingError("protocol graph looks into a benchmark's graphs; give --bench")
            return GraphJudge(graphs_of(benchmark))
        case own if own.startswith(PREFIX_OF_OWN):
            from reeltalk.evaluate.judging.own import own_judge

            return own_judge(own.removeprefix(PREFIX_OF_OWN), PROTOCOLS)
        case _:
            known = ", ".join(PROTOCOLS)
            raise SettingError(f"no judging protocol '{name}'; known are {known}, python:FILE.py:CLASS")
