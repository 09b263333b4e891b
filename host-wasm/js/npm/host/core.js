/**
 * The core: its WebAssembly module, and the instance that is in use. An instance whose step panicked is dropped;
 * whoever still holds it finds out by comparing, and goes on with a new one.
 *
 * @import { Bindings, Service } from "./types.d.ts"
 */

import { bindings } from "../wasm/core.js";

/**
 * A module from what `createService` was given.
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
 * Node fetches no files.
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
   * Throws where the settings are wrong, with a sentence that says what is.
   *
   * @param {WebAssembly.Module} module
   * @param {object} settings
   */
  constructor(module, settings) {
    this.#module = module;
    this.#settings = JSON.stringify(settings);
    /** The headers that the core looks at; no others are handed to it. */
    this.headerNames = new Set(this.instance().bindings.headerNames().split(" "));
  }

  /** The instance to use. */
  instance() {
    return (this.#instance ??= new Instance(this.#module, this.#settings));
  }

  /**
   * Whether an instance is in use still.
   *
   * @param {Instance | null} instance
   */
  holds(instance) {
    return instance !== null && instance === this.#instance;
  }

  /**
   * Gives an instance up.
   *
   * @param {Instance} instance
   */
  drop(instance) {
    if (this.holds(instance)) this.#instance = null;
  }
}
