/** A model that is looked into: it is loaded and run once, on what stands for its inputs, in a worker that can be ended. */
/// <reference lib="dom" />

import type { Backend } from "../messages.ts";
import { InputField } from "./models_inputs.ts";
import type { ModelFile, ModelsMessage, ModelsRequest } from "./models_messages.ts";

/** A message about a model: where it is loaded, its plans, or an error. */
export type ModelTold = Extract<ModelsMessage, { kind: "loaded" | "seen" | "failed" }>;

/** Runs a model, and tells of it until it is stopped. */
export class ModelRunner {
  #worker: Worker | null = null;

  run(files: readonly ModelFile[], backend: Backend, tell: (message: ModelTold) => void): void {
    this.stop();
    const worker = new Worker(new URL("./models_worker.js", import.meta.url), { type: "module" });
    const send = (message: ModelsRequest): void => worker.postMessage(message);
    worker.onmessage = async ({ data }: MessageEvent<ModelsMessage>) => {
      if (data.kind === "ran" || this.#worker !== worker) return;
      tell(data);
      if (data.kind !== "loaded") return;
      const fields = data.inputs.map((value) => new InputField(value));
      const feeds = await Promise.all(
        fields.map(async (f) => [f.name, await f.elements()] as const),
      );
      send({ kind: "see", feeds: Object.fromEntries(feeds) });
    };
    worker.onerror = (event) => {
      event.preventDefault();
      tell({ kind: "failed", error: event.message });
    };
    this.#worker = worker;
    send({ kind: "load", backend, files });
  }

  /** Ends the worker. */
  stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
  }
}
