"""What an operator's monitoring reads: `/healthz`, and `/metrics` as Prometheus text."""

from collections.abc import Iterator

from aiohttp import web

from .supervisor import Supervisor, WorkerSlot

HEARTBEAT_AGE_MAX = 30.0
"""Seconds after which a worker without an answered heartbeat counts as detached: by then its leases run out."""

_PREFIX = "switchboard_engine_"
_FAMILIES = [
    ("calls_running", "gauge", "Calls that run."),
    ("calls_claimed_total", "counter", "Calls claimed since the worker's start."),
    ("calls_ended_total", "counter", "Calls that ended since the worker's start, by how they came out."),
    ("events_sent_total", "counter", "Events that the service took since the worker's start."),
    ("events_queued", "gauge", "Events that the service does not have yet."),
    ("heartbeat_age_seconds", "gauge", "Time since the last heartbeat that was answered; none before the first."),
    ("worker_up", "gauge", "Whether the worker's process runs."),
    ("worker_restarts_total", "counter", "How often the worker was started again."),
]


def health(supervisor: Supervisor) -> tuple[bool, dict[str, str]]:
    """Return whether all is well, and the state of each worker in a word: ok, down, detached or draining."""
    states = {slot.name: _state(slot) for slot in supervisor.slots}
    if supervisor.is_draining:
        states = dict.fromkeys(states, "draining")
    return all(state == "ok" for state in states.values()), states


def metrics(supervisor: Supervisor) -> str:
    """Return the metrics of all workers as Prometheus text."""
    lines = []
    for name, kind, help_text in _FAMILIES:
        lines += [f"# HELP {_PREFIX}{name} {help_text}", f"# TYPE {_PREFIX}{name} {kind}"]
        for slot in supervisor.slots:
            lines += [
                f'{_PREFIX}{name}{{worker="{_escaped(slot.name)}"{more}}} {value:g}'
                for more, value in _values(slot, name)
            ]
    return "\n".join(lines) + "\n"


async def serve(supervisor: Supervisor, host: str, port: int) -> web.AppRunner:
    """Serve both until the returned runner is cleaned up; `OSError` when the port is taken."""

    async def healthz(_request: web.Request) -> web.Response:
        is_well, states = health(supervisor)
        return web.json_response({"ok": is_well, "workers": states}, status=200 if is_well else 503)

    async def metricz(_request: web.Request) -> web.Response:
        return web.Response(text=metrics(supervisor), headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/metrics", metricz)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner


def _state(slot: WorkerSlot) -> str:
    if slot.pid is None:
        return "down"
    age = slot.stats.heartbeat_age
    if age is None or age > HEARTBEAT_AGE_MAX:
        return "detached"
    return "draining" if slot.stats.draining else "ok"


def _values(slot: WorkerSlot, name: str) -> Iterator[tuple[str, float]]:
    """Return the labels besides `worker`, and the value, of a family's samples."""
    stats = slot.stats
    match name:
        case "calls_running":
            yield "", stats.running
        case "calls_claimed_total":
            yield "", stats.claimed
        case "calls_ended_total":
            for reason, count in sorted(stats.ended.items()):
                yield f',reason="{_escaped(reason)}"', count
        case "events_sent_total":
            yield "", stats.delivered
        case "events_queued":
            yield "", stats.pending
        case "heartbeat_age_seconds":
            if stats.heartbeat_age is not None:
                yield "", stats.heartbeat_age
        case "worker_up":
            yield "", slot.pid is not None
        case "worker_restarts_total":
            yield "", slot.restarts


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
