"""The table of vendors in README.md is that of the code."""

import re
from pathlib import Path

from switchboard_engine.providers.accounts import Account
from switchboard_engine.providers.llm import LLM
from switchboard_engine.providers.realtime import REALTIME
from switchboard_engine.providers.stt import STT
from switchboard_engine.providers.tts import TTS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PROVIDERS = README.partition("\n## Providers\n")[2].partition("\n## ")[0]
KINDS: list[dict[str, Account]] = [
    {vendor: row.account for vendor, row in STT.items()},
    {vendor: row.account for vendor, row in TTS.items()},
    {vendor: row.account for vendor, row in LLM.items()},
    {vendor: row.account for vendor, row in REALTIME.items()},
]


def rows() -> dict[str, list[str]]:
    """Return the cells of each vendor."""
    found = re.findall(r"^\| `([a-z]+)` \|(.*)\|$", PROVIDERS, re.MULTILINE)
    return {vendor: [cell.strip() for cell in cells.split("|")] for vendor, cells in found if vendor != "vendor"}


def test_each_vendor_has_a_row_that_says_what_it_does() -> None:
    vendors = sorted(set().union(*KINDS))
    assert sorted(rows()) == vendors
    for vendor, cells in rows().items():
        does = ["yes" if vendor in kind else "" for kind in KINDS]
        assert cells[:4] == ([*does[:3], "no"] if vendor == "qwen" else does), vendor


def test_each_row_names_the_variables_and_the_extras() -> None:
    for vendor, cells in rows().items():
        accounts = [kind[vendor] for kind in KINDS if vendor in kind]
        for name in {name for account in accounts for name in account.keys + account.optional}:
            assert f"`{name}`" in cells[4], (vendor, name)
        extras = {account.extra for account in accounts if account.extra}
        assert extras == set(re.findall(r"`([a-z-]+)`", cells[5])), vendor
