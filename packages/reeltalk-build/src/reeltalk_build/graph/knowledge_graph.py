"""A SPARQL store of activity graphs, with one named graph per clip or activity.

The named queries are the files in `graph/queries`. Each begins with a comment that describes its answer and parameters.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError, SettingError
from reeltalk.language.vocabulary import INSTANCE, NAMESPACES
from reeltalk_build.graph.rdf import engine, graph_iri, parse_rdf
from reeltalk_build.graph.reading import graph_texts

NODE_PARAMETERS: Final = frozenset({"object", "activity", "main", "target", "event"})
"""Parameters that name a node; all others are literals."""
QUERIES: Final = Path(__file__).parent / "queries"


@cache
def named_queries() -> Mapping[str, str]:
    """SPARQL by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(QUERIES.glob("*.rq"))}


def describe_query(name: str) -> str:
    """Description of a query and its parameters, from the comment at its start."""
    lines = named_queries()[name].splitlines()
    return " ".join(line.removeprefix("# ") for line in lines if line.startswith("# "))


class KnowledgeGraph:
    """A store of activity graphs.

    Make with `KnowledgeGraph.load`, or add quads to an empty one.
    """

    def __init__(self) -> None:
        self._engine = engine()
        self._store = self._engine.Store()

    @classmethod
    def load(cls, source: Path) -> "KnowledgeGraph":
        """Load all graphs of a folder, zip archive, file or benchmark.

        Raises:
            InputError: A file has a syntax error; the message names the line.
        """
        graph = cls()
        for name, where, text in graph_texts(source):
            graph.add(name, text, file=where)
        return graph

    def add(self, name: str, text: str, *, file: Path | str) -> None:
        """Add a file's triples as the named graph of `name`.

        Raises:
            InputError: The text has a syntax error; the message names the line.
        """
        graph = self._engine.NamedNode(graph_iri(name))
        self._store.bulk_extend(
            self._engine.Quad(triple.subject, triple.predicate, triple.object, graph)
            for triple in parse_rdf(text, file=file)
        )

    def __len__(self) -> int:
        return len(self._store)

    def graphs(self) -> list[str]:
        """IRIs of the named graphs, sorted."""
        return sorted(graph.value for graph in self._store.named_graphs())

    def ask(self, query: str, *, graph: str | None = None, **values: str | float) -> list[dict[str, str]]:
        """Run a named query.

        Args:
            query: Name of the query, for example `state-at`.
            graph: Restrict the query to this activity or clip; all by default.
            values: Its parameters: objects and activities by local name (`tv297_scene1`), numbers as they are.

        Returns:
            One row per solution: names and literals by variable. Unbound variables are left out.

        Raises:
            SettingError: There is no query or graph of that name, or a value that the query needs is missing.
        """
        text = named_queries().get(query)
        if text is None:
            raise SettingError(f"there is no query {query!r}; known: {', '.join(named_queries())}")
        if graph is not None and graph_iri(graph) not in self.graphs():
            raise SettingError(f"there is no graph {graph!r} among {len(self.graphs()):,}")
        values = values | ({"graph": graph} if graph is not None else {})
        missing = sorted({"object", "situation", "shape_of", "start", "end"} & _free(text) - set(values))
        if missing:
            raise SettingError(f"{query} needs {', '.join(missing)}; it answers: {describe_query(query)}")
        projected = set(re.findall(r"\?(\w+)", text[text.index("SELECT") : text.index("WHERE")]))
        for name, value in values.items():
            term = str(self._term(name, value))
            if name in projected:
                text = text.replace("WHERE {", f"WHERE {{ VALUES ?{name} {{ {term} }}", 1)
            else:
                text = term.join(re.split(rf"\?{name}\b", text))
        return self._rows(self._store.query(text))

    def select(self, sparql: str, *, file: Path | str = "query") -> list[dict[str, str]]:
        """Run a user's SELECT query.

        Raises:
            InputError: The query has a syntax error, cannot be answered, or is not a SELECT query.
        """
        try:
            answer = self._store.query(sparql)
        except SyntaxError as error:
            place = re.match(r"error at (\d+):\d+: ", str(error.msg))
            problem = str(error.msg)[place.end() if place else 0 :]
            raise InputError(f"not SPARQL: {problem}", file=file, line=int(place[1]) if place else None) from None
        except (ValueError, OSError) as error:
            raise InputError(f"cannot be answered: {error}", file=file) from None
        if not isinstance(answer, self._engine.QuerySolutions):
            raise InputError("only SELECT queries are answered", file=file)
        return self._rows(answer)

    def _term(self, name: str, value: str | float) -> Any:
        # The library writes a term with its escapes, so a value cannot change the query.
        if name == "graph":
            return self._engine.NamedNode(graph_iri(str(value)))
        if name in NODE_PARAMETERS:
            try:
                return self._engine.NamedNode(INSTANCE + str(value))
            except ValueError:
                raise SettingError(f"{value!r} is not the name of an {name}") from None
        return self._engine.Literal(value)

    def _rows(self, answer: Iterable[Any]) -> list[dict[str, str]]:
        names = [variable.value for variable in answer.variables]  # type: ignore[attr-defined]
        return [
            {name: _local(term.value) for name in names if (term := solution[name]) is not None} for solution in answer
        ]


def _free(text: str) -> set[str]:
    """Parameters that a query lists in its comment line `# Values:`."""
    return set(re.findall(r"\w+", text[text.index("# Values:") :].split("\n", 1)[0].split(";")[0].split("(")[0]))


def _local(value: str) -> str:
    return next((value[len(n) :] for n in NAMESPACES if value.startswith(n)), value)
