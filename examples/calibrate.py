"""May one trust a judge? Write a blinded sheet for people, and compare judges with what they filled in.

python examples/calibrate.py sheet ratings.csv runs/judged
python examples/calibrate.py compare ratings.csv runs/judged
"""

import sys

from reeltalk.stages import CalibrationSettings, calibrate, write_rating_sheet


def main(what: str, ratings: str, *runs: str) -> None:
    """Write the sheet, or compare by the one that people filled in."""
    if what == "sheet":
        rows = write_rating_sheet(*runs, out=ratings, items=40, criteria=("correctness",))
        print(f"{rows} answers to rate: fill in the columns rater and value of {ratings}")
        return
    found = calibrate(*runs, human=[ratings], settings=CalibrationSettings(scale=(1, 5), resamples=500))
    for dimension in found.dimensions:
        people = ", ".join(dimension.people.raters)
        print(f"{dimension.criterion}: {dimension.people.items} answers about {dimension.videos} videos, by {people}")
        for judge in dimension.judges:
            rho = judge.levels.answers.spearman
            print(f"  {judge.name}: Spearman {rho.value if rho else None}")
        for name, why in dimension.left_out:
            print(f"  {name} is not compared: {why}")


if __name__ == "__main__":
    main(*sys.argv[1:])
