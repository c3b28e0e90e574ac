"""The command line: one function a command, each parses, calls and prints."""

from reeltalk.cli import benchmark, construction, evaluation, graph, scenario, world
from reeltalk.cli.app import app, main, run

__all__ = ["app", "benchmark", "construction", "evaluation", "graph", "main", "run", "scenario", "world"]
