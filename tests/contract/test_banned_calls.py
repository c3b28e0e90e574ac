"""Nothing in the package can run code that stands in a file from strangers."""

import ast
from collections.abc import Iterator

from places import PACKAGES, SOURCES
from reliability_page import Reliability

MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}
NAMES = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load", "yaml.full_load"}
NAMES |= {"yaml.unsafe_load", "subprocess.getoutput", "subprocess.getstatusoutput"}
MUST_SAY = {"torch.load": ("weights_only", True)}
MUST_NOT_SAY = {"shell": True, "allow_pickle": True, "trust_remote_code": True, "weights_only": False}


def problems(tree: ast.AST) -> Iterator[str]:
    """What of a module is not allowed."""
    # Another's function of the name, as inspect_ai's `eval`, is none of Python's.
    borrowed = {
        name.asname or name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (f"import {name.name}" for name in names if name.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in MODULES:
                yield f"from {module} import"
            case ast.Call(func=func, keywords=keywords):
                name = ast.unparse(func)
                said = {word.arg: word.value for word in keywords}
                if name in NAMES - borrowed:
                    yield name
                for word, value in said.items():
                    if word in MUST_NOT_SAY and not is_constant(value, not MUST_NOT_SAY[word]):
                        yield f"{name}({word}={ast.unparse(value)})"
                if name in MUST_SAY and not is_constant(said.get(MUST_SAY[name][0]), MUST_SAY[name][1]):
                    yield f"{name} without {MUST_SAY[name][0]}"


def is_constant(value: ast.expr | None, wanted: object) -> bool:
    return isinstance(value, ast.Constant) and value.value is wanted


def test_no_call_of_the_package_runs_what_stands_in_a_file(reliability: Reliability) -> None:
    tally = reliability("code", "calls in the package: pickle, eval, yaml.load, a shell and the like", "such a call")
    found = []
    for path in sorted(path for source in SOURCES for path in source.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tally.tried += sum(isinstance(node, ast.Call) for node in ast.walk(tree))
        found += [f"{path.relative_to(PACKAGES)}: {problem}" for problem in problems(tree)]
    tally.failed = len(found)
    assert tally.tried > 10_000
    assert found == []


def test_the_watch_sees_what_it_looks_for() -> None:
    bad = """
import pickle
from dill import loads
eval("1"); os.system("x"); yaml.load(f); subprocess.run("x", shell=True); np.load(f, allow_pickle=yes)
torch.load(f); torch.load(f, weights_only=False); AutoModel.from_pretrained(n, trust_remote_code=True)
"""
    assert len(list(problems(ast.parse(bad)))) == 11
    good = "re.compile(x); yaml.safe_load(f); subprocess.run([x], shell=False); torch.load(f, weights_only=True)"
    assert list(problems(ast.parse(good))) == []
