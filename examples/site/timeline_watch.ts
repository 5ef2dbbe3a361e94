/** Notes what runs when, and the texts of the kernels that a GPU compiles. */

import { setTracer, type Span } from "../../src/engine/core/trace.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import type { ShownSpan, Timeline } from "./messages.ts";

/** Maximum number of spans: a program may run for ever. */
const MOST_SPANS = 4000;

/** The used part of WebGPU; workers' types do not have it. */
interface ShaderMaker {
  createShaderModule(description: { readonly code: string; readonly label?: string }): unknown;
}

/** Listens until {@linkcode TimelineWatch.timeline} is asked for. */
export class TimelineWatch {
  readonly #spans: Span[] = [];
  readonly #kernels = new Map<string, Set<string>>();
  #start = 0;

  /** Begins. */
  start(): void {
    this.#listenToShaders();
    this.#start = performance.now();
    setTracer((span) => {
      if (this.#spans.push(span) === MOST_SPANS) setTracer(null);
    });
  }

  #listenToShaders(): void {
    const { GPUDevice } = globalThis as {
      readonly GPUDevice?: { readonly prototype: ShaderMaker };
    };
    if (GPUDevice === undefined) return;
    const { prototype } = GPUDevice, make = prototype.createShaderModule;
    const kernels = this.#kernels;
    prototype.createShaderModule = function (description) {
      const { label = "kernel", code } = description;
      kernels.set(label, (kernels.get(label) ?? new Set()).add(code));
      return make.call(this, description);
    };
  }

  /** Returns the spans so far and ends the listening. */
  async timeline(): Promise<Timeline> {
    const isCut = this.#spans.length >= MOST_SPANS;
    if (!isCut) await gpuDevice()?.settleTrace?.();
    setTracer(null);
    return {
      spans: this.#shown(),
      isCut,
      kernels: [...this.#kernels].map(([name, codes]) => ({ name, codes: [...codes] })),
    };
  }

  /** Spans and what they are parts of: clocks are too coarse to tell it, but a part ends before the whole. */
  #shown(): ShownSpan[] {
    const shown: (ShownSpan & { parent: number })[] = [];
    let open: number[] = [];
    for (const { name, category, start, end, track, details } of this.#spans.slice(0, MOST_SPANS)) {
      const at = shown.length, began = start - this.#start;
      if (track === "host") {
        for (const i of open) if (shown[i]!.start >= began) shown[i]!.parent = at;
        open = [...open.filter((i) => shown[i]!.parent < 0 && shown[i]!.end > began), at];
      }
      shown.push({
        name,
        category,
        track,
        start: began,
        end: end - this.#start,
        parent: -1,
        op: details?.op as string | undefined,
        bytes: details?.bytes as number | undefined,
      });
    }
    return shown;
  }
}
