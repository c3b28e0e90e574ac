"""Ask activity graphs what they know: named queries, SPARQL of your own, and the story told.

python examples/graphs.py benchmarks/household
"""

import sys
from pathlib import Path

from reeltalk_build.graph.knowledge_graph import KnowledgeGraph, named_queries
from reeltalk_build.graph.reading import read_graphs
from reeltalk_build.graph.telling import initial_room, tell_activity

OWN = """
PREFIX : <http://example.org/virtualhome2kg/ontology/>
PREFIX action: <http://example.org/virtualhome2kg/ontology/action/>
SELECT (COUNT(DISTINCT ?graph) AS ?graphs) WHERE { GRAPH ?graph { ?event :action action:grab } }
"""


def main(graphs: str) -> None:
    """Query a benchmark's graphs, or a folder or archive of graphs, and tell the first of them."""
    known = KnowledgeGraph.load(Path(graphs))
    print(f"queries: {', '.join(named_queries())}")
    for row in known.ask("actions")[:3]:
        print(f"{row['action']}: {row['events']} times")
    print(f"something is taken in {known.select(OWN)[0]['graphs']} of {len(known.graphs())} graphs")

    name, activity = next(iter(read_graphs(Path(graphs)).items()))
    print(f"{name}: {len(known.ask('events', graph=name))} events, {len(activity.events)} of them told:")
    for line in tell_activity(activity, initial_room(activity))[:4]:
        print(f"  {line}")


if __name__ == "__main__":
    main(*sys.argv[1:])
