"""The command that walks through all stages: on a filmed household, or on videos of one's own."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from reeltalk.cli.app import Bar, app, say
from reeltalk.errors import SettingError


@app.command(sort_key=0)
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

    Example: `reeltalk demo`, or with a video and a language model of your own `reeltalk demo --video my.mp4 --model
    qwen3-vl --base-url http://localhost:8000/v1 --judge gpt-4o-mini --judge-base-url https://api.openai.com/v1`. Run it
    again to go on after an interruption.

    Parameters
    ----------
    out
        Folder that receives all of it, the report in its folder site; build/demo, or build/own for own videos.
    video
        A video of your own, in place of the household; several are given one after the other.
    model
        Model that writes questions about your videos and answers them, as its server knows it.
    base_url
        Address of an OpenAI-compatible server; OpenAI's own by default.
    api_key_env
        Environment variable that holds the key, also the judge's.
    sees
        text: the model takes no pictures.
    detector
        Detector of objects, as for `construct`; a model that takes no pictures is told of what it finds.
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
        Ask each server for one small reply before anything is decoded, to find out what is wrong with it.
    """
    from reeltalk.benchmarks.own_videos import Asked
    from reeltalk.benchmarks.own_videos import build as build_own

    asked = Asked(
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
        with Bar() as bar:
            page = build_own(video, out or Path("build/own"), asked, tell=say, progress=bar.show)
    else:
        if model is not None or asked != Asked(""):
            raise SettingError("all options but --out are for videos of your own; give --video FILE too")
        from reeltalk.benchmarks.household import build

        with Bar() as bar:
            page = build(out or Path("build/demo"), tell=say, progress=bar.show)
    print(f"report: {page}")
    return 0
