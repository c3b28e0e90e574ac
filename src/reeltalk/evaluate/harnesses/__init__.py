"""Benchmarks as tasks of other evaluation harnesses, scored there by our own rules: lmms-eval and VLMEvalKit."""

HARNESSES: dict[str, str] = {
    "lmms-eval": "a task of lmms-eval: YAML, module, questions, videos cut at the question",
    "vlmevalkit": "a data set of VLMEvalKit: TSV, class, videos cut at the question",
}
"""What each name on the command line means."""
