"""Digests (RFC 2617), of calls to us and of ours."""

import hashlib
import re
import secrets

_HASHES = {"MD5": "md5", "SHA-256": "sha256"}


def parameters(challenge: str) -> dict[str, str]:
    """Return the parameters of a digest header (RFC 7616 section 3.4), names in lower case, values unquoted."""
    pairs = re.findall(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))', challenge)
    return {name.lower(): quoted or plain for name, quoted, plain in pairs}


def is_known(challenge: str) -> bool:
    """Return whether a challenge is for a digest of an algorithm that is known here."""
    scheme, _, rest = challenge.partition(" ")
    return scheme.lower() == "digest" and parameters(rest).get("algorithm", "MD5").upper() in _HASHES


def response(given: dict[str, str], method: str, username: str, password: str) -> str:
    """Return the response that a digest header must have, for `qop=auth` or none (RFC 7616 section 3.4.1)."""
    name = _HASHES.get(given.get("algorithm", "MD5").upper(), "md5")

    def hashed(text: str) -> str:
        return hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()

    secret = hashed(f"{username}:{given.get('realm', '')}:{password}")
    request = hashed(f"{method}:{given.get('uri', '')}")
    if "qop" in given:
        middle = ":".join(given.get(name, "") for name in ("nonce", "nc", "cnonce", "qop"))
        return hashed(f"{secret}:{middle}:{request}")
    return hashed(f"{secret}:{given.get('nonce', '')}:{request}")


def credentials(challenge: str, method: str, uri: str, username: str, password: str) -> str:
    """Return the header's value that answers a challenge."""
    asked = parameters(challenge)
    given = {"realm": asked.get("realm", ""), "nonce": asked.get("nonce", ""), "uri": uri}
    given |= {name: asked[name] for name in ("opaque", "algorithm") if name in asked}
    if "qop" in asked:
        given |= {"qop": "auth", "nc": "00000001", "cnonce": secrets.token_hex(8)}
    members = {"username": username, **given, "response": response(given, method, username, password)}
    bare = ("qop", "nc", "algorithm")
    parts = (f"{name}={value}" if name in bare else f'{name}="{value}"' for name, value in members.items())
    return f"Digest {', '.join(parts)}"
