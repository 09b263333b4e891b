"""Speech of the customer, and what is understood of the assistant's: espeak-ng and pocketsphinx."""

import os
import subprocess
from functools import lru_cache

import numpy as np
import soxr

from legs.programs import program
from legs.sound import Samples
from switchboard_engine.local.stt import BEAMS, jsgf, on_a_floor

HZ = 16_000
_HEADER_BYTES = 44


@lru_cache
def espeak() -> str:
    """Return the path of a script that runs espeak-ng with its libraries and data."""
    found = program("espeak-ng")
    script = found.root / "espeak-ng.sh"
    libraries = found.env["LD_LIBRARY_PATH"]
    data = next(found.root.glob("usr/lib/*/espeak-ng-data")).parent
    content = f'#!/bin/sh\nLD_LIBRARY_PATH="{libraries}" exec "{found.path}" --path="{data}" "$@"\n'
    if not script.exists() or script.read_text(encoding="utf-8") != content:
        fresh = script.with_suffix(f".{os.getpid()}")  # another process may run it at this moment
        fresh.write_text(content, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.rename(script)
    return str(script)


@lru_cache(maxsize=64)
def spoken(text: str, *, voice: str = "en-us+f2", speed: int = 150) -> Samples:
    """Return a text as the customer says it, 16 kHz."""
    wave = subprocess.run(  # noqa: S603
        [espeak(), "--stdout", "-v", voice, "-s", str(speed), text], capture_output=True, check=True
    ).stdout
    samples = np.frombuffer(wave[_HEADER_BYTES:], dtype=np.int16)
    return np.asarray(soxr.ResampleStream(22_050, HZ, 1, dtype="int16").resample_chunk(samples, last=True)).astype(
        np.int16
    )


def understood(samples: Samples, phrases: list[str]) -> str:
    """Return which of the phrases was said, empty for none; 16 kHz."""
    import pocketsphinx  # noqa: PLC0415

    decoder = pocketsphinx.Decoder(lm=None, loglevel="FATAL", **BEAMS)
    decoder.add_jsgf_string("phrases", jsgf(phrases))
    decoder.activate_search("phrases")
    decoder.start_utt()
    around = np.zeros(HZ // 3, dtype=np.int16)
    sound = np.concatenate((around, samples, around)).tobytes()
    decoder.process_raw(on_a_floor(sound), no_search=False, full_utt=True)
    decoder.end_utt()
    found = decoder.hyp()
    return found.hypstr if found is not None else ""
