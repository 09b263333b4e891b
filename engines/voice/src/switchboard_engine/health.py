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
    ("calls_refused_total", "counter", "Calls that came to a leg and were not taken, by leg and reason."),
    ("trunk_state", "gauge", "1 for the state that a trunk is in, of those that are registered or were used in vain."),
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
    single: dict[str, float | None] = {
        "calls_running": stats.running,
        "calls_claimed_total": stats.claimed,
        "events_sent_total": stats.delivered,
        "events_queued": stats.pending,
        "heartbeat_age_seconds": stats.heartbeat_age,
        "worker_up": slot.pid is not None,
        "worker_restarts_total": slot.restarts,
    }
    match name:
        case "calls_ended_total":
            for reason, count in sorted(stats.ended.items()):
                yield _labels(reason=reason), count
        case "calls_refused_total":
            for leg, reasons in sorted(stats.refused.items()):
                for reason, count in sorted(reasons.items()):
                    yield _labels(leg=leg, reason=reason), count
        case "trunk_state":
            for trunk, state in sorted(stats.trunks.items()):
                yield _labels(trunk=trunk, state=state), 1
        case _:
            value = single[name]
            if value is not None:
                yield "", value


def _labels(**labels: str) -> str:
    return "".join(f',{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
