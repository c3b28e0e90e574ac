"""Text metrics against the COCO caption evaluation package, paired in one run.

CPU seconds are user and system time of this process and of its children, so they are valid on a busy machine. The
baseline, pycocoevalcap, is installed into `build/bench/venv`: it is measured there and is not a dependency. Both sides
get the same tokens, joined by spaces, and the time to split them counts for both. METEOR is measured as the package is
used (a Java process a file) and as ours (one for all files); the tokeniser on the texts of one file, Java included.
"""

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any

import numpy as np

from record import ROOT, Measure, at_most, lacking, options_of, record
from reeltalk.metrics import token_metrics
from reeltalk.metrics.meteor import MeteorProcess, meteor_from_statistics
from reeltalk.metrics.token_metrics import Corpus
from reeltalk.metrics.tokenise import tokenise_coco

SHARED = Path(os.environ.get("REELTALK_SHARED", ROOT.parent / "shared"))
SIZES = (1_000, 4_524, 10_000, 50_000)
ROUNDS = 3
Pairs = tuple[list[str], list[list[str]]]

BASELINE = """
import json, resource, sys, time, contextlib, io
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.cider.cider import Cider
def cpu():
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
for line in sys.stdin:
    answers, references = json.loads(line)
    res = {i: [a] for i, a in enumerate(answers)}
    gts = dict(enumerate(references))
    start = cpu()
    with contextlib.redirect_stdout(io.StringIO()):
        b, bs = Bleu(4).compute_score(gts, res)
        r, rs = Rouge().compute_score(gts, res)
        c, cs = Cider().compute_score(gts, res)
    spent = cpu() - start
    items = [list(map(float, column)) for column in (*bs, rs, cs)]
    print(json.dumps([spent, [*map(float, b), float(r), float(c)], items]), flush=True)
"""

METEOR_BASELINE = """
import json, sys
from pycocoevalcap.meteor.meteor import Meteor
for answers, references in json.load(sys.stdin):
    meteor = Meteor()
    score, _ = meteor.compute_score(dict(enumerate(references)), {i: [a] for i, a in enumerate(answers)})
    del meteor
    print(score)
"""

TOKENISER_BASELINE = """
import json, sys
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
texts = json.load(sys.stdin)
print(json.dumps(PTBTokenizer().tokenize({i: [{"caption": text}] for i, text in enumerate(texts)})))
"""


def cpu_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def baseline_python() -> Path:
    """The interpreter that has pycocoevalcap; makes it where it is missing."""
    folder = ROOT / "build" / "bench" / "venv"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print("installing the baseline, pycocoevalcap, into build/bench/venv", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "pycocoevalcap==1.2", "numpy==2.4.6"], check=True)
        (folder / "ready").touch()
    return Path(python)


def raw_texts() -> list[str]:
    """References and answers of one file as they are written; none where there are no shared data."""
    for file in sorted((SHARED / "data" / "vdact" / "results").glob("*.json")):
        return [
            row[field] for row in json.loads(file.read_text(encoding="utf-8")) for field in ("ref_answer", "gen_answer")
        ]
    return []


def load_files() -> tuple[list[Pairs], str]:
    """Tokenised answers and references of six files, real where they are at hand."""
    files = sorted((SHARED / "data" / "vdact" / "results").glob("*.json"))
    if not files:
        return [generated(seed) for seed in range(6)], "generated text: no shared data here"
    loaded = []
    for file in files:
        rows = list({row["id"]: row for row in reversed(json.loads(file.read_text(encoding="utf-8")))}.values())
        answers = [" ".join(tokenise_coco(row["gen_answer"])) for row in rows]
        loaded.append((answers, [[" ".join(tokenise_coco(row["ref_answer"]))] for row in rows]))
    return loaded, "VDAct's six released output files"


def generated(seed: int) -> Pairs:
    draw = random.Random(seed)
    words = [f"w{int(draw.paretovariate(0.8)) % 3000}" for _ in range(60_000)]
    texts = [" ".join(draw.choices(words, k=draw.randint(2, 18))) for _ in range(9_048)]
    return texts[:4_524], [[text] for text in texts[4_524:]]


def sized(files: list[Pairs], size: int) -> Pairs:
    answers = [text for file in files for text in file[0]]
    references = [group for file in files for group in file[1]]
    times = -(-size // len(answers))
    return (answers * times)[:size], (references * times)[:size]


def ours(pairs: Pairs) -> tuple[float, list[float], list[Any]]:
    start = cpu_seconds()
    answers = [text.split() for text in pairs[0]]
    references = [[text.split() for text in group] for group in pairs[1]]
    corpus = Corpus(answers, references)
    statistics = token_metrics.bleu_statistics(corpus)
    corpus_bleu = token_metrics.bleu_from_statistics(statistics.sum(axis=0, keepdims=True))[0]
    items = [
        *token_metrics.bleu_from_statistics(statistics).T,
        token_metrics.rouge_l_per_item(corpus),
        token_metrics.cider_per_item(corpus),
    ]
    spent = cpu_seconds() - start
    return spent, [*corpus_bleu.tolist(), float(items[4].mean()), float(items[5].mean())], items


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = cpu_seconds()
    result = work()
    return cpu_seconds() - start, result


def answer_of(python: Path, program: str, question: object) -> str:
    """What a Python program of the baseline prints when it gets `question` as JSON."""
    with tempfile.TemporaryFile("w+") as stream:
        json.dump(question, stream)
        stream.seek(0)
        done = subprocess.run([str(python), "-c", program], stdin=stream, capture_output=True, text=True, check=True)
    return done.stdout


def meteor_baseline(python: Path, files: list[Pairs]) -> list[float]:
    return [float(score) for score in answer_of(python, METEOR_BASELINE, files).split()]


def tokeniser_baseline(python: Path, texts: list[str]) -> list[list[str]]:
    tokens = json.loads(answer_of(python, TOKENISER_BASELINE, texts))
    return [tokens[str(index)][0].split() for index in range(len(texts))]


def meteor_ours(jar: Path, files: list[Pairs]) -> list[float]:
    scores = []
    with MeteorProcess(jar=jar) as meteor:
        for answers, references in files:
            statistics, _ = meteor.statistics(answers, references)
            scores.append(float(meteor_from_statistics(statistics.sum(axis=0, keepdims=True))[0]))
    return scores


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--baseline-only", action="store_true", help="install the baseline, and no more")
    options = parser.parse_args()
    quick: bool = options.quick
    try:
        python = baseline_python()
    except subprocess.CalledProcessError as error:
        lacking("metrics", f"pycocoevalcap, which could not be installed ({error})", quick=quick)
    if options.baseline_only:
        return
    sizes, rounds = (SIZES[:2], 1) if quick else (SIZES, ROUNDS)
    files, source = load_files()
    figures: dict[str, float] = {}
    baseline = subprocess.Popen([str(python), "-c", BASELINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert baseline.stdin is not None
    assert baseline.stdout is not None
    for size in sizes:
        pairs = sized(files, size)
        theirs_s, ours_s, difference = [], [], 0.0
        for _ in range(rounds if size <= 10_000 else 1):
            baseline.stdin.write(json.dumps(pairs) + "\n")
            baseline.stdin.flush()
            spent, corpus, items = json.loads(baseline.stdout.readline())
            our_spent, our_corpus, our_items = ours(pairs)
            theirs_s.append(spent)
            ours_s.append(our_spent)
            difference = max(difference, *np.abs(np.subtract(corpus, our_corpus)).tolist())
            difference = max(
                difference, *(np.abs(np.subtract(a, b)).max() for a, b in zip(items, our_items, strict=True))
            )
        figures[f"pairs_{size}_coco_cpu_s"] = min(theirs_s)
        figures[f"pairs_{size}_ours_cpu_s"] = min(ours_s)
        figures[f"pairs_{size}_ratio"] = min(theirs_s) / min(ours_s)
        figures[f"pairs_{size}_largest_difference"] = difference
    baseline.stdin.close()
    baseline.stdout.close()
    baseline.wait()
    notes = [source, "ratio: CPU seconds of the COCO package over ours, BLEU, ROUGE-L and CIDEr together"]
    jars = list((ROOT / "build" / "bench" / "venv").rglob("meteor-1.5.jar"))
    if shutil.which("java") and jars:
        for name, chosen in (("one_file", files[:1]), ("six_files", files)):
            theirs, theirs_scores = timed(partial(meteor_baseline, python, chosen))
            own, our_scores = timed(partial(meteor_ours, jars[0], chosen))
            figures[f"meteor_{name}_coco_cpu_s"], figures[f"meteor_{name}_ours_cpu_s"] = theirs, own
            figures[f"meteor_{name}_ratio"] = theirs / own
            figures[f"meteor_{name}_largest_difference"] = float(np.abs(np.subtract(theirs_scores, our_scores)).max())
        if texts := raw_texts():
            theirs, their_tokens = timed(partial(tokeniser_baseline, python, texts))
            own, our_tokens = timed(lambda: [tokenise_coco(text) for text in texts])
            figures["tokenise_one_file_coco_cpu_s"], figures["tokenise_one_file_ours_cpu_s"] = theirs, own
            figures["tokenise_one_file_ratio"] = theirs / own
            figures["tokenise_one_file_texts_that_differ"] = sum(map(ne, their_tokens, our_tokens))
    else:
        notes.append("METEOR and the tokeniser were not measured: no Java here")
    measures = [
        Measure(
            f"BLEU, ROUGE-L and CIDEr of {size:,} pairs", figures[f"pairs_{size}_ours_cpu_s"], "CPU s",
            "COCO caption evaluation package", figures[f"pairs_{size}_ratio"],
        )
        for size in sizes
    ]  # fmt: skip
    largest = max(value for name, value in figures.items() if name.endswith("largest_difference"))
    measures.append(Measure("largest difference of any value from that package", largest, "points", goal=at_most(1e-9)))
    measures += [
        Measure(what, figures[f"{name}_ours_cpu_s"], "CPU s", f"COCO package, {how}", figures[f"{name}_ratio"])
        for name, what, how in (
            ("meteor_one_file", "METEOR of one file", "a Java process a file"),
            ("meteor_six_files", "METEOR of six files", "a Java process a file"),
            ("tokenise_one_file", "tokenising one file", "Java"),
        )
        if f"{name}_ratio" in figures
    ]
    record("metrics", measures, figures=figures, packages=["numpy", "reeltalk"], notes=notes, quick=quick)


if __name__ == "__main__":
    main()
