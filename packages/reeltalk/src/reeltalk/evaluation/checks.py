"""Which settings of a run are refused: those without effect, and those that cannot be used together.

Commands that play or forecast a run call `check_run` before they read anything, and those that only judge call
`check_judging_settings`. No other room checks a setting again.
"""

from reeltalk.errors import SettingError
from reeltalk.evaluation.model_options import check_judge_options, prompt_options
from reeltalk.evaluation.models import check_player, create_judges
from reeltalk.evaluation.settings import OTHER_NAMES, FrameSettings, LimitSettings, PlaySettings, RunConfig
from reeltalk.judge.protocol import may_ask_model
from reeltalk.judge.settings import AUTO, JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings
from reeltalk.metrics.scoring import metric_names
from reeltalk.schema.server_address import check_server

PROTOCOL_SETTINGS = {
    "judge_history": ("vdeval",),
    "judge_summary": ("vdeval",),
    "judge_shots": ("vdeval",),
    "eval_rounds": ("checklist",),
    "checklist_version": ("checklist",),
}
"""Settings that only some protocols read."""


def check_run(config: RunConfig, *, has_replies: bool = False) -> None:
    """Refuse the settings of a run.

    Args:
        config: All settings.
        has_replies: Whether replies are kept, so that a key may not be needed.

    Raises:
        SettingError: A setting has no effect, or a model is unknown or has no address.
    """
    design = config.preset
    check_player(config.model, config.asking, has_replies=has_replies, also=prompt_options(config))
    _check_playing(config.play, design.play if design else PlaySettings())
    start = design.judging if design else JUDGED_BY_DEFAULT
    check_judging_settings(config.judging, config.judge_model, start=start, has_replies=has_replies)


def _check_playing(play: PlaySettings, start: PlaySettings) -> None:
    frames, policy = play.frames, play.frames.policy
    changed = {
        name
        for name, field in FrameSettings.model_fields.items()
        # From Python, settings that nobody gave have their own defaults where a preset has others.
        if getattr(frames, name) not in (getattr(start.frames, name), field.default)
    }
    if play.corrupt_turn != start.corrupt_turn and play.history != "corrupted":
        raise SettingError("--corrupt-turn is for --history corrupted")
    if policy == "none" and (idle := sorted(changed - {"policy"})):
        option = OTHER_NAMES.get(idle[0], idle[0]).replace("_", "-")
        raise SettingError(f"--{option} has no effect with --policy none; leave it out")
    if "fps" in changed and policy != "fps":
        raise SettingError(f"--fps has no effect with --policy {policy}; give --policy fps, or leave it out")
    if frames.square_px is not None and "longest_side_px" in changed:
        raise SettingError("--square sets both sides; leave out --longest-side")


def check_judging_settings(
    settings: JudgeSettings,
    judge_model: JudgeModelSettings,
    limits: LimitSettings | None = None,
    *,
    start: JudgeSettings = JUDGED_BY_DEFAULT,
    has_replies: bool = False,
) -> None:
    """Refuse settings of judging.

    Args:
        settings: Protocols and metrics.
        judge_model: The model that judges.
        limits: How it is asked, if no other model is asked too.
        start: Settings that are not looked at where they stay as they are.
        has_replies: Whether replies are kept, so that a key may not be needed.

    Raises:
        SettingError: A setting has no effect, a protocol or metric is unknown, or the model that judges is missing or
            has no address.
    """
    if settings.metrics:
        metric_names(settings.metrics)  # refuses unknown names
    for name, protocols in PROTOCOL_SETTINGS.items():
        if getattr(settings, name) != getattr(start, name) and not set(protocols) & set(settings.protocols):
            raise SettingError(f"--{name.replace('_', '-')} is for --protocols {' or '.join(protocols)}")
    if settings.prompts is not None and not settings.published and not may_ask_model(settings.protocols):
        raise SettingError("--prompts has no effect: no protocol asks a model; name one that does, or leave it out")
    if settings.language != start.language and not settings.metrics:
        raise SettingError("--language has no effect with --metrics none: it is that of text metrics; leave it out")
    # The protocols of `auto` are known when the turns are read, and asks no model.
    named = tuple(name for name in settings.protocols if name != AUTO)
    judges = create_judges(settings.model_copy(update={"protocols": named}))
    needing = [judge.name for judge in judges if judge.needs_model]
    check_judge_options(settings.protocols, judge_model, limits, asks=bool(needing))
    if not needing:
        return
    if judge_model.judge is None:
        raise SettingError(f"{', '.join(needing)} needs a model that judges; give --judge NAME")
    key_variable = None if has_replies else judge_model.judge_api_key_env
    check_server(judge_model.judge, judge_model.judge_base_url, key_variable, name="--judge", option="--judge-base-url")
