"""The demo: all stages, on a filmed household or on your own videos."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from reeltalk.cli.terminal import ProgressBar, say
from reeltalk.errors import SettingError


def demo(
    *,
    out: Path | None = None,
    video: Annotated[tuple[Path, ...], Parameter(negative="")] = (),
    model: str | None = None,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    sees: Literal["images", "text"] = "images",
    detector: str | None = None,
    judge: str | None = None,
    judge_base_url: str | None = None,
    connections: int = 4,
    timeout_s: float = 120.0,
    max_reply_tokens: int = 2048,
    max_calls: int | None = None,
    preflight: bool = True,
) -> int:
    """Walk through all stages: film a household, curate, construct, play, judge, report; offline, in three minutes.

    Run it again to continue after an interruption. Exit code 1 if a model left something unwritten, unanswered or
    unscored; if its first eight replies in a step of writing cannot be used, the demo stops and shows one.

    Example: `reeltalk demo`, or with a video and a language model of your own `reeltalk demo --video my.mp4 --model
    qwen3-vl --base-url http://localhost:8000/v1 --judge gpt-4o-mini --judge-base-url https://api.openai.com/v1`.

    Parameters
    ----------
    out
        Folder that receives everything; the report is in its folder site. By default build/demo, or build/own for your
        own videos.
    video
        Your own video, in place of the household. May be repeated.
    model
        Model that writes questions about your videos and answers them, as its server knows it.
    base_url
        Address of an OpenAI-compatible server; OpenAI's own by default.
    api_key_env
        Environment variable that holds the key, also the judge's.
    sees
        images, or text for a model that takes no pictures.
    detector
        Detector of objects, as for `construct`; a model that takes no pictures gets a list of the found objects.
    judge
        Model that judges the answers; without one they are compared with the references by their words.
    judge_base_url
        Address of the judge's server; that of the model by default.
    connections
        Requests at a time.
    timeout_s
        Longest wait for one reply.
    max_reply_tokens
        Longest reply of the model as a writer.
    max_calls
        Hard limit of the requests of each step.
    preflight
        Ask each server for one small reply before anything is decoded, to find its problems.
    """
    from reeltalk_household.benchmarks.own_videos import DemoModels
    from reeltalk_household.benchmarks.own_videos import build_own_videos as build_own

    asked = DemoModels(
        model=model or "",
        base_url=base_url,
        api_key_env=api_key_env,
        sees=sees,
        detector=detector,
        judge=judge,
        judge_base_url=judge_base_url,
        connections=connections,
        timeout_s=timeout_s,
        max_reply_tokens=max_reply_tokens,
        max_calls=max_calls,
        preflight=preflight,
    )
    if video:
        if not model:
            raise SettingError("--video needs --model, the language model that writes and answers")
        if connections < 1 or timeout_s <= 0 or max_reply_tokens < 1 or (max_calls is not None and max_calls < 1):
            raise SettingError("--connections, --timeout-s, --max-reply-tokens and --max-calls must be above 0")
        with ProgressBar() as bar:
            page, whole = build_own(video, out or Path("build/own"), asked, tell=say, progress=bar.show)
    else:
        if model is not None or asked != DemoModels(""):
            raise SettingError("all options but --out are for videos of your own; give --video FILE too")
        from reeltalk_household.benchmarks.household import build_household

        with ProgressBar() as bar:
            page, whole = build_household(out or Path("build/demo"), tell=say, progress=bar.show), True
    print(f"report: {page}")
    return 0 if whole else 1
