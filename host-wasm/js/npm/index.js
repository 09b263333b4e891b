// @ts-self-types="./index.d.ts"
/** Switchboard for JavaScript: the service as a function from `Request` to `Response`, over a storage. */

export { loadModule } from "./host/core.js";
export { createHost, createService } from "./host/service.js";
