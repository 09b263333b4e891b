"""A process of its own with the leg in it, which answers every call and says back what it hears.

`python -m legs.host PORT CERTIFICATE SETTINGS`, with the tests' folders on the path; SETTINGS are more of the leg's, as
JSON, and more `trunks`. It prints `ready`, then each line's events; a call to `call-PORT` has it call that port, and
`forget` on its input takes the trunks back. What may kill a process, or needs a second stack, is tested on this one.
"""

import asyncio
import ctypes
import json
import os
import sys
from ipaddress import ip_network
from typing import Any

from baresip import _native

from switchboard_engine.legs import Arrival, Ended, LegError, Telephony
from switchboard_engine.legs.settings import SipSettings
from switchboard_engine.legs.sip.leg import SipLeg
from switchboard_engine.legs.transport import PIPELINE_HZ, LineAudio

EVERYBODY = Telephony(trunk_id="all", address="127.0.0.1", from_="+1", allowed_inbound_ips=(ip_network("127.0.0.0/8"),))


def kill_stack(leg: SipLeg) -> None:
    """Stop the SIP thread behind the back of its owner: libre's loop ends, as after a fault."""
    library = ctypes.CDLL(_native.__file__)
    leg._killing = asyncio.ensure_future(leg._native.run(lambda: library.re_cancel() or 0))  # type: ignore[attr-defined]


async def echo(leg: SipLeg, arrival: Arrival) -> None:
    """Answer, say everything back, and end with the call."""
    line = await arrival.answer()
    if arrival.to.startswith("call-"):
        trunk = Telephony(trunk_id="back", address=f"127.0.0.1:{arrival.to.removeprefix('call-')}", from_="+1202")
        try:
            await leg.dial(trunk, "+12025550123")
        except LegError as error:
            print(error, flush=True)
    if arrival.to == "die":
        asyncio.get_running_loop().call_later(0.5, kill_stack, leg)
    audio: LineAudio = line.transport._output._audio  # type: ignore[attr-defined]

    async def speak() -> None:
        while True:
            await asyncio.sleep(0.01)
            if pcm := audio.read() if audio.flows else b"":
                await audio.write(pcm, PIPELINE_HZ)

    speaking = asyncio.create_task(speak())
    async for event in line.events:
        print(event, flush=True)
        if isinstance(event, Ended):
            speaking.cancel()


async def main(port: int, certificate: str, more: dict[str, Any]) -> None:
    """Run until the input ends."""
    trunks = [Telephony.from_api(members) for members in more.pop("trunks", [])]
    settings = SipSettings(
        "127.0.0.1", port, certificate=certificate, ca_file=certificate, rtp_timeout_s=2, **{"calls_max": 5_000, **more}
    )
    leg = SipLeg(settings, print)
    await leg.start()
    await leg.set_trunks([EVERYBODY, *trunks])
    print("ready", flush=True)
    calls: set[asyncio.Task[None]] = set()

    async def serve() -> None:
        async for arrival in leg.incoming():
            calls.add(asyncio.create_task(echo(leg, arrival)))

    async def obey() -> None:
        while await asyncio.to_thread(sys.stdin.readline) == "forget\n":
            await leg.set_trunks([EVERYBODY])
            print("forgotten", flush=True)

    serving = asyncio.create_task(serve())
    ending = asyncio.create_task(obey())
    await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
    await leg.stop()
    try:
        await serving
    except LegError as error:
        print(error, flush=True)
        os._exit(1)  # the thread that reads the input would not end
    await asyncio.gather(*calls)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
