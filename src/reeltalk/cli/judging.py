"""Commands that judge answers, and that try judges with attacks."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from reeltalk.cli.app import OVERWRITE, Bar, app, hash_source, refuse_existing, say
from reeltalk.cli.asking import asking_within, background_of, check_counts, finish, judging_by
from reeltalk.cli.evaluation_options import JUDGE_MODEL, JUDGING, LIMITS, JudgeModel, JudgingOptions, Limits
from reeltalk.errors import BenchmarkError, InputError, SettingError

if TYPE_CHECKING:
    from reeltalk.evaluate.summary import Parts
    from reeltalk.schema.answers import AnsweredTurn
    from reeltalk.schema.runs import ModelInfo
    from reeltalk.store.runs import Run


@app.command(sort_key=6)
def judge(
    *sources: Path,
    out: Path,
    bench: Path | None = None,
    format: str | None = None,
    limit: int | None = None,
    beside: str = "",
    judging: JudgingOptions = JUDGING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Judge answers that exist already: those of a run, without playing again, or of a published file.

    Example: `reeltalk judge runs/qwen --protocols vdeval --judge gpt-4o-mini --out runs/qwen-judged`, or `reeltalk
    judge results/model.json --format vdact --bench benchmarks/vdact --protocols vdeval --judge NAME --out runs/model`.
    Run it again to go on after an interruption. Exit code 1 where turns have no score.

    Parameters
    ----------
    sources
        Runs, or files and folders of answers in a published layout.
    out
        Folder of the run that appears.
    bench
        Benchmark that the answers are about; it supplies questions, references, summaries and graphs. A run names its
        own.
    format
        Layout of the answers; not needed for runs.
    limit
        Judge the first chains, paths or dialogues of each model only.
    beside
        Comma-separated, answers to judge too, which try the judge: reference, yes, copied-question.
    overwrite
        Replace the run that is there.
    """
    from reeltalk.evaluate.run_folder import RunFolder
    from reeltalk.evaluate.stage import Played

    check_counts(limit=limit)
    if not sources:
        raise SettingError("judge needs at least one run, or file or folder of answers")
    chosen = judging.settings(None)
    read = _Answers(sources, format, bench)
    also = list(dict.fromkeys(name.strip() for name in beside.split(",") if name.strip()))
    for name in also:
        read.add_beside(name)
    content = read.content
    request = {
        "sources": read.hashes,
        "benchmark": read.benchmark.manifest.content_hash if read.benchmark else None,
        "judging": chosen.model_dump(mode="json"),
        "judge": judge_model.model_dump(mode="json", include={"judge", "judge_max_reply_tokens"}),
        "limit": limit,
        **({"beside": ",".join(also)} if also else {}),
    }
    with (
        RunFolder(out, request, overwrite=overwrite) as folder,
        Bar() as bar,
        asking_within(folder, limits) as (store, budget),
    ):
        with judging_by(chosen, judge_model, limits, read.benchmark, store, budget) as judged_by:
            stage = Played(
                folder,
                judged_by,
                background_of(content, chosen) if content is not None else None,
                at_a_time=limits.connections,
                progress=bar.show,
            )
            evaluation = stage.judge(read.units(limit), metadata={"sources": [str(path) for path in sources]})
            return finish(
                folder,
                evaluation,
                judged_by,
                subject=read.subject,
                signed={model: parts for model, parts in read.signed.items()},
                sources=read.sources,
                content=content,
                settings=request | {"benchmark_path": str(read.benchmark.path) if read.benchmark else None},
                kind="judge",
                spent=(budget, None, judged_by.model),
            )


@app.command(sort_key=6)
def attack(
    *,
    out: Path | None = None,
    every: int = 1,
    judging: JudgingOptions = JUDGING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Try a judge with answers that want to talk it into a good score: constants, fake verdicts, orders, and more.

    Example: `reeltalk attack --protocols vdeval --judge gpt-4o-mini --out attacks.json`. Every attack is judged beside
    a plainly wrong answer and the reference; it fools the judge where its score is nearer to the reference's. Exit
    code 1 where an attack fooled the judge or got out of its place in a request.

    Parameters
    ----------
    out
        File for every attack's outcome, as JSON.
    every
        Take every so many attacks only.
    overwrite
        Replace the file that is there.
    """
    import asyncio
    import tempfile

    from reeltalk.evaluate.judging.attacks import attack_items
    from reeltalk.evaluate.judging.under_attack import attack as run_attacks
    from reeltalk.llm import Budget, ReplyStore
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.documents import write_json

    check_counts(every=every)
    refuse_existing(out, overwrite=overwrite)
    chosen = judging.settings(None).model_copy(update={"metrics": ()})
    budget = Budget(limits.max_calls, limits.max_tokens, limits.max_cost)
    reports = []
    with tempfile.TemporaryDirectory() as folder, ReplyStore(Path(folder) / "replies.sqlite") as store:
        with judging_by(chosen, judge_model, limits, None, store, budget) as judged_by:
            for judge in judged_by.judges:
                say(f"attacking {judge.name}")
                model = judged_by.model if judge.needs_model else None
                items = attack_items()[::every]
                reports.append(asyncio.run(run_attacks(judge, model, items, at_once=limits.connections)))
    for report in reports:
        for line in report.lines():
            print(line)
    if out is not None:
        write_bytes(out, write_json([report.to_json() for report in reports]).encode())
        print(f"attacks: {out}")
    return 1 if any(report.total.fooled or report.broken for report in reports) else 0


class _Answers:
    """Answers that exist already, of runs or of published files."""

    def __init__(self, sources: tuple[Path, ...], format: str | None, bench: Path | None) -> None:
        from reeltalk.evaluate.answers import answer_sets, with_distinct_names, with_rubrics
        from reeltalk.formats.registry import load_format
        from reeltalk.store.benchmark import Benchmark
        from reeltalk.store.runs import INFO, read_run

        self.benchmark: Benchmark | None = Benchmark.open(bench) if bench else None
        self.signed: dict[str, Parts] = {}
        self.sources: dict[str, tuple[str, str]] = {}
        self.hashes: dict[str, str] = {}
        self.turns: list[AnsweredTurn] = []
        self.subject = f"{format or 'run'}.answers"
        runs = [path for path in sources if (path / INFO).is_file()]
        for path in runs:
            run = read_run(path)
            self.subject = run.info.subject
            named = run.info.settings.get("benchmark_path")
            if self.benchmark is None and isinstance(named, str) and (Path(named) / "manifest.json").is_file():
                self.benchmark = Benchmark.open(Path(named))
        known = self.benchmark.content() if self.benchmark else None
        self.content = known
        for path in sources:
            if path in runs:
                run = read_run(path)
                signed = run.info.settings.get("signed") or {}
                answered = Counter(turn.model for turn in run.answers())
                for info in run.info.models:
                    self._check_whole(run, info, answered[info.model])
                    if info.model in answered:
                        parts = tuple((key, value) for key, value in signed.get(info.model, ()))
                        self._add(info.model, (str(path), info.sha256), parts)
                self.turns += run.answers() if known is None else with_rubrics(run.answers(), known)
                self._note_hash(path, hash_source(path / "answers.jsonl"))
                continue
            if format is None:
                raise SettingError(f"{path} is no run, so --format must name its layout, as '--format vdact'")
            content, sha256 = load_format(format).read(path), hash_source(path)
            self._note_hash(path, sha256)
            sets = answer_sets(content, source=str(path), sha256=sha256, benchmark=known)
            if len(sources) == 1 and known is None:
                self.content = content
            for found in with_distinct_names(sets):
                more = (("duplicates", f"first-of-{len(found.duplicates)}"),) if found.duplicates else ()
                self._add(found.model, (found.source, found.sha256), more)
                self.turns += [*found.turns, *found.others]
        self.turns = _found_anywhere(self.turns)
        places = Counter((turn.model, turn.unit, turn.unit_id, turn.turn_index) for turn in self.turns)
        if twice := next((place for place, times in places.items() if times > 1), None):
            raise SettingError(
                f"'{twice[0]}' has two answers to turn {twice[3] + 1} of {twice[1]} '{twice[2]}' in what is given; "
                "judge them in two runs"
            )

    def add_beside(self, name: str) -> None:
        """Add answers that try the judge, to the turns of the first model."""
        from reeltalk.evaluate.judging.beside import beside

        if not self.turns:
            return
        if name in self.sources:
            raise SettingError(f"--beside {name}: there is a model of that name in what is given already")
        first = self.turns[0].model
        self.turns += beside(name, [turn for turn in self.turns if turn.model == first])
        self._add(name, (f"baseline:{name}", ""), (("baseline", name),))

    def _note_hash(self, path: Path, sha256: str) -> None:
        # Folders of runs are often called alike.
        self.hashes[path.name if path.name not in self.hashes else f"{path.name} ({len(self.hashes)})"] = sha256

    def _check_whole(self, run: "Run", info: "ModelInfo", answers: int) -> None:
        """A file that was cut between two lines reads well; `run.json` knows how many there were."""
        from reeltalk.evaluate.judging import null_row
        from reeltalk.store.runs import ANSWERS

        played = run.info.kind in ("evaluate", "judge") and (answers or info.model != null_row.NAME)
        if played and answers != info.rows:
            raise InputError(
                f"{answers:,} answers of '{info.model}' where run.json counts {info.rows:,}",
                file=run.path / ANSWERS,
                hint="the file may be cut off; get it again",
            )

    def _add(self, model: str, source: tuple[str, str], signed: "Parts") -> None:
        """Note where a model's answers are from. Two runs of one model, as in two modes, are judged together."""
        if model not in self.sources:
            self.sources[model], self.signed[model] = source, signed
            return
        before = dict(self.signed[model])
        merged = {key: value for key, value in signed if key not in before}
        for key, value in before.items():
            other = dict(signed).get(key, value)
            merged[key] = value if other == value else f"{value}+{other}"
        self.sources[model] = (f"{self.sources[model][0]}, {source[0]}", self.sources[model][1] + source[1])
        self.signed[model] = tuple(merged.items())

    def units(self, limit: int | None) -> dict[str, list["AnsweredTurn"]]:
        """Turns by what the log calls their unit; chains of a video stand together, as they are played."""
        found: dict[str, list[AnsweredTurn]] = defaultdict(list)
        taken: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for turn in self.turns:
            unit = (turn.unit, turn.unit_id)
            if unit not in taken[turn.model]:
                if limit is not None and len(taken[turn.model]) >= limit:
                    continue
                taken[turn.model].add(unit)
            together = f"chains of {turn.video_id}" if turn.unit == "chain" else f"{turn.unit} {turn.unit_id}"
            found[f"{turn.model} {together}"].append(turn)
        if not found:
            raise BenchmarkError("there are no answers to judge")
        return {name: _in_order(turns) for name, turns in found.items()}


def _found_anywhere(turns: list["AnsweredTurn"]) -> list["AnsweredTurn"]:
    """Without turns that one source lacks and another has, and each turn that all lack once."""
    from reeltalk.evaluate.answers import NOT_IN_SOURCE

    def place(turn: "AnsweredTurn") -> tuple[str, str, str, int]:
        return turn.model, turn.unit, turn.unit_id, turn.turn_index

    answered = {place(turn) for turn in turns if turn.reason != NOT_IN_SOURCE}
    lacking = {place(turn): turn for turn in turns if turn.reason == NOT_IN_SOURCE and place(turn) not in answered}
    return [turn for turn in turns if turn.reason != NOT_IN_SOURCE] + list(lacking.values())


def _in_order(turns: list["AnsweredTurn"]) -> list["AnsweredTurn"]:
    """Units in the order in which they came, each turn by turn."""
    units = {unit: index for index, unit in enumerate(dict.fromkeys(turn.unit_id for turn in turns))}
    return sorted(turns, key=lambda turn: (units[turn.unit_id], turn.turn_index))
