"""Run the code cells of a notebook in order, as Jupyter does, and print what each shows.

python tools/notebook_cells.py examples/leaderboard.ipynb

A line of JSON for each code cell: its first line of code, and the HTML or the text of its last expression.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    """The code cells of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def main(notebook: str) -> None:
    """Run the cells in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(Path(notebook)):
        source = "".join(cell["source"])
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, notebook, "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), notebook, "eval"), namespace)
        html = getattr(value, "_repr_html_", None)
        shown = {"html": html()} if html is not None else {"text": None if value is None else repr(value)}
        print(json.dumps({"cell": source.partition("\n")[0], **shown}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
