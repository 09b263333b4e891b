"""The catalogue that the service ships, as a claimed assistant has its entries."""

import json
from pathlib import Path
from typing import Any

CATALOGUE: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[4] / "core/data/catalogue.json").read_text(encoding="utf-8")
)


def entries(name: str) -> list[dict[str, Any]]:
    """Return a list of the catalogue."""
    return CATALOGUE[name]


def entry(name: str, code: str) -> dict[str, Any]:
    """Return an entry by its code."""
    return next(one for one in CATALOGUE[name] if one["code"] == code)


def tags_of(provider: dict[str, Any]) -> list[str]:
    """Return the BCP 47 tags of a provider's languages."""
    return [one["code"] for one in CATALOGUE["languages"] if one["id"] in provider["language_ids"]]
