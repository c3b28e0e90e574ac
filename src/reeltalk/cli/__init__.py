"""The command line: one function a command, each parses, calls and prints."""

from reeltalk.cli import (
    benchmark,
    calibrating,
    cases,
    comparing,
    construction,
    evaluating,
    evaluation,
    graph,
    judging,
    published,
    reviewing,
    rubrics,
    scenario,
    sharing,
    tagging,
    world,
)
from reeltalk.cli.app import app, main, run

__all__ = [
    "app",
    "benchmark",
    "calibrating",
    "cases",
    "comparing",
    "construction",
    "evaluating",
    "evaluation",
    "graph",
    "judging",
    "main",
    "published",
    "reviewing",
    "rubrics",
    "run",
    "scenario",
    "sharing",
    "tagging",
    "world",
]
