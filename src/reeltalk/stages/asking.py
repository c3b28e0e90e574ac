"""Whom the stages ask and within what: a model that answers, a model that judges, kept replies, a budget."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence

from reeltalk.errors import MissingExtraError, MissingToolError, ReeltalkError, SettingError
from reeltalk.evaluate.opening import Asking, opened_judges, served
from reeltalk.evaluate.run_folder import RunFolder
from reeltalk.evaluate.settings import LimitSettings, ModelSettings
from reeltalk.evaluate.stage import Judging
from reeltalk.formats.svbench_layout import join_inputs
from reeltalk.inference.embedding import SentenceEmbedder
from reeltalk.judge.judge import Judge, ReadsVideos
from reeltalk.judge.protocol import find_protocol, official_sampling
from reeltalk.judge.settings import JUDGED_BY_DEFAULT, NO_JUDGE, JudgeModelSettings, JudgeSettings, resolve_protocols
from reeltalk.judge.svbench_official import streaming_slots
from reeltalk.judge.units import Background, JoinedChains
from reeltalk.llm import Budget, Endpoint, ReplyStore
from reeltalk.metrics.meteor import MeteorError, MeteorProcess
from reeltalk.metrics.scoring import ENGLISH_ONLY, metric_names
from reeltalk.metrics.tokenise import languages_of
from reeltalk.progress import Progress, Tell
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.media import Video
from reeltalk.schema.server_address import check_server
from reeltalk.schema.settings import settings_of
from reeltalk.stages.prompt_folders import check_judge_prompts
from reeltalk.store.content import Content

Asked = tuple[str, Turn | AnsweredTurn]
"""The video that a turn is about, and the turn."""


@contextlib.contextmanager
def asking_within(folder: RunFolder, limits: LimitSettings) -> Iterator[tuple[ReplyStore, Budget]]:
    """What a run asks within: kept replies, and a budget."""
    with ReplyStore(limits.replies or folder.replies) as store:
        yield store, Budget(limits.max_calls, limits.max_tokens, limits.max_cost)


def endpoint_of(
    answering: ModelSettings, limits: LimitSettings, *, shows_frames: bool = True, tell: Tell | None = None
) -> Asking:
    """How the model that answers is asked.

    Args:
        answering: As the user says.
        limits: How often, and within what.
        shows_frames: Whether pictures will be sent to a model that takes them.
        tell: Told what its server does not take.

    Raises:
        SettingError: The settings cannot be used together.
    """
    endpoint = settings_of(
        Endpoint,
        model="model",
        base_url=answering.base_url,
        temperature=answering.temperature,
        reasoning_effort=answering.reasoning_effort,
        max_tokens=answering.max_reply_tokens,
        timeout_s=limits.timeout_s,
        max_retries=limits.max_retries,
        give_up_after_s=limits.give_up_after_s,
        backoff_s=limits.backoff_s,
        image_tokens=answering.image_tokens,
        price_in=answering.price_in,
        price_out=answering.price_out,
    )
    return Asking(
        endpoint,
        api_key=os.environ.get(answering.api_key_env),
        key_variable=answering.api_key_env,
        preflight=limits.preflight,
        shows_frames=shows_frames,
        tell=tell,
        connections=limits.connections,
        stream=answering.first_token,
        batch=answering.batch,
        sees_images=answering.sees == "images",
        memory=answering.memory,
    )


@contextlib.contextmanager
def judging_by(
    settings: JudgeSettings,
    options: JudgeModelSettings,
    limits: LimitSettings,
    store: ReplyStore,
    budget: Budget,
    *,
    tell: Tell,
) -> Iterator[Judging]:
    """Judges, their model, and what text metrics need.

    Args:
        settings: By which protocols and metrics.
        options: The model that judges.
        limits: How it is asked.
        store: Keeps replies.
        budget: What all requests may cost together.
        tell: Told why a metric cannot be had.

    Raises:
        SettingError: A protocol or metric is unknown, or one needs a model and none is given.
        InputError: A prompt of the user's cannot stand in the place of ours.
    """
    if settings.metrics:
        metric_names(settings.metrics)  # an unknown name is refused before any work
    check_judge_prompts(settings)
    judges = opened_judges(settings)
    needing = needing_model(judges, options, kept=len(store) > 0)
    model = None
    if options.judge is not None and needing:
        endpoint = settings_of(
            Endpoint,
            model="judge",
            base_url=options.judge_base_url,
            max_tokens=options.judge_max_reply_tokens,
            timeout_s=limits.timeout_s,
            max_retries=limits.max_retries,
            give_up_after_s=limits.give_up_after_s,
            backoff_s=limits.backoff_s,
            price_in=options.judge_price_in,
            price_out=options.judge_price_out,
        )
        if settings.published:
            official = official_sampling(judges)
            asked = {"sends": official.sends, "seed": official.seed, "keeps_space": True}
            endpoint = endpoint.model_copy(update=asked)
        key = os.environ.get(options.judge_api_key_env)
        asking = Asking(
            endpoint,
            api_key=key,
            key_variable=options.judge_api_key_env,
            option="--judge-base-url",
            preflight=limits.preflight,
            wants_schema=not settings.published,
            tell=tell,
            connections=limits.connections,
            sees_images=False,
        )
        model = served(options.judge, asking, store, budget)
    with contextlib.ExitStack() as stack:
        meteor: MeteorProcess | ReeltalkError | None = None
        if "meteor" in settings.metrics:
            try:
                meteor = stack.enter_context(MeteorProcess(jar=None))
            except (MissingToolError, MeteorError) as missing:
                tell(f"meteor is not scored: {missing}")
                meteor = missing
        yield Judging(
            settings,
            judges,
            model,
            model.model if model is not None else None,
            meteor,
            embedder_of(settings.metrics, tell),
        )


def embedder_of(metrics: Sequence[str], tell: Tell) -> SentenceEmbedder | ReeltalkError | None:
    """What `similarity` needs, or why it cannot be had; None where the metric is not wanted."""
    if "similarity" not in metrics:
        return None
    try:
        return SentenceEmbedder()
    except MissingExtraError as missing:
        tell(f"similarity is not scored: {missing}")
        return missing


def check_judging(
    settings: JudgeSettings,
    options: JudgeModelSettings,
    turns: Sequence[Asked],
    content: Content | None,
    *,
    tell: Tell,
) -> None:
    """Refuse what cannot be judged, before a video is decoded or a model asked.

    Args:
        settings: By which protocols and metrics.
        options: The model that judges.
        turns: All that is to be judged, each with its video.
        content: The benchmark, where it is known.
        tell: Told which metric does not fit the language.

    Raises:
        SettingError: A protocol is unknown, lacks a model, or lacks something of the benchmark.
    """
    check_judge_prompts(settings)
    judges = opened_judges(settings)
    needing_model(judges, options)
    _check_needs(judges, turns, content.videos if content is not None else ())
    languages = languages_of([turn.references for _, turn in turns], settings.language)
    if "meteor" in settings.metrics and "zh" in languages:
        tell(f"meteor is not scored: {ENGLISH_ONLY}")


def _check_needs(judges: Sequence[Judge], turns: Sequence[Asked], videos: Iterable[Video]) -> None:
    """Refuse protocols that could score nothing of some turns."""
    if not turns:
        return
    about = {video for video, _ in turns}
    asked_about = [video for video in videos if video.id in about]
    for judge in judges:
        protocol = find_protocol(judge.name)
        need = None if protocol is None else protocol.needs
        if need is not None and not any(need.has(turn) for _, turn in turns):
            raise SettingError(
                f"{judge.name} needs {need.what}, and none of the {len(turns):,} turns has one; {need.remedy}"
            )
        if isinstance(judge, ReadsVideos):
            judge.check_videos(asked_about)


def judging_within(
    settings: JudgeSettings | None, turns: Iterable[Turn | AnsweredTurn], *, tell: Tell
) -> JudgeSettings:
    """How turns are judged: by what was given, else by their keys or options, and by text metrics.

    Args:
        settings: As they were given.
        turns: What is judged.
        tell: Told how to name a judge where no rule can judge the turns.
    """
    given = settings or JUDGED_BY_DEFAULT
    found = resolve_protocols(given, turns)
    if given.protocols and not found.protocols:
        tell(NO_JUDGE)
    return found


def needing_model(judges: tuple[Judge, ...], options: JudgeModelSettings, *, kept: bool = True) -> list[str]:
    """Protocols that need a model.

    Args:
        judges: All protocols.
        options: The model that judges.
        kept: Whether replies are kept, so that no key may be needed.

    Raises:
        SettingError: There are some, and no model is given, or it can be asked nowhere.
    """
    needing = [judge.name for judge in judges if judge.needs_model]
    if needing and options.judge is None:
        raise SettingError(f"{', '.join(needing)} needs a model that judges; give --judge NAME")
    if needing and options.judge is not None:
        key_variable = None if kept else options.judge_api_key_env
        check_server(options.judge, options.judge_base_url, key_variable, name="--judge", option="--judge-base-url")
    return needing


def background_of(content: Content, judging: JudgeSettings) -> Background:
    """What a benchmark knows beside the turns, for judges."""
    if not (judging.compat and "svbench" in judging.protocols and content.chains):
        return Background.of(content)
    joined = [
        JoinedChains(
            f"{read.video_id}/{read.language}/joined",
            read.video_id,
            tuple(read.chain_ids),
            tuple(map(tuple, streaming_slots(read.chains, read.links))),
        )
        for read in join_inputs(content)
    ]
    return Background.of(content, joined)


def named(progress: Progress, name: str) -> Progress:
    """Progress of a part that is called by a name."""
    return lambda what, done, total, share: progress(f"{name}, {what}", done, total, share)
