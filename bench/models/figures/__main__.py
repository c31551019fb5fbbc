"""Runs the figures that are asked for: see `bench/models/run`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from figures import census, figure10, regression, synthetic
from program import Program


def main() -> None:
    """Parses the arguments and runs each figure."""
    parser = argparse.ArgumentParser(prog="bench/models/run")
    parser.add_argument("albers", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("figures", nargs="*", default=[])
    parser.add_argument("--adult", type=Path, help="the folder of adult.csv and its hierarchies")
    parser.add_argument("--repetitions", type=int, default=30)
    given = parser.parse_args()
    program = Program(given.albers.resolve())
    runs = {
        "6": lambda: synthetic.figure6(program, given.out, given.repetitions),
        "9": lambda: regression.figure9(program, given.out, given.repetitions),
        "10": lambda: figure10.figure10(program, given.out, given.repetitions),
    }
    if given.adult is not None:
        adult = given.adult.resolve()
        runs["7"] = lambda: census.figure7(program, given.out, adult)
        runs["13-left"] = lambda: census.figure13_left(program, given.out, adult)
        runs["13-right"] = lambda: census.figure13_right(program, given.out, adult)
    for name in given.figures or runs:
        start = time.monotonic()
        runs[name]()
        print(f"figure {name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
