"""Invariants among the records of a benchmark: unique identifiers, references, times, characters of texts.

The records go through a temporary database. Each relation between them is a query that gives what breaks it.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any, Final, Literal

from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GONE_OUTCOMES
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import unknown_labels
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import Json, Record
from reeltalk.schema.stream import Moment, ProactiveTask
from reeltalk.schema.texts import MAY_BE_REFUSED, control_refusal, equal_names, text_problem, texts_of
from reeltalk.schema.turn_sense import KEPT_BECAUSE, TOLERANCE_S, Film, unit_findings
from reeltalk.store.content import ReadsTables
from reeltalk.store.identical import TextIndex, film_key
from reeltalk.store.rows import database_errors, temporary_database
from reeltalk.store.tables import CLIPS, GATES, TABLES, VIDEOS, Table


@dataclass(frozen=True)
class Finding:
    """One broken invariant."""

    severity: Literal["error", "warning"]
    where: str
    """`table:row`, or a file of the benchmark."""
    problem: str

    @property
    def is_about_turn(self) -> bool:
        """True if it is about the fields of one turn, and not about how records go together."""
        return ".turns[" in self.where and self.where.endswith("]")

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.problem}"


def check_content(content: ReadsTables) -> Iterator[Finding]:
    """Check the invariants among records, on disk or in memory. Tables are read row by row, once."""
    said, alike, own = TextIndex(), dict[str, str](), list[Finding]()
    films, clips = dict[str, Film](), dict[str, Interval]()
    schema = "".join(f'CREATE TABLE "{name}" (place INTEGER PRIMARY KEY, id, video_id, body);' for name in TABLES)
    with closing(temporary_database(schema)) as database, database_errors():

        def stored(table: Table[Any]) -> Iterator[tuple[int, str | None, str | None, str | None]]:
            for place, row in enumerate(content.read(table)):
                line = row.model_dump_json(exclude_none=True)
                own.extend(_row_findings(table, place, row, line))
                if isinstance(row, Video):
                    alike[row.id] = film_key(row)
                    films[row.id] = Film.of(row)
                elif isinstance(row, Clip) and row.interval is not None:
                    clips[row.id] = row.interval
                elif isinstance(row, QAChain | Dialogue):
                    said.add(row)
                    own.extend(_turn_findings(table, row, films.get(row.video_id, Film()), clips))
                key = None if table.key is None else table.key(row)
                yield place, key, getattr(row, "video_id", None), line if table.name in RELATED else None

        for name, table in TABLES.items():
            database.execute("BEGIN")
            database.executemany(f'INSERT INTO "{name}" VALUES (?, ?, ?, ?)', stored(table))
            database.execute("COMMIT")
        yield from own
        yield from _graph_findings(content)
        for name, table in TABLES.items():
            if table.key is not None:
                yield from _found(database, "error", TWICE_QUERY.format(table=name))
        for found in said.identical(alike):
            ids = ", ".join(found.examples[:3]) + (", …" if len(found.examples) > 3 else "")
            problem = f"{found}, as {ids}; a writer that looks at the clips does not write so"
            yield Finding("warning", found.kind, problem)
        database.executescript(VIEWS_QUERY)
        yield from _splits(database)
        for name in VIDEO_TABLES:
            yield from _found(database, "error", NO_VIDEO_QUERY.format(table=name))
        for query in BROKEN_QUERIES:
            yield from _found(database, "error", query)


def _found(database: Connection, severity: Literal["error", "warning"], query: str) -> Iterator[Finding]:
    for where, problem in database.execute(query):
        yield Finding(severity, where, problem)


VIDEO_TABLES: Final = (
    "clips", "speech", "chains", "dialogues", "proactive", "scenes", "paths", "entities", "events", "facts",
    "known_boxes", "sightings", "identity_changes",
)  # fmt: skip
RELATED: Final = frozenset(
    "videos clips speech chains dialogues proactive scenes paths linkages rewrites gates answers scores".split()
)
"""Tables of which the queries read more than identifiers."""

TWICE_QUERY: Final = """
SELECT '{table}:' || id, format('stands %d times; identifiers are unique in a table', count(*))
FROM "{table}" GROUP BY id HAVING count(*) > 1 ORDER BY min(place)"""

NO_VIDEO_QUERY: Final = """
SELECT '{table}:' || coalesce(own.id, own.place),
    format('belongs to video ''%s'', which the benchmark does not have', own.video_id)
FROM "{table}" AS own LEFT JOIN video ON video.id = own.video_id WHERE video.id IS NULL ORDER BY own.place"""

VIEWS_QUERY: Final = """
CREATE TABLE video (id PRIMARY KEY, place, duration_s, split, sha256, lookalikes) WITHOUT ROWID;
INSERT OR REPLACE INTO video SELECT id, place, body ->> '$.duration_s', body ->> '$.split', body ->> '$.sha256',
    body ->> '$.lookalikes' FROM videos ORDER BY place;

CREATE TABLE clip (id PRIMARY KEY, video_id, start_s) WITHOUT ROWID;
INSERT OR REPLACE INTO clip SELECT id, video_id, body ->> '$.interval.start_s' FROM clips ORDER BY place;

-- Chains without times are ordered as their table has them.
CREATE TABLE unit (kind, id, video_id, turns, place, start_s, PRIMARY KEY (kind, id)) WITHOUT ROWID;
INSERT OR REPLACE INTO unit SELECT 'chain', own.id, own.video_id, json_array_length(body, '$.turns'), own.place, start_s
    FROM chains AS own LEFT JOIN clip ON clip.id = body ->> '$.clip_id' ORDER BY own.place;
INSERT OR REPLACE INTO unit SELECT 'dialogue', id, video_id, json_array_length(body, '$.turns'), place, NULL
    FROM dialogues ORDER BY place;
INSERT OR REPLACE INTO unit SELECT 'path', id, video_id, json_array_length(body, '$.steps'), place, NULL
    FROM paths ORDER BY place;
INSERT OR IGNORE INTO unit SELECT 'turn', id, video_id, turns, place, NULL FROM unit WHERE kind = 'dialogue';
INSERT OR IGNORE INTO unit SELECT 'turn', id, video_id, turns, place, NULL FROM unit WHERE kind = 'chain';

CREATE VIEW timed AS
    SELECT 'clips:' || id AS "where", video_id, body ->> '$.interval.end_s' AS end_s FROM clips
    UNION ALL SELECT 'speech:' || place, video_id, body ->> '$.interval.end_s' FROM speech;

CREATE VIEW clip_of AS
    SELECT 'chains:' || id AS "where", video_id, body ->> '$.clip_id' AS clip_id FROM chains
    UNION ALL SELECT 'dialogues:' || own.id, video_id, value FROM dialogues AS own, json_each(body, '$.clip_ids')
    UNION ALL SELECT 'scenes:' || own.id, video_id, value FROM scenes AS own, json_each(body, '$.clip_ids');

CREATE TABLE link ("where", source, target);
INSERT INTO link SELECT 'linkages:' || place, body -> '$.source', body -> '$.target' FROM linkages ORDER BY place;
INSERT INTO link SELECT 'rewrites:' || id, body -> '$.linkage.source', body -> '$.linkage.target' FROM rewrites
    ORDER BY place;

CREATE TABLE step ("where", video_id, before, ref);
INSERT INTO step SELECT format('paths:%s.steps[%d]', own.id, key), video_id,
    lag(value -> '$.ref') OVER (PARTITION BY place ORDER BY key), value -> '$.ref'
    FROM paths AS own, json_each(body, '$.steps') ORDER BY place, key;

CREATE VIEW jump AS
    SELECT "where", source AS earlier, target AS later, format('leads back in time, from ''%s'' to ''%s''',
        source ->> '$.unit_id', target ->> '$.unit_id') AS problem FROM link
    UNION ALL SELECT "where", before, ref, 'steps back in time' FROM step WHERE before IS NOT NULL;

CREATE VIEW judged AS
    SELECT format('answers:%s/%s[%d]', body ->> '$.model', body ->> '$.unit_id', body ->> '$.turn_index') AS "where",
        'answers' AS does, body FROM answers
    UNION ALL SELECT format('scores:%s/%s/%s', body ->> '$.model', body ->> '$.unit_id', body ->> '$.criterion'),
        'scores', body FROM scores;
"""

_RESOLVED: Final = (
    "LEFT JOIN unit ON unit.kind = {0} ->> '$.unit' AND unit.id = {0} ->> '$.unit_id' "
    "AND {0} ->> '$.turn_index' < unit.turns"
)
_GONE: Final = ", ".join(f"'{outcome.value}'" for outcome in sorted(GONE_OUTCOMES))

BROKEN_QUERIES: Final = (
    f"""
SELECT "where", format('ends at %g s but video ''%s'' lasts %g s', end_s, video.id, duration_s)
FROM timed JOIN video ON video.id = video_id WHERE end_s > duration_s + {TOLERANCE_S}""",
    """
SELECT "where", format('refers to clip ''%s'', which the benchmark does not have', clip_id)
FROM clip_of LEFT JOIN clip ON clip.id = clip_id WHERE clip_id IS NOT NULL AND clip.id IS NULL""",
    """
SELECT "where", format('is about video ''%s'' but clip ''%s'' is of ''%s''', own.video_id, clip_id, clip.video_id)
FROM clip_of AS own JOIN clip ON clip.id = clip_id WHERE clip.video_id <> own.video_id""",
    f"""
SELECT 'proactive:' || own.id, format('goes on until %g s; the video lasts %g s', body ->> '$.until_s', duration_s)
FROM proactive AS own JOIN video ON video.id = own.video_id WHERE body ->> '$.until_s' > duration_s + {TOLERANCE_S}""",
    *(
        f"""
SELECT "where", format('its {end} is turn %d of %s ''%s'', which is not there', {end} ->> '$.turn_index',
    {end} ->> '$.unit', {end} ->> '$.unit_id')
FROM link {_RESOLVED.format(end)} WHERE unit.id IS NULL"""
        for end in ("source", "target")
    ),
    f"""
SELECT "where", format('turn %d of %s ''%s'' is not there', ref ->> '$.turn_index', ref ->> '$.unit',
    ref ->> '$.unit_id')
FROM step {_RESOLVED.format("ref")} WHERE unit.id IS NULL""",
    f"""
SELECT "where", format('leaves video ''%s'' for ''%s''', step.video_id, unit.video_id)
FROM step {_RESOLVED.format("ref")} WHERE unit.video_id <> step.video_id""",
    """
SELECT "where", problem FROM jump
LEFT JOIN unit AS one ON one.kind = 'chain' AND earlier ->> '$.unit' = 'chain' AND one.id = earlier ->> '$.unit_id'
LEFT JOIN unit AS two ON two.kind = 'chain' AND later ->> '$.unit' = 'chain' AND two.id = later ->> '$.unit_id'
WHERE CASE
    WHEN earlier ->> '$.unit' = later ->> '$.unit' AND earlier ->> '$.unit_id' = later ->> '$.unit_id'
    THEN later ->> '$.turn_index' <= earlier ->> '$.turn_index'
    WHEN one.start_s IS NOT NULL AND two.start_s IS NOT NULL THEN two.start_s < one.start_s
    ELSE two.place < one.place END""",
    f"""
SELECT 'gates:' || own.place, CASE
    WHEN unit.id IS NULL
    THEN format('is about %s ''%s'', which is not there', body ->> '$.unit', body ->> '$.unit_id')
    ELSE format('is about turn %d of %d turns', body ->> '$.turn_index', turns) END
FROM gates AS own LEFT JOIN unit ON kind = body ->> '$.unit' AND unit.id = body ->> '$.unit_id'
WHERE body ->> '$.unit' IN ('chain', 'dialogue') AND body ->> '$.outcome' NOT IN ({_GONE})
    AND (unit.id IS NULL OR body ->> '$.turn_index' >= turns)""",
    """
SELECT "where", CASE
    WHEN unit.id IS NULL THEN format('%s %s ''%s'', which the benchmark does not have', does, body ->> '$.unit',
        body ->> '$.unit_id')
    ELSE format('%s turn %d of a %s of %d turns', does, body ->> '$.turn_index', body ->> '$.unit', turns) END
FROM judged LEFT JOIN unit ON kind = body ->> '$.unit' AND unit.id = body ->> '$.unit_id'
WHERE unit.id IS NULL OR body ->> '$.turn_index' >= turns""",
)
"""Queries for where an invariant is broken, and the sentence that says how."""


def _splits(database: Connection) -> Iterator[Finding]:
    alike: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for name, split, sha256, lookalikes in database.execute(
        "SELECT id, coalesce(split, 'no split'), sha256, lookalikes FROM video ORDER BY place"
    ):
        for what, mark in (("one file", sha256), ("videos that look alike", lookalikes)):
            if mark:
                alike[what, mark].append((name, split))
    for (what, _), same in alike.items():
        splits, ids = sorted({split for _, split in same}), ", ".join(name for name, _ in same)
        if len(splits) > 1:
            yield Finding("error", f"videos:{same[0][0]}", f"{what} ({ids}): in several splits, {splits}")
        elif len(same) > 1 and what == "one file":
            yield Finding("warning", f"videos:{same[0][0]}", f"several videos are the same file: {ids}")


def check_characters(content: ReadsTables) -> Iterator[Finding]:
    """Find texts with forbidden characters, and names of videos, clips and graphs that look alike."""
    for table in TABLES.values():
        for place, row in enumerate(content.read(table)):
            yield from _row_characters(table, place, row.to_json())
    yield from _graph_findings(content)


def _row_findings(table: Table[Any], place: int, row: Record, line: str) -> Iterator[Finding]:
    """What is wrong with a row, whatever the other rows are."""
    yield from _row_characters(table, place, line)
    if isinstance(row, QAChain | Dialogue):
        for index, turn in enumerate(row.turns):
            for vocabulary, label in unknown_labels(turn.labels):
                problem = f"label '{label}' is not among the known ones of {vocabulary}"
                yield Finding("warning", f"{table.name}:{row.id}.turns[{index}]", problem)
    if isinstance(row, ProactiveTask):
        yield from _requests(row)


def _turn_findings(
    table: Table[Any], unit: QAChain | Dialogue, film: Film, clips: Mapping[str, Interval]
) -> Iterator[Finding]:
    for index, found in unit_findings(unit, film, clips):
        because = unit.turns[index].extra.get(KEPT_BECAUSE)
        kept = f"; kept because: {because}" if found.may_go_on and because else ""
        where, problem = f"{table.name}:{unit.id}.turns[{index}]", f"turn {index + 1}: {found.text}{kept}"
        yield Finding("warning" if found.may_go_on else "error", where, problem)


def _row_characters(table: Table[Any], place: int, line: str) -> Iterator[Finding]:
    # Most rows contain none, so they need no further check.
    if MAY_BE_REFUSED.search(line):
        yield from _characters(f"{table.name}:{place}", json.loads(line), own=table is GATES)


def _graph_findings(content: ReadsTables) -> Iterator[Finding]:
    videos, clips = [row.id for row in content.read(VIDEOS)], [row.id for row in content.read(CLIPS)]
    graphs: list[str] = []
    for name, quads in content.graph_texts():
        yield from _characters(f"graphs/{name}", quads)
        graphs.append(name)
    for table, names in (("videos", videos), ("clips", clips), ("graphs", graphs)):
        for one, *others in equal_names(names):
            told = ", ".join(repr(other) for other in others)
            yield Finding("error", f"{table}:{one}", f"differs only in case or in invisible characters from {told}")


def _characters(where: str, value: Json, *, own: bool = False) -> Iterator[Finding]:
    for place, text in texts_of(value):
        if found := text_problem(text):
            # Results of checks keep a model's words as they came.
            is_error = found[0] and not (own and control_refusal(text) is None)
            yield Finding("error" if is_error else "warning", f"{where}{place}", found[1])


def _requests(task: ProactiveTask) -> Iterator[Finding]:
    for place, request in enumerate(task.requests):
        where = f"proactive:{task.id}.requests[{place}]"
        if request.at_s > task.until_s + TOLERANCE_S:
            problem = f"is said at {request.at_s:g} s; the stream ends at {task.until_s:g} s"
            yield Finding("error", where, problem)
        for name, moments in (("moments", request.moments), ("quiet", request.quiet)):
            before_s = request.at_s
            for index, moment in enumerate(moments):
                for problem in _moment(moment, before_s, task.until_s):
                    yield Finding("error", f"{where}.{name}[{index}]", problem)
                before_s = max(before_s, moment.interval.start_s)


def _moment(moment: Moment, before_s: float, until_s: float) -> Iterator[str]:
    start_s, end_s = moment.interval.start_s, moment.interval.end_s
    if start_s < before_s:
        yield f"begins at {start_s:g} s, before {before_s:g} s"
    if end_s > until_s + TOLERANCE_S:
        yield f"ends at {end_s:g} s; the stream ends at {until_s:g} s"
    if not moment.references:
        yield "has no reference for a reply"
