// An engine's door for browsers: it takes the offer of a browser that shows the token of a web call, and a page of a
// browser of its own is the other end of the line.

import { createServer } from "node:http";
import { client } from "./service.js";

const NAME = "door";
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "POST",
  "access-control-allow-headers": "content-type",
};
/** What a browser needs to talk to another one of this machine: a microphone that hums, addresses that are told, and
 * those of the machine itself. */
export const TALKING = [
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
  "--autoplay-policy=no-user-gesture-required",
  "--disable-features=WebRtcHideLocalIpsWithMdns",
  "--allow-loopback-in-peer-connection",
];

/** @typedef {Awaited<ReturnType<typeof openDoor>>} Door */

/** @param {import("./service.js").Service} service @param {import("puppeteer-core").Browser} browser */
export async function openDoor({ service, secrets }, browser) {
  const { token: own } = await client(service, secrets.admin_token)("POST", "/admin/engine-tokens", { name: NAME });
  const engine = client(service, own);
  const peer = await browser.newPage();
  /** @type {{ call: number, seq: number, commands: any[] }} */
  const door = { call: 0, seq: 0, commands: [] };

  const server = createServer(async (request, response) => {
    const answer = (/** @type {number} */ status, /** @type {any} */ body) =>
      response.writeHead(status, { ...CORS, "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    if (request.method === "GET")
      return response.writeHead(200, { "content-type": "text/html" }).end("<title>Peer</title>");
    let body = "";
    for await (const part of request) body += part;
    const { token, sdp } = JSON.parse(body);
    try {
      const brought = { type: "web", token, protocol: 2, engine: NAME };
      Object.assign(door, { call: (await engine("POST", "/engine/calls", brought)).call.id, seq: 0 });
      return answer(200, { sdp: await peer.evaluate(pickUp, sdp) });
    } catch (error) {
      return answer(403, { message: /** @type {Error} */ (error).message });
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(0)));
  const url = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}`;
  await peer.goto(url);
  const attach = () =>
    engine("POST", "/engine/heartbeat", {
      engine: NAME,
      protocol: 2,
      calls: [],
      legs: ["web"],
      capacity: 4,
      web_url: url,
    });

  return {
    url,
    attach,
    commands: door.commands,
    /** The call that a browser began last. */
    call: () => door.call,
    async report(/** @type {any[]} */ ...events) {
      const told = await engine("POST", `/engine/calls/${door.call}/events`, {
        events: events.map((event) => ({ ...event, seq: ++door.seq })),
      });
      door.commands.push(...told.commands);
    },
    /** Packets of sound that came from the browser, and whether the line is still there. */
    heard: () => peer.evaluate(hear),
    /** The line breaks. */
    cut: () => peer.evaluate(() => /** @type {any} */ (window).line.close()),
    close: () => (server.closeAllConnections(), server.close()),
  };
}

/** In the peer's page: answers an offer, with a microphone of its own. @param {string} sdp */
async function pickUp(sdp) {
  const line = new RTCPeerConnection();
  /** @type {any} */ (window).line = line;
  const sound = await navigator.mediaDevices.getUserMedia({ audio: true });
  sound.getTracks().forEach((track) => line.addTrack(track, sound));
  await line.setRemoteDescription({ type: "offer", sdp });
  await line.setLocalDescription();
  await new Promise((resolve) => {
    const look = () => line.iceGatheringState === "complete" && resolve(0);
    line.addEventListener("icegatheringstatechange", look);
    look();
  });
  return line.localDescription?.sdp ?? "";
}

async function hear() {
  /** @type {RTCPeerConnection} */
  const line = /** @type {any} */ (window).line;
  const stats = [...(await line.getStats()).values()].find(({ type }) => type === "inbound-rtp");
  return { packets: Number(stats?.packetsReceived ?? 0), state: line.connectionState };
}
