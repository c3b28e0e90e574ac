"""Knowledge graphs of videos: reading and writing RDF, SPARQL queries, texts from graphs, and scenarios.

Questions about graphs are left to `questions`, and filming a graph to `world`. Begin with `activity`, one activity in
memory, then `reading` and `story`.
"""
