// Times what the host adds to kernels: runs of compiled chains whose arithmetic is next to nothing.
//
//   deno task bench host [cpu|webgpu]
//
// Each chain is so many products of 2×2 matrices, which no system merges, so it is as many kernels in all of them. The
// time of a call is fitted by a line over the lengths: the intercept is what a call costs, the slope what a kernel adds.
// On the CPU a call ends with its result computed. On WebGPU only recording is timed: what is submitted meanwhile is held
// back until the clock stands still, since software adapters execute it on the processor that records. "tiny" chains
// alternate a change of sign with a reversal, the cheapest kernels there are: they are Weft's alone, since its peers
// would merge them. On WebGPU a row of the bare calls says what the runtime itself takes: what a kernel adds beyond it is
// the library's.

import { createJaxPeer, type JaxArray, type JaxPeer } from "./peers/jax.ts";
import { createTfjsPeer, type TfjsPeer } from "./peers/tfjs.ts";
import { BareCalls } from "./bare_calls.ts";
import { adapterName } from "./gpu_wait.ts";
import type { Device } from "./row.ts";
import * as tf from "@weft/weft";

const LENGTHS = [1, 10, 100, 400] as const;
/** A small rotation keeps its operands bounded, for any number of applications. */
const ROTATION = new Float32Array([0.8, -0.6, 0.6, 0.8]);
const START = new Float32Array([1, 2, 3, 4]);

/** A chain set up in one system. */
interface Chain {
  /** Does the work, or records it. */
  call(): unknown;
  /** Waits for what was recorded; not timed. */
  wait?(): unknown;
  free?(): unknown;
}

/** One line of the table. */
interface Row {
  readonly what: string;
  /** Targets for intercept and slope, in microseconds. */
  readonly target?: readonly [number, number];
  make(length: number): Chain | Promise<Chain>;
}

type Step = (x: tf.Tensor, i: number) => tf.Tensor;

const product = (w: tf.Tensor): Step => (x) => tf.matMul(x, w);
const tiny: Step = (x, i) => (i % 2 === 0 ? tf.neg(x) : tf.reverse(x, [0]));

function repeat(step: Step, x: tf.Tensor, length: number): tf.Tensor {
  for (let i = 0; i < length; i++) x = step(x, i);
  return x;
}

/** A run of a session; a scalar placeholder is fed, which the chain does not wait for. */
function sessionRow(what: string, isTiny: boolean, target: readonly [number, number]): Row {
  return {
    what,
    target,
    make(length) {
      const graph = new tf.Graph();
      const { x, y } = graph.asDefault(() => {
        const x = tf.placeholder("float32", [2, 2], "x");
        const w = tf.placeholder("float32", [2, 2], "w");
        return { x, y: repeat(isTiny ? tiny : product(w), x, length) };
      });
      const sess = new tf.Session({ graph });
      const feeds = new Map<tf.Tensor | string, tf.TensorLike>([
        [x, new tf.NdArray("float32", [2, 2], START)],
        ["w:0", new tf.NdArray("float32", [2, 2], ROTATION)],
      ]);
      if (isTiny) feeds.delete("w:0");
      return { call: () => sess.run(y, { feeds }), free: () => sess.close() };
    },
  };
}

/** A call of a traced function. */
function functionRow(what: string, isTiny: boolean, target: readonly [number, number]): Row {
  return {
    what,
    target,
    make(length) {
      const x = tf.tensor(START, [2, 2]), w = tf.tensor(ROTATION, [2, 2]);
      const f = tf.function((x: tf.Tensor, w: tf.Tensor) =>
        repeat(isTiny ? tiny : product(w), x, length)
      );
      let last: tf.Tensor | undefined;
      return {
        call() {
          last?.dispose();
          last = f(x, w);
        },
        wait: () => last!.dataSync(),
        free: () => tf.dispose([x, w, last]),
      };
    },
  };
}

/** Op by op. */
function eagerRow(what: string, isTiny: boolean): Row {
  return {
    what,
    make(length) {
      const x = tf.tensor(START, [2, 2]), w = tf.tensor(ROTATION, [2, 2]);
      let last: tf.Tensor | undefined;
      return {
        call() {
          last?.dispose();
          last = tf.tidy(() => repeat(isTiny ? tiny : product(w), x, length));
        },
        wait: () => last!.dataSync(),
        free: () => tf.dispose([x, w, last]),
      };
    },
  };
}

function tfjsRow({ tf, finish }: TfjsPeer): Row {
  return {
    what: "TensorFlow.js, eager",
    make(length) {
      const x = tf.tensor2d(START, [2, 2]), w = tf.tensor2d(ROTATION, [2, 2]);
      let last: { dispose(): void } | undefined;
      return {
        call() {
          last?.dispose();
          last = tf.tidy(() => {
            let y = x;
            for (let i = 0; i < length; i++) y = tf.matMul(y, w);
            return y;
          });
        },
        wait: () => finish(undefined as never),
        free: () => tf.dispose([x, w, last as never]),
      };
    },
  };
}

function jaxRow(peer: JaxPeer): Row {
  const { jax } = peer;
  return {
    what: "jax-js, jit",
    make(length) {
      const x = peer.array(START, [2, 2]), w = peer.array(ROTATION, [2, 2]);
      const f = jax.jit((x: JaxArray, w: JaxArray) => {
        for (let i = 0; i < length; i++) x = jax.numpy.matmul(x, w.ref);
        w.dispose();
        return x;
      });
      return {
        async call() {
          const started = peer.start(f(x.ref, w.ref));
          (started instanceof Promise ? await started : started).dispose();
        },
        wait: () => peer.finish(undefined as never),
        free() {
          x.dispose();
          w.dispose();
        },
      };
    },
  };
}

/** The floor of every other row. */
const bareRow: Row = {
  what: "WebGPU's own calls, nothing else",
  async make(length) {
    const calls = await BareCalls.create();
    return {
      call: () => calls.record(length),
      wait: () => calls.wait(),
      free: () => calls.free(),
    };
  },
};

/** Calls between waits for the queue. */
const CALLS = 4;

/** Runs `fn` and submits only afterwards what it gave to queues. Returns the time `fn` took, in milliseconds. */
async function timeRecording(fn: () => Promise<void>): Promise<number> {
  const { submit } = GPUQueue.prototype;
  const held: [GPUQueue, GPUCommandBuffer[]][] = [];
  GPUQueue.prototype.submit = function (buffers): undefined {
    held.push([this, [...buffers]]);
  };
  try {
    const started = performance.now();
    await fn();
    return performance.now() - started;
  } finally {
    GPUQueue.prototype.submit = submit;
    for (const [queue, buffers] of held) queue.submit(buffers);
  }
}

async function timeAll(fn: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await fn();
  return performance.now() - started;
}

/** Median time of a call in microseconds. */
async function timeOf(row: Row, length: number, waits: boolean): Promise<number> {
  const chain = await row.make(length);
  const { call, wait } = chain;
  const round = async (calls: number): Promise<number> => {
    const ms = await (waits ? timeRecording : timeAll)(async () => {
      for (let i = 0; i < calls; i++) {
        const result = call();
        if (result instanceof Promise) await result;
      }
    });
    if (waits) await wait?.();
    return ms * 1000 / calls;
  };
  const warm = performance.now() + 500;
  for (let i = 0; i < 5 || (performance.now() < warm && i < 2000); i++) await round(CALLS);
  const calls = waits ? CALLS : Math.max(CALLS, Math.ceil(2000 / await round(CALLS)));
  const rounds: number[] = [];
  const end = performance.now() + 250;
  for (let i = 0; i < 9 || (performance.now() < end && i < 400); i++) {
    rounds.push(await round(calls));
  }
  await chain.free?.();
  return rounds.sort((a, b) => a - b)[rounds.length >> 1]!;
}

/** Intercept and slope of the line through the times, weighted so that short chains count as much as long ones. */
export function fitLine(
  lengths: readonly number[],
  times: readonly number[],
): { readonly fixed: number; readonly each: number } {
  let w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  lengths.forEach((x, i) => {
    const y = times[i]!, weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  });
  const each = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  return { fixed: (wy - each * wx) / w, each };
}

async function rowsOf(device: Device): Promise<Row[]> {
  const limit = device === "cpu" ? [10, 1] as const : [10, 3] as const;
  const peers: Row[] = [];
  for (
    const add of [
      async () => peers.push(tfjsRow(await createTfjsPeer(device))),
      async () => peers.push(jaxRow(await createJaxPeer(device))),
    ]
  ) await add().catch((error) => console.error(`Left out: ${error}`));
  const sessions = [
    sessionRow("Weft, Session.run, tiny", true, limit),
    sessionRow("Weft, Session.run", false, limit),
  ];
  return [
    // A run of a session ends with a readback, which is no cost of recording.
    ...(device === "cpu" ? sessions : []),
    functionRow("Weft, function, tiny", true, limit),
    functionRow("Weft, function", false, limit),
    eagerRow("Weft, eager, tiny", true),
    eagerRow("Weft, eager", false),
    ...(device === "webgpu" ? [bareRow] : []),
    ...peers,
  ];
}

async function table(device: Device): Promise<void> {
  if (!await tf.setBackend(device)) return console.error(`Cannot start Weft on ${device}`);
  const title = device === "cpu"
    ? "CPU, µs a call"
    : `WebGPU (${await adapterName()}), µs to record`;
  const number = (n: number): string => n.toFixed(n >= 100 ? 0 : n >= 10 ? 1 : 2).padStart(9);
  const head = [...LENGTHS.map((n) => `n = ${n}`), "fixed", "each"];
  console.log(title.padEnd(44) + head.map((h) => h.padStart(9)).join("") + "   targets");
  for (const row of await rowsOf(device)) {
    const times: number[] = [];
    for (const n of LENGTHS) times.push(await timeOf(row, n, device === "webgpu"));
    const { fixed, each } = fitLine(LENGTHS, times);
    const isLate = row.target !== undefined && (fixed > row.target[0] || each > row.target[1]);
    const target = row.target ? `   ${row.target.join(", ")}${isLate ? "  above" : ""}` : "";
    console.log(row.what.padEnd(44) + [...times, fixed, each].map(number).join("") + target);
  }
  console.log();
}

/** Runs the tables. */
export async function main(devices: readonly string[]): Promise<number> {
  for (const device of ["cpu", "webgpu"] as const) {
    if (devices.length === 0 || devices.includes(device)) await table(device);
  }
  return 0;
}
