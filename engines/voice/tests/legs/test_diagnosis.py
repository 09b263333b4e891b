"""Sentences about trunks."""

import errno
import os
import ssl
from collections.abc import Iterator

import pytest

from switchboard_engine.client.checks import DETAIL_MAX
from switchboard_engine.legs import Telephony
from switchboard_engine.legs.sip import diagnosis

TRUNK = Telephony(trunk_id="1", address="pbx.example", username="carol", password="s3cret")
REASONS = ["", "Unauthorized", "ha" * 5_000, "s3cret", "no\r\n\x07s3cret" * 50]


def every_sentence() -> Iterator[str]:
    """Yield each sentence, with the oddest words that a trunk can have in it."""
    yield from (diagnosis.UNSENDABLE, diagnosis.UNFOUND)
    yield from (diagnosis.unresolved(5), diagnosis.no_answer(32), diagnosis.no_answer_to_credentials(5))
    for reason in REASONS:
        yield diagnosis.unknown_proof(401, reason, TRUNK)
        yield diagnosis.of_stack(f"{reason.replace('s3cret', '')} [{errno.EPROTO}]", 32)
        for status in range(300, 700):
            yield diagnosis.of_answer("registrar", status, reason, TRUNK)
            yield diagnosis.of_answer("trunk", status, reason, Telephony(trunk_id="1", address="pbx.example"))
    certificate = ssl.SSLCertVerificationError(1, "x")
    certificate.verify_message = "Hostname mismatch, certificate is not valid for '" + "a" * 250 + "'"
    yield from (diagnosis.of_error(error, 5) for error in (certificate, ssl.SSLError(1, "x" * 900), OSError("x" * 900)))


def test_a_sentence_is_whole_within_the_bound_of_a_detail() -> None:
    for sentence in every_sentence():
        assert len(sentence) <= DETAIL_MAX, sentence
        assert sentence.isprintable(), sentence
        assert sentence.endswith("."), sentence


def test_no_sentence_tells_the_password() -> None:
    for sentence in (diagnosis.of_answer("registrar", status, "s3cret is wrong", TRUNK) for status in range(300, 700)):
        assert "s3cret" not in sentence
        assert "… is wrong" in sentence
    # A password that is a word of ours leaves the sentence as it is.
    trunk = Telephony(trunk_id="1", address="pbx.example", username="carol", password="password")
    sentence = diagnosis.of_answer("registrar", 401, "No", trunk)
    assert sentence == "The registrar refused the user name or password (401 No): check both."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "There was no answer within 32 s: "),
        (f"Connection timed out [{errno.ETIMEDOUT}]", "There was no answer within 32 s: "),
        (f"Connection refused [{errno.ECONNREFUSED}]", "Nothing listens there: "),
        (f"Destination address required [{errno.EDESTADDRREQ}]", "The address is not found: "),
        (f"Protocol error [{errno.EPROTO}]", "The connection failed (Protocol error): "),
        (os.strerror(errno.EPROTONOSUPPORT), "The connection failed (Protocol not supported): "),
    ],
)
def test_what_the_stack_says_is_understood(text: str, sentence: str) -> None:
    assert diagnosis.of_stack(text, 32.0).startswith(sentence)
