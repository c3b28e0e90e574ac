"""Short answers: additions to reeltalk from outside. `pyproject.toml` names them, and each is one file.

Read any file by itself. `brevity` and `shortest` belong together: the baseline gives the answers that the judge likes
best, so its score shows what brevity alone is worth.
"""
