"""An environment with a key of every vendor; none opens anything."""

import json
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from switchboard_engine.providers import accounts
from switchboard_engine.providers.accounts import Account

SECRET = "-of-nobody"
"""What every key ends in."""
ACCOUNTS = [account for account in vars(accounts).values() if isinstance(account, Account)]


def all_keys(folder: Path) -> dict[str, str]:
    """Return every account's variables; Google's is a file in `folder`."""
    keys = {name: f"{name.lower()}{SECRET}" for account in ACCOUNTS for name in account.keys}
    keys["AWS_REGION"] = "us-east-1"
    keys["AWS_SECRET_ACCESS_KEY"] = f"secret{SECRET}"
    keys["AZURE_SPEECH_REGION"] = "westeurope"
    keys["GOOGLE_APPLICATION_CREDENTIALS"] = str(_service_account(folder))
    return keys


def without(keys: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return the environment without some variables."""
    return {name: value for name, value in keys.items() if name not in names}


def _service_account(folder: Path) -> Path:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    path = folder / "service-account.json"
    content = {
        "type": "service_account",
        "project_id": "nobody",
        "private_key_id": "1",
        "private_key": pem,
        "client_email": "nobody@nobody.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": "https://oauth2.invalid/token",
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
