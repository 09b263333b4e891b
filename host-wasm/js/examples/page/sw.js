/**
 * The service worker of the console and the playground: caches exactly their own files and serves them, online and
 * offline. The service itself runs in the pages. An address of the console is shown by the page that starts it, as a
 * static server knows no such file.
 * `build.js` writes `OWN` in front: the names of the files, and a version that changes with any of them.
 *
 * A new version is fetched completely before it is used, and is used once no page of the old one is open: files of two
 * versions are never mixed.
 */

/** @type {any} */
const worker = self;
/** The scope in the name separates the caches of another one on this origin. */
const CACHES = `switchboard ${worker.registration.scope} `;
const CACHE = CACHES + OWN.version;
const FILES = new Set(OWN.files.map((file) => new URL(file, worker.registration.scope).href));

async function fill() {
  const cache = await caches.open(CACHE);
  await cache.addAll([...FILES].map((url) => new Request(url, { cache: "no-cache" })));
}

async function takeOver() {
  for (const name of await caches.keys()) {
    if (name.startsWith(CACHES) && name !== CACHE) await caches.delete(name);
  }
  await worker.clients.claim();
}

/** @param {Request} request */
async function answer(request) {
  const cache = await caches.open(CACHE);
  return await cache.match(request, { ignoreSearch: true }) ?? fetch(request);
}

worker.addEventListener("install", (event) => event.waitUntil(fill()));
worker.addEventListener("activate", (event) => event.waitUntil(takeOver()));
worker.addEventListener("fetch", (event) => {
  const { origin, pathname, search, href } = new URL(event.request.url);
  const { scope } = worker.registration;
  if (event.request.mode === "navigate" && href.startsWith(`${scope}console/`)) {
    const at = origin + pathname + search;
    return event.respondWith(Response.redirect(`${scope}?at=${encodeURIComponent(at.slice(scope.length))}`));
  }
  if (event.request.method === "GET" && FILES.has(origin + pathname)) event.respondWith(answer(event.request));
});
