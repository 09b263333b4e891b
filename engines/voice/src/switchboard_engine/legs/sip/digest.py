"""Digests (RFC 2617), of calls to us and of ours."""

import hashlib
import re
import secrets


def parameters(challenge: str) -> dict[str, str]:
    """Return the parameters of a digest header (RFC 7616 section 3.4), names in lower case, values unquoted."""
    pairs = re.findall(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))', challenge)
    return {name.lower(): quoted or plain for name, quoted, plain in pairs}


def response(given: dict[str, str], method: str, username: str, password: str) -> str:
    """Return the response that a digest header must have, with MD5, for `qop=auth` or none (RFC 2617 section 3.2.2)."""

    def md5(text: str) -> str:
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

    secret = md5(f"{username}:{given.get('realm', '')}:{password}")
    request = md5(f"{method}:{given.get('uri', '')}")
    if "qop" in given:
        middle = ":".join(given.get(name, "") for name in ("nonce", "nc", "cnonce", "qop"))
        return md5(f"{secret}:{middle}:{request}")
    return md5(f"{secret}:{given.get('nonce', '')}:{request}")


def credentials(challenge: str, method: str, uri: str, username: str, password: str) -> str:
    """Return the header's value that answers a challenge."""
    asked = parameters(challenge)
    given = {"realm": asked.get("realm", ""), "nonce": asked.get("nonce", ""), "uri": uri}
    if "opaque" in asked:
        given["opaque"] = asked["opaque"]
    if "qop" in asked:
        given |= {"qop": "auth", "nc": "00000001", "cnonce": secrets.token_hex(8)}
    members = {"username": username, **given, "response": response(given, method, username, password)}
    bare = ("qop", "nc")
    parts = (f"{name}={value}" if name in bare else f'{name}="{value}"' for name, value in members.items())
    return f"Digest {', '.join(parts)}, algorithm=MD5"
