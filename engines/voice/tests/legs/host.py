"""A process of its own with the leg in it, which answers every call and says back what it hears.

`python -m legs.host PORT [CERTIFICATE]`, with the tests' folders on the path; prints `ready`, then each line's events.
What may kill a process, or needs a second stack, is tested on this one.
"""

import asyncio
import sys
from ipaddress import ip_network

from switchboard_engine.legs import Arrival, Ended, Telephony
from switchboard_engine.legs.sip import SipLeg, SipSettings
from switchboard_engine.legs.transport import PIPELINE_HZ, LineAudio

EVERYBODY = Telephony(trunk_id="all", address="127.0.0.1", from_="+1", allowed_inbound_ips=(ip_network("127.0.0.0/8"),))


async def echo(arrival: Arrival) -> None:
    """Answer, say everything back, and end with the call."""
    line = await arrival.answer()
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


async def main(port: int, certificate: str) -> None:
    """Run until the input ends."""
    settings = SipSettings(
        "127.0.0.1", port, certificate=certificate, ca_file=certificate, rtp_timeout_s=2, calls_max=5_000
    )
    leg = SipLeg(settings, print)
    await leg.start()
    await leg.set_trunks([EVERYBODY])
    print("ready", flush=True)
    calls: set[asyncio.Task[None]] = set()

    async def serve() -> None:
        async for arrival in leg.incoming():
            calls.add(asyncio.create_task(echo(arrival)))

    serving = asyncio.create_task(serve())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await leg.stop()
    await serving


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
