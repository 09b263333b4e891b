# Switchboard under plain workerd: `workerd serve config.capnp` in this folder, after `mkdir -p objects`.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    # Where the object is kept, as an SQLite file.
    (name = "objects", disk = (path = "objects", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "main")],
);

const main :Workerd.Worker = (
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "Installation", uniqueKey = "switchboard", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [
    (name = "INSTALLATION", durableObjectNamespace = "Installation"),
    # The settings of an operator, by the names that README.md lists.
    (name = "SETTINGS", json = "{}"),
    # Secrets, from the environment of workerd; each may be absent.
    (name = "FIRST_START_TOKEN", fromEnvironment = "FIRST_START_TOKEN"),
    (name = "LLM_KEY", fromEnvironment = "LLM_KEY"),
    (name = "TWILIO_AUTH_TOKEN", fromEnvironment = "TWILIO_AUTH_TOKEN"),
    # Behind a proxy that sets it, and drops what clients send: (name = "PEER_HEADER", text = "x-real-ip").
  ],
  # Names are the paths in the package, so that the modules find one another. The worker is first.
  modules = [
    (name = "examples/worker/worker.js", esModule = embed "worker.js"),
    (name = "npm/index.js", esModule = embed "../../npm/index.js"),
    (name = "npm/host/alarm.js", esModule = embed "../../npm/host/alarm.js"),
    (name = "npm/host/body.js", esModule = embed "../../npm/host/body.js"),
    (name = "npm/host/carry.js", esModule = embed "../../npm/host/carry.js"),
    (name = "npm/host/clock.js", esModule = embed "../../npm/host/clock.js"),
    (name = "npm/host/core.js", esModule = embed "../../npm/host/core.js"),
    (name = "npm/host/exchange.js", esModule = embed "../../npm/host/exchange.js"),
    (name = "npm/host/faults.js", esModule = embed "../../npm/host/faults.js"),
    (name = "npm/host/host.js", esModule = embed "../../npm/host/host.js"),
    (name = "npm/host/jobs.js", esModule = embed "../../npm/host/jobs.js"),
    (name = "npm/host/news.js", esModule = embed "../../npm/host/news.js"),
    (name = "npm/host/outside.js", esModule = embed "../../npm/host/outside.js"),
    (name = "npm/host/pages.js", esModule = embed "../../npm/host/pages.js"),
    (name = "npm/host/plan.js", esModule = embed "../../npm/host/plan.js"),
    (name = "npm/host/reply.js", esModule = embed "../../npm/host/reply.js"),
    (name = "npm/host/request.js", esModule = embed "../../npm/host/request.js"),
    (name = "npm/host/send.js", esModule = embed "../../npm/host/send.js"),
    (name = "npm/host/service.js", esModule = embed "../../npm/host/service.js"),
    (name = "npm/host/slots.js", esModule = embed "../../npm/host/slots.js"),
    (name = "npm/host/stream.js", esModule = embed "../../npm/host/stream.js"),
    (name = "npm/host/text.js", esModule = embed "../../npm/host/text.js"),
    (name = "npm/host/used.js", esModule = embed "../../npm/host/used.js"),
    (name = "npm/storage/bytes.js", esModule = embed "../../npm/storage/bytes.js"),
    (name = "npm/storage/durable-object.js", esModule = embed "../../npm/storage/durable-object.js"),
    (name = "npm/storage/sql.js", esModule = embed "../../npm/storage/sql.js"),
    (name = "npm/wasm/core.js", esModule = embed "../../npm/wasm/core.js"),
    (name = "npm/wasm/core.wasm", wasm = embed "../../npm/wasm/core.wasm"),
  ],
);
