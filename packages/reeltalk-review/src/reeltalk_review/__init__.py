"""The web application on which people accept, edit, link and label every turn of a benchmark.

Its database holds work in progress, the benchmark holds results: applying settled work writes the next revision. Drafts
come from `construct`, judging and reports belong to other rooms. Begin with `app.py` for the pages, `work.py` for one
person's work, `settling.py` for agreement and adjudication, and `applying/stage.py` for the way back.
"""
