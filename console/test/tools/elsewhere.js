// What is elsewhere: pages of another origin, and a model that answers as it is told.

import { createServer } from "node:http";

/** @param {import("node:http").RequestListener} answer @returns {Promise<{ url: string, close: () => void }>} */
async function listen(answer) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(0)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}`, close: () => (server.closeAllConnections(), server.close()) };
}

/** A site whose pages a test writes. */
export async function site() {
  /** @type {Map<string, { body: string, headers: Record<string, string> }>} */
  const pages = new Map();
  const served = await listen((asked, answer) => {
    const page = pages.get(asked.url ?? "");
    answer.writeHead(page ? 200 : 404, { "content-type": "text/html; charset=utf-8", ...page?.headers });
    answer.end(page?.body);
  });
  /** @param {string} path @param {string} body @param {Record<string, string>} [headers] @returns {string} its URL */
  const page = (path, body, headers = {}) => {
    const text = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shop</title><link rel="icon" href="data:,"></head><body><main><h1>Shop</h1>${body}</main></body></html>`;
    pages.set(path, { body: text, headers });
    return served.url + path;
  };
  return { ...served, page };
}

/** A pause that lasts until it is ended: what is seen in between is there for as long as the test looks. */
export function pause() {
  let end = () => {};
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => (end = resolve));
  return { pause: () => ended, end };
}

/** An OpenAI-compatible endpoint that streams what `says` gives for a message, with a pause after each part; a number
 * is the status of a refusal. */
export async function model() {
  /** @type {{ url: string, close: () => void, pause: () => Promise<unknown>, asked: number, says: (message: string) => string[] | number }} */
  const own = {
    url: "",
    close: () => {},
    pause: async () => {},
    asked: 0,
    says: (message) => [`You said: ${message}`],
  };
  const served = await listen(async (request, answer) => {
    let body = "";
    for await (const part of request) body += part;
    own.asked += 1;
    const says = own.says(JSON.parse(body).messages.at(-1).content);
    if (typeof says === "number") return answer.writeHead(says).end("{}");
    answer.writeHead(200, { "content-type": "text/event-stream" });
    for (const content of says) {
      answer.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
      await own.pause();
    }
    return answer.end(
      `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`,
    );
  });
  return Object.assign(own, served, { url: `${served.url}/v1` });
}
