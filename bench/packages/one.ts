// A package on one system, in a process of its own: opened, then asked again and again. Prints what it took as JSON.
//
//   deno run -A bench/packages/one.ts BUNDLE PACKAGE SYSTEM SECONDS

import { limitThreads } from "../threads.ts";
import { packageFolder } from "../../tools/npm.ts";
import { fromFileUrl, toFileUrl } from "../../tools/paths.ts";

/** Milliseconds by the clock, and of the processor in all threads. */
export type Span = readonly [clock: number, processor: number];

/** What a process took. */
export interface Took {
  /** From the backend's start to the package's being ready, models loaded. */
  readonly open: Span;
  readonly first: Span;
  /** The median of later calls. */
  readonly warm: Span;
  readonly calls: number;
  /** What it told. */
  readonly told: readonly number[];
}

/** What the bundle holds beside the package. */
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
  const until = performance.now() + 1000 * Number(seconds);
  while (spans.length < 3 || performance.now() < until && spans.length < 200) {
    spans.push((await spanned(ask)).span);
  }
  // Engines compile what is called often in the first half.
  const late = spans.slice(spans.length >> 1);
  const took: Took = {
    open: opened.span,
    first: first.span,
    warm: [median(late.map(([clock]) => clock)), median(late.map(([, cpu]) => cpu))],
    calls: spans.length,
    told: first.result,
  };
  console.log(JSON.stringify(took));
}

if (import.meta.main) {
  await main(Deno.args);
  // Workers of the systems keep the event loop alive.
  Deno.exit(0);
}
