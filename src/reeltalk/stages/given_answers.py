"""Answers that exist already, of runs or of published files, gathered to be judged."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.evaluate.answers import NOT_IN_SOURCE, answer_sets, with_distinct_names, with_rubrics_and_keys
from reeltalk.evaluate.judging import null_row
from reeltalk.evaluate.judging.beside import beside
from reeltalk.evaluate.summary import Parts
from reeltalk.formats.registry import load_format
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import ModelInfo
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import hash_source
from reeltalk.store.runs import ANSWERS, INFO, Run, read_run


class GivenAnswers:
    """What there is to judge: turns with answers, where each model's are from, and how they came about.

    Args:
        sources: Runs, or files and folders of answers in a published layout.
        format: The layout; not needed for runs.
        benchmark: What the answers are about; a run names its own.

    Raises:
        SettingError: A layout is not named, or two sources hold answers of one model to one turn.
        InputError: A source is damaged or cut off.
    """

    def __init__(self, sources: Sequence[Path], format: str | None, benchmark: Benchmark | None) -> None:
        self.benchmark, self.paths = benchmark, tuple(sources)
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
                self.turns += run.answers() if known is None else with_rubrics_and_keys(run.answers(), known)
                self._note_hash(path, hash_source(path / "answers.jsonl"))
                continue
            if format is None:
                raise SettingError(f"{path} is no run, so --format must name its layout, as '--format vdact'")
            layout, sha256 = load_format(format), hash_source(path)
            content = layout.read(path) if known is None else layout.read_answers(path, known)
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

    def _check_whole(self, run: Run, info: ModelInfo, answers: int) -> None:
        """A file that was cut between two lines reads well; `run.json` knows how many there were."""
        played = run.info.kind in ("evaluate", "judge") and (answers or info.model != null_row.NAME)
        if played and answers != info.rows:
            raise InputError(
                f"{answers:,} answers of '{info.model}' where run.json counts {info.rows:,}",
                file=run.path / ANSWERS,
                hint="the file may be cut off; get it again",
            )

    def _add(self, model: str, source: tuple[str, str], signed: Parts) -> None:
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

    def units(self, limit: int | None) -> dict[str, list[AnsweredTurn]]:
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


def _found_anywhere(turns: list[AnsweredTurn]) -> list[AnsweredTurn]:
    """Without turns that one source lacks and another has, and each turn that all lack once."""

    def place(turn: AnsweredTurn) -> tuple[str, str, str, int]:
        return turn.model, turn.unit, turn.unit_id, turn.turn_index

    answered = {place(turn) for turn in turns if turn.reason != NOT_IN_SOURCE}
    lacking = {place(turn): turn for turn in turns if turn.reason == NOT_IN_SOURCE and place(turn) not in answered}
    return [turn for turn in turns if turn.reason != NOT_IN_SOURCE] + list(lacking.values())


def _in_order(turns: list[AnsweredTurn]) -> list[AnsweredTurn]:
    """Units in the order in which they came, each turn by turn."""
    units = {unit: index for index, unit in enumerate(dict.fromkeys(turn.unit_id for turn in turns))}
    return sorted(turns, key=lambda turn: (units[turn.unit_id], turn.turn_index))
