"""Figures that are held against an aim: printed, and told to the page of figures where the environment asks for it.

The form is that of the workspace's programs that measure: a line of JSON each, in the file `SWITCHBOARD_CLAIMS`.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "SWITCHBOARD_CLAIMS"


@dataclass(frozen=True)
class Claim:
    """A sentence, its aim, the figure, and the verdict: `met`, `MISSED`, or empty without an aim."""

    text: str
    aim: str
    figure: str
    verdict: str


def at_most(text: str, aim: float, figure: float, unit: str) -> Claim:
    """Hold a figure against the most that it may be."""
    return Claim(text, f"≤ {_with(aim, unit)}", _with(figure, unit), "met" if figure <= aim else "MISSED")


def stated(text: str, figure: float, unit: str) -> Claim:
    """State a figure without an aim."""
    return Claim(text, "", _with(figure, unit), "")


def tell(*claims: Claim) -> None:
    """Print the claims, append them to the file, and fail the test where an aim is missed."""
    for claim in claims:
        print(f"{claim.text}: {claim.figure}" + (f", aim {claim.aim}: {claim.verdict}" if claim.aim else ""))
    if path := os.environ.get(FILE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(asdict(claim))}\n" for claim in claims)
    assert [claim for claim in claims if claim.verdict == "MISSED"] == []


def _with(figure: float, unit: str) -> str:
    """Return a figure to three significant digits, with its unit."""
    size = abs(figure)
    digits = 0 if size == 0 or size >= 100 else 3 if size < 1 else 2 if size < 10 else 1
    text = f"{figure:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}".strip()
