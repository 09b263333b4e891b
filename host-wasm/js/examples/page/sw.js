/**
 * The service worker of the playground: caches exactly the page's own files and serves them, online and offline.
 * `build.js` writes `OWN` in front: the names of the files, and a version that changes with any of them.
 *
 * A new version is fetched completely before it is used, and is used once no page of the old one is open: files of two
 * versions are never mixed.
 */

/** @type {any} */
const worker = self;
/** The scope in the name separates the caches of another playground on this origin. */
const CACHES = `switchboard playground ${worker.registration.scope} `;
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
  const { origin, pathname } = new URL(event.request.url);
  if (event.request.method === "GET" && FILES.has(origin + pathname)) event.respondWith(answer(event.request));
});
