/**
 * The core: its WebAssembly module, and the instance that is in use. An instance whose step panicked is dropped;
 * exchanges that still hold it notice by comparing, and continue with a new one.
 *
 * @import { Bindings, Service } from "./types.d.ts"
 */

import { bindings } from "../wasm/core.js";

/**
 * Compiles a module from whatever `createService` received.
 *
 * @param {WebAssembly.Module | BufferSource | Response | URL | string} [source] by default the file that comes
 *   with the package
 * @returns {Promise<WebAssembly.Module>}
 */
export async function loadModule(source = new URL("../wasm/core.wasm", import.meta.url)) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof URL || typeof source === "string") source = await open(new URL(source));
  if (!(source instanceof Response)) return WebAssembly.compile(/** @type {BufferSource} */ (source));
  if (!source.ok) throw new Error(`${source.url} answers ${source.status}`);
  const typed = source.headers.get("content-type") === "application/wasm";
  return typed ? WebAssembly.compileStreaming(source) : WebAssembly.compile(await source.arrayBuffer());
}

/**
 * Reads the module's file: Node's `fetch` does not support `file:` URLs.
 *
 * @param {URL} url
 * @returns {Promise<Response | Uint8Array<ArrayBuffer>>}
 */
async function open(url) {
  /** @type {{ getBuiltinModule?(name: string): any } | undefined} */
  const process = Reflect.get(globalThis, "process");
  const files = url.protocol === "file:" ? process?.getBuiltinModule?.("node:fs/promises") : undefined;
  return files === undefined ? fetch(url) : files.readFile(url);
}

/** One instance of the module. */
export class Instance {
  /**
   * @param {WebAssembly.Module} module
   * @param {string} settings
   */
  constructor(module, settings) {
    /** @type {Bindings} */
    this.bindings = /** @type {any} */ (bindings());
    this.bindings.initSync({ module });
    /** @type {Service} */
    this.service = new this.bindings.Service(settings);
  }
}

/** The module with its settings. */
export class Core {
  #module;
  #settings;
  /** @type {Instance | null} */
  #instance = null;

  /**
   * Throws for invalid settings, with a message that says what is wrong.
   *
   * @param {WebAssembly.Module} module
   * @param {object} settings
   */
  constructor(module, settings) {
    this.#module = module;
    this.#settings = JSON.stringify(settings);
    /** Names of the headers that the core reads; no others are passed to it. */
    this.headerNames = new Set(this.instance().bindings.headerNames().split(" "));
  }

  /** Returns the current instance, creating one after a drop. */
  instance() {
    return (this.#instance ??= new Instance(this.#module, this.#settings));
  }

  /**
   * Returns whether `instance` is the current one.
   *
   * @param {Instance | null} instance
   */
  holds(instance) {
    return instance !== null && instance === this.#instance;
  }

  /**
   * Drops an instance if it is the current one.
   *
   * @param {Instance} instance
   */
  drop(instance) {
    if (this.holds(instance)) this.#instance = null;
  }
}
