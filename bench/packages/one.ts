// A package on one system, in a process of its own: opened, then asked again and again for SECONDS of the processor. Prints what it took as JSON.
//
//   deno run -A bench/packages/one.ts BUNDLE PACKAGE SYSTEM SECONDS

import { limitThreads } from "../threads.ts";
import { packageFolder } from "../../tools/npm.ts";
import { fromFileUrl, toFileUrl } from "../../tools/paths.ts";

/** Milliseconds by the clock, and of the processor in all threads. */
export type Span = readonly [clock: number, processor: number];

/** Least length of a measurement. */
const SAMPLE_MS = 50;

/** Times of a process. */
export interface Took {
  /** From the backend's start to the package's being ready, models loaded. */
  readonly open: Span;
  readonly first: Span;
  /** The median of later calls. */
  readonly warm: Span;
  readonly calls: number;
  /** Its report. */
  readonly told: readonly number[];
}

/** The rest of a bundle, beside the package. */
interface Bundle {
  readonly tf: {
    enableProdMode(): void;
    setBackend(name: string): Promise<boolean>;
  };
  readonly wasm?: { setWasmPaths(folder: string): void };
}

async function spanned<T>(work: () => Promise<T>): Promise<{ span: Span; result: T }> {
  const cpu = process.cpuUsage(), started = performance.now();
  const result = await work();
  const clock = performance.now() - started, { user, system } = process.cpuUsage(cpu);
  return { span: [clock, (user + system) / 1000], result };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1]!;

async function main([path, name, system, seconds]: readonly string[]): Promise<void> {
  limitThreads(1);
  // Some packages warn at each call: how long the console takes is no matter of theirs.
  console.warn = () => {};
  const { open } = await import("../../tests/tfjs_core/packages.ts");
  const bundle: Bundle = await import(toFileUrl(path!).href);
  const { tf, wasm } = bundle;
  tf.enableProdMode();
  const opened = await spanned(async () => {
    if (system === "wasm") {
      const folder = fromFileUrl(
        new URL("dist/", await packageFolder("@tensorflow/tfjs-backend-wasm")),
      );
      // What it is compiled from is a script of Node, which asks for its own folder.
      Object.assign(globalThis, { __dirname: folder });
      wasm!.setWasmPaths(folder);
    }
    if (!await tf.setBackend(system!)) throw new Error(`Cannot start the backend ${system}`);
    return await open(bundle, name!);
  });
  const ask = async () => Array.from(await opened.result());
  const first = await spanned(ask), spans: Span[] = [];
  // Seconds of the processor: of a shared machine a process may have a tenth.
  const isDue = () =>
    spans.reduce((sum, [, cpu]) => sum + cpu * calls, 0) >= 1000 * Number(seconds);
  // Asking what the processor took costs as much as a small model: short calls are measured many at a time.
  const calls = Math.max(1, Math.round(SAMPLE_MS / (await spanned(ask)).span[0]));
  const many = async () => {
    for (let i = 0; i < calls; i++) await ask();
  };
  while (spans.length < 3 || !isDue()) {
    const [clock, cpu] = (await spanned(many)).span;
    spans.push([clock / calls, cpu / calls]);
  }
  // Engines compile what is called often in the first half.
  const late = spans.slice(spans.length >> 1);
  const took: Took = {
    open: opened.span,
    first: first.span,
    warm: [median(late.map(([clock]) => clock)), median(late.map(([, cpu]) => cpu))],
    calls: spans.length * calls,
    told: first.result,
  };
  console.log(JSON.stringify(took));
}

if (import.meta.main) {
  await main(Deno.args);
  // Workers of the systems keep the event loop alive.
  Deno.exit(0);
}
