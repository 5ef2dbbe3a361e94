/** Common parts of all pages: finding elements, the choice of a device, a program that can be stopped. */
/// <reference lib="dom" />

import type { Backend, ProgramMessage, ProgramRequest } from "./messages.ts";

/** The element with an id, which the page has. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** An element of a picture. */
export function svgElement(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** An adapter's description of itself. */
export interface AdapterInfo {
  readonly vendor?: string;
  readonly architecture?: string;
  readonly device?: string;
  readonly description?: string;
  /** True where the processor computes for it. */
  readonly isFallbackAdapter?: boolean;
}

/** `navigator.gpu`, which not all type libraries have. */
interface Gpu {
  requestAdapter(): Promise<{ readonly info?: AdapterInfo } | null>;
}

/** Returns the adapter's description; null without WebGPU. */
export async function adapterInfo(): Promise<AdapterInfo | null> {
  const { gpu } = navigator as { readonly gpu?: Gpu };
  const adapter = await gpu?.requestAdapter().catch(() => null) ?? null;
  return adapter && (adapter.info ?? {});
}

/** The device to begin with, and what the adapter says of itself. `?device=cpu` or `?device=webgpu` in the address chooses. */
export async function preferredDevice(): Promise<
  { readonly backend: Backend; readonly info: AdapterInfo | null }
> {
  const info = await adapterInfo();
  const wanted = new URLSearchParams(location.search).get("device");
  const isGpu = info !== null &&
    (wanted === null ? info.isFallbackAdapter !== true : wanted === "webgpu");
  return { backend: isGpu ? "webgpu" : "cpu", info };
}

/** Prepares the list `#device` and tells in `#note` where there is no WebGPU. */
export async function chooseDevice(): Promise<HTMLSelectElement> {
  const list = byId<HTMLSelectElement>("device");
  const { backend, info } = await preferredDevice();
  list.value = backend;
  for (const option of list.options) {
    if (option.value === "webgpu") option.disabled = info === null;
  }
  byId("note").textContent = info === null
    ? "This browser has no WebGPU: everything runs on the CPU, in WebAssembly."
    : info.isFallbackAdapter === true
    ? "WebGPU here is computed by the processor, so the CPU is chosen at first."
    : "";
  return list;
}

/** The chosen device. */
export function chosenDevice(): Backend {
  return byId<HTMLSelectElement>("device").value as Backend;
}

/** Runs programs, each in a worker of its own, so that any of them can be ended. */
export class ProgramRunner {
  #worker: Worker | null = null;
  readonly #tell: (message: ProgramMessage) => void;

  constructor(tell: (message: ProgramMessage) => void) {
    this.#tell = tell;
  }

  /** Ends what runs, and runs this. */
  run(request: ProgramRequest): void {
    this.stop();
    const worker = new Worker(new URL("./program_worker.js", import.meta.url), { type: "module" });
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<ProgramMessage>) => {
      if (this.#worker === worker) this.#tell(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#tell({ kind: "log", level: "error", text: event.message });
    };
    worker.postMessage(request);
  }

  /** Ends what runs. True where there was something. */
  stop(): boolean {
    const had = this.#worker !== null;
    this.#worker?.terminate();
    this.#worker = null;
    return had;
  }
}
