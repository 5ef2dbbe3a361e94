/** What all pages share: finding elements, the choice of a device, a program that can be stopped. */
/// <reference lib="dom" />

import type { Backend, ProgramMessage, ProgramRequest } from "./messages.ts";

/** The element with an id, which the page has. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** A row of a device list, as `navigator.gpu` tells it; not all type libraries have it. */
interface Gpu {
  requestAdapter(): Promise<{ readonly info?: { readonly isFallbackAdapter?: boolean } } | null>;
}

/** Prepares the list `#device` and tells in `#note` where there is no WebGPU. `?device=cpu` or `?device=webgpu` in the address chooses. */
export async function chooseDevice(): Promise<HTMLSelectElement> {
  const list = byId<HTMLSelectElement>("device");
  const { gpu } = navigator as { readonly gpu?: Gpu };
  const adapter = await gpu?.requestAdapter().catch(() => null) ?? null;
  const isSoftware = adapter?.info?.isFallbackAdapter === true;
  const wanted = new URLSearchParams(location.search).get("device");
  const isGpu = adapter !== null && (wanted === null ? !isSoftware : wanted === "webgpu");
  list.value = isGpu ? "webgpu" : "cpu";
  for (const option of list.options) {
    if (option.value === "webgpu") option.disabled = adapter === null;
  }
  byId("note").textContent = adapter === null
    ? "This browser has no WebGPU: everything runs on the CPU, in WebAssembly."
    : isSoftware
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

/** Fills a list with titles and shows the chosen picture; hides both where there is none. */
export function showPictures(
  pictures: readonly { readonly title: string; readonly svg: string; readonly text: string }[],
  { list, picture, text }: { list: HTMLSelectElement; picture: HTMLElement; text?: HTMLElement },
): void {
  list.replaceChildren(...pictures.map(({ title }, i) => new Option(title, String(i))));
  list.hidden = pictures.length === 0;
  const show = (): void => {
    const chosen = pictures[Number(list.value)];
    picture.innerHTML = chosen?.svg ?? "";
    if (text) text.textContent = chosen?.text ?? "";
  };
  list.onchange = show;
  if (pictures.length > 0) list.value = String(pictures.length - 1);
  show();
}
