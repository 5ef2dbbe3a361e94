/** Times rows in Weft and beside it, a system after the other and again, so that what else the machine does meets all of them. */

import * as weft from "@weft/weft";
import type * as Tfjs from "@tensorflow/tfjs-core";
import type * as Jax from "@jax-js/jax";
import type { Backend, SpeedMessage, SpeedRequest, SpeedSystem, WorkerScope } from "./messages.ts";
import { errorText } from "./shown.ts";
import { ROWS, type SpeedRow, type Tf } from "./speed_rows.ts";

const scope = globalThis as unknown as WorkerScope<SpeedRequest, SpeedMessage>;

/** Rounds over all systems, after those that are not counted, and how long a system has in each. */
const ROUNDS = 5, WARM = 2, ROUND_MS = 60;

/** Largest difference between two systems' results, relative to the largest number. */
const CLOSE = 1e-3;

/** A row set up in one system: does it some times, waits, and gives the first numbers of the last result. */
type Timed = (times: number) => Promise<ArrayLike<number>>;

/** A system that was loaded. */
interface System {
  readonly name: SpeedSystem;
  /** Its arithmetic engine. */
  readonly engine: string;
  prepare(row: SpeedRow): Timed | null;
}

const FIRST = 16;

/** A tensor's first numbers: to wait for a GPU is to read something of what it makes. */
async function firstNumbers(tf: Tf, x: Tfjs.Tensor): Promise<ArrayLike<number>> {
  const first = tf.tidy(() => tf.slice(tf.reshape(x, [-1]), [0], [Math.min(FIRST, x.size)]));
  const numbers = await first.data();
  tf.dispose([first, x]);
  return numbers;
}

function timedIn(tf: Tf, call: () => Tfjs.Tensor): Timed {
  return async (times) => {
    for (let i = 1; i < times; i++) tf.dispose(call());
    return await firstNumbers(tf, call());
  };
}

async function loadWeft(backend: Backend): Promise<System> {
  if (!await weft.setBackend(backend)) throw new Error(`Weft has no ${backend} here`);
  const tf = weft as unknown as Tf;
  return {
    name: "weft",
    engine: backend === "webgpu" ? "WebGPU" : `WebAssembly, up to ${threads()}`,
    prepare(row) {
      const call = row.tf(tf);
      return timedIn(tf, row.compiled ? weft.function(call as never) as typeof call : call);
    },
  };
}

/** Describes the threads of WebAssembly. */
function threads(): string {
  const count = crossOriginIsolated ? navigator.hardwareConcurrency : 1;
  return `${count} thread${count === 1 ? "" : "s"}`;
}

async function loadTfjs(backend: Backend): Promise<System> {
  const path = "./tfjs.js";
  const tf = await import(path) as Tf & { setWasmPaths(folder: string): void };
  tf.enableProdMode();
  tf.setWasmPaths(new URL("./tfjs/", import.meta.url).href);
  if (!await tf.setBackend(backend === "cpu" ? "wasm" : "webgpu")) {
    throw new Error(`TensorFlow.js has no ${backend} here`);
  }
  const hasThreads = backend === "cpu" && await tf.env().getAsync("WASM_HAS_MULTITHREAD_SUPPORT");
  return {
    name: "tfjs",
    engine: backend === "webgpu" ? "WebGPU" : `WebAssembly, ${hasThreads ? threads() : "1 thread"}`,
    prepare: (row) => timedIn(tf, row.tf(tf)),
  };
}

async function loadJax(backend: Backend): Promise<System> {
  const path = "./jax.js";
  const jax = await import(path) as typeof Jax;
  const engine = backend === "cpu" ? "wasm" : "webgpu";
  if (!(await jax.init(engine)).includes(engine)) throw new Error(`jax-js has no ${engine} here`);
  jax.defaultDevice(engine);
  return {
    name: "jax",
    engine: backend === "webgpu" ? "WebGPU" : `WebAssembly, up to ${threads()}`,
    prepare(row) {
      const call = row.jax?.(jax);
      if (call === undefined) return null;
      return async (times) => {
        for (let i = 1; i < times; i++) {
          const result = call();
          // jax-js is lazy: a value that is not requested is not computed.
          await result.blockUntilReady();
          result.dispose();
        }
        return (await call().reshape([-1]).data()).slice(0, FIRST) as ArrayLike<number>;
      };
    },
  };
}

const LOAD = { weft: loadWeft, tfjs: loadTfjs, jax: loadJax };

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function agree(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  const all = Array.from(a), most = Math.max(...all.map(Math.abs), 1e-6);
  return all.every((v, i) => Math.abs(v - b[i]!) <= CLOSE * most);
}

/** Milliseconds of a call in each system, and whether all gave the same. */
async function time(row: SpeedRow, systems: readonly System[]): Promise<SpeedMessage> {
  const ready = systems.flatMap(({ name, prepare }) => {
    const timed = prepare(row);
    return timed === null ? [] : [{ name, timed, samples: [] as number[] }];
  });
  const first: ArrayLike<number>[] = [];
  for (const { timed } of ready) first.push(await timed(1));
  for (let round = 0; round < WARM + ROUNDS; round++) {
    for (const { timed, samples } of ready) {
      const start = performance.now();
      let calls = 0;
      do {
        await timed(row.times);
        calls += row.times;
      } while (performance.now() - start < ROUND_MS);
      if (round >= WARM) samples.push((performance.now() - start) / calls);
    }
  }
  return {
    kind: "row",
    row: ROWS.indexOf(row),
    times: ready.map(({ name, samples }) => ({ name, milliseconds: median(samples) })),
    agrees: first.every((numbers) => agree(first[0]!, numbers)),
  };
}

async function run({ backend, systems: names }: SpeedRequest): Promise<void> {
  const systems: System[] = [];
  for (const name of names) {
    try {
      const system = await LOAD[name](backend);
      systems.push(system);
      scope.postMessage({ kind: "system", name, engine: system.engine });
    } catch (error) {
      scope.postMessage({ kind: "system", name, engine: null, error: errorText(error) });
    }
  }
  for (const row of ROWS) scope.postMessage(await time(row, systems));
  scope.postMessage({ kind: "done" });
}

scope.onmessage = ({ data }) => {
  run(data).catch((error) => scope.postMessage({ kind: "lost", error: errorText(error) }));
};
