"""Play dialogues to a model and write its answers, scores and tables as a run.

Judging protocols and metrics are in `judge` and `metrics`; the verbs that people call are in `stages`. Begin with
`settings.RunConfig`, which describes a run, then `stage.EvaluationRunner` and `playing.play`.
"""
