/** Threads: the same results as without. */

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { InternalError } from "../../../src/engine/core/errors.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { Engine, type WasmFunction } from "../../../src/engine/devices/cpu/engine.ts";
import { prepareFast } from "../../../src/engine/devices/cpu/prepare.ts";
import { i32 } from "../../../src/engine/devices/cpu/wasm/instructions.ts";
import { probeFeatures } from "../../../src/engine/devices/cpu/wasm/features.ts";
import { randomSource, threadedEngine } from "./engines.ts";
import { ints, op, runFast } from "./kernel_runs.ts";

const features = probeFeatures();

const random = randomSource(14);
function make(...shape: number[]): NdArray {
  const x = NdArray.zeros("float32", shape);
  (x.data as Float32Array).forEach((_, i, d) => d[i] = random() - 0.5);
  return x;
}

function truths(...shape: number[]): NdArray {
  const x = NdArray.zeros("bool", shape);
  (x.data as Uint8Array).forEach((_, i, d) => d[i] = random() < 0.99 ? 1 : 0);
  return x;
}

/** A matrix whose diagonal outweighs the rest. */
function solid(n: number): NdArray {
  const x = make(n, n), data = x.data as Float32Array;
  for (let i = 0; i < n; i++) data[i * n + i] += n;
  return x;
}

/** Adds one to a word, so often. */
function counter(engine: Engine): WasmFunction {
  return engine.compile("test add", (m) => {
    m.function("run", ["i32", "i32"], null, (f, to, count) => {
      f.times(count, () => f.store(to, i32.add(i32.load(to), 1)));
    });
  }).run;
}

/** Returns the first words of some cache lines. */
function counts(engine: Engine, from: number, lines: number): number[] {
  return Array.from({ length: lines }, (_, k) => engine.heap.i32[(from >>> 2) + 16 * k]);
}

const conv = { strides: [1, 1, 1, 1], padding: "SAME" };
const pool = { ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "VALID" };
const widePool = { ksize: [1, 7, 7, 1], strides: [1, 1, 2, 1], padding: "SAME" };
const CASES: readonly [name: string, inputs: NdArray[], attrs?: Record<string, unknown>][] = [
  ["MatMul", [make(130, 200), make(200, 700)]],
  ["MatMul", [make(300, 130), make(300, 200)], { transpose_a: true }],
  ["MatMul", [make(130, 300), make(200, 300)], { transpose_b: true }],
  ["MatMul", [make(1, 700), make(700, 2000)]],
  ["MatMul", [make(1, 700), make(2000, 700)], { transpose_b: true }],
  ["BatchMatMulV2", [make(12, 64, 70), make(12, 70, 64)]],
  ["Conv2D", [make(5, 20, 20, 16), make(3, 3, 16, 40)], conv],
  ["AddV2", [make(1000, 700), make(1000, 700)]],
  ["AddV2", [make(1000, 701), make(701)]],
  ["Greater", [make(500000), make(500000)]],
  ["Softmax", [make(1001, 303)]],
  ["MaxPool", [make(7, 60, 60, 20)], pool],
  ["AvgPool", [make(1, 201, 160, 14)], pool],
  ["AvgPool", [make(3, 60, 70, 6)], widePool],
  ["All", [truths(40, 90, 700), ints(1)]],
  ["Any", [truths(9, 200, 800), ints(1)]],
  // Strips of columns are panels for each other.
  ["Cholesky", [solid(320)]],
  ["MatrixTriangularSolve", [solid(320), make(320, 300)], { adjoint: true }],
  ["MatrixSolve", [make(320, 320), make(320, 320)]],
  ["MatrixInverse", [make(320, 320)]],
  ["Lu", [make(500, 500)]],
];

Deno.test({
  name: "threads compute the same bits",
  ignore: !features.shared,
  async fn() {
    const threaded = await threadedEngine(), alone = new Engine(features);
    if (threaded === null) return;
    let shared = 0;
    const { threads } = threaded;
    const run = threads.run.bind(threads);
    threads.run = (calls) => {
      const done = run(calls);
      if (done) shared++;
      return done;
    };
    for (const [name, inputs, attrs] of CASES) {
      const before = shared;
      const [got] = runFast(threaded, op(name), inputs, attrs)!,
        [want] = runFast(alone, op(name), inputs, attrs)!;
      assert(shared > before, `${name} of [${inputs[0].shape}] was not shared`);
      assertEquals(got.data, want.data, `${name} of [${inputs[0].shape}]`);
    }
    // Many jobs, one after the other: none is lost, none runs twice.
    const add = counter(threaded);
    const counters = threaded.heap.alloc(64 * 100);
    threaded.zero(counters, 6400);
    for (let round = 0; round < 2000; round++) {
      // A thread that comes late from a short job must not take a call of a longer one by its number.
      threaded.callAll(
        Array.from(
          { length: round % 2 === 0 ? 2 : 7 },
          (_, k) => [add, [counters + 64 * k, 3]] as const,
        ),
      );
    }
    assertEquals(counts(threaded, counters, 7), [6000, 6000, 3000, 3000, 3000, 3000, 3000]);
  },
});

Deno.test({
  name: "threads compute in memory that grew after they began",
  ignore: !features.shared,
  async fn() {
    const engine = await threadedEngine({ ...features, fixed: false });
    if (engine === null) return;
    const before = engine.heap.memory.buffer.byteLength;
    // No free range is as wide: the operands lie where there was no memory.
    const size = before / 4, spec = { dtype: "float32", shape: [size] } as const;
    const [a, b, c] = [0, 1, 2].map(() => engine.heap.alloc(4 * size));
    assert(engine.heap.memory.buffer.byteLength > before + 8 * size);
    engine.heap.f32.fill(1, a >>> 2, (a >>> 2) + size);
    engine.heap.f32.fill(2, b >>> 2, (b >>> 2) + size);
    engine.worthSharing = 1;
    const problem = { inputs: [spec, spec], outputs: [spec], hosts: [], attrs: {} };
    prepareFast(engine, op("AddV2"), problem)!([c], [a, b]);
    const sums = engine.heap.f32.subarray(c >>> 2, (c >>> 2) + size);
    assert(sums.every((x) => x === 3));
  },
});

/** Shares long calls until `isDone`, each time with what they computed. */
function shareUntil(engine: Engine, isDone: () => boolean): void {
  const add = counter(engine), lines = engine.heap.alloc(64 * 8);
  for (let round = 1; !isDone(); round++) {
    engine.zero(lines, 64 * 8);
    engine.callAll(Array.from({ length: 8 }, (_, k) => [add, [lines + 64 * k, 1e5]] as const));
    assertEquals(counts(engine, lines, 8), new Array(8).fill(1e5), `round ${round}`);
  }
  engine.heap.free(lines, 64 * 8);
}

Deno.test({
  name: "threads that start when memory is full up to 2 GiB find their code",
  ignore: !features.shared || !features.fixed,
  async fn() {
    const engine = await threadedEngine(features, ({ heap }) => void heap.alloc(2.2 * 2 ** 30));
    if (engine === null) return;
    assert(engine.heap.alloc(64) > 2 ** 31);
    let rounds = 0;
    shareUntil(engine, () => rounds++ === 50);
    // All threads are still running.
    assertEquals(engine.threads.available(0), 1 + engine.threads.started);
  },
});

Deno.test({
  name: "a thread that cannot make a call leaves it to the one that asks, and takes part no more",
  ignore: !features.shared,
  async fn() {
    const engine = await threadedEngine();
    if (engine === null) return;
    const { threads } = engine, publish = threads.publish.bind(threads);
    threads.publish = (modules) =>
      publish(modules.map(({ module, code }) => ({ module, code: new Uint8Array(code.length) })));
    shareUntil(engine, () => threads.available(0) === 1);
  },
});

Deno.test({
  name: "threads take part however many modules there were, and the engine keeps some of them",
  ignore: !features.shared,
  async fn() {
    const engine = await threadedEngine();
    if (engine === null) return;
    const { threads } = engine, run = threads.run.bind(threads), lines = engine.heap.alloc(64 * 4);
    let jobs = 0, built = 0;
    threads.run = (calls) => {
      const done = run(calls);
      if (done) jobs++;
      return done;
    };
    const modules = 1300;
    const make = (k: number): WasmFunction =>
      engine.compile(`test store ${k}`, (m) => {
        built++;
        m.function("run", ["i32"], null, (f, to) => f.store(to, i32.const(k)));
      }).run;
    for (let k = 0; k < modules; k++) {
      make(0);
      const calls = [0, 1, 2, 3].map((c) => [make(Math.max(0, k - c)), [lines + 64 * c]] as const);
      engine.callAll(calls);
      assertEquals(counts(engine, lines, 4), [0, 1, 2, 3].map((c) => Math.max(0, k - c)));
    }
    assertEquals([jobs, built], [modules, modules]);
    assertEquals(threads.available(0), 1 + threads.started);
    // The first is in use all the time; the second was forgotten.
    make(0);
    assertEquals(built, modules);
    make(1);
    assertEquals(built, modules + 1);
  },
});

Deno.test({
  name: "a call that fails throws, and no thread is at work any more",
  ignore: !features.shared,
  async fn() {
    const engine = await threadedEngine();
    if (engine === null) return;
    const add = counter(engine), lines = engine.heap.alloc(64 * 8);
    const fail = engine.compile("test fail", (m) => {
      m.function("run", ["i32", "i32"], null, (f, to, zero) => f.store(to, i32.div(1, zero)));
    }).run;
    for (let turn = 0; turn < 8; turn++) {
      const calls = Array.from(
        { length: 8 },
        (_, k) => [k === turn ? fail : add, [lines + 64 * k, k === turn ? 0 : 1000]] as const,
      );
      assertThrows(() => engine.callAll(calls), InternalError, "divide by zero");
      engine.zero(lines, 64 * 8);
      engine.callAll(calls.map(([, [line]]) => [add, [line, 1000]] as const));
      assertEquals(counts(engine, lines, 8), new Array(8).fill(1000));
      assertEquals(engine.threads.available(0), 1 + engine.threads.started);
    }
  },
});

/** Shares calls whose function in threads is another one, until that throws. */
function failInThreads(engine: Engine, other: WasmFunction): Error {
  const { threads } = engine, add = counter(engine), lines = engine.heap.alloc(64 * 8);
  const publish = threads.publish.bind(threads), codes: Uint8Array[] = [];
  threads.publish = (modules) => {
    codes.push(modules[0].code);
    return publish(modules);
  };
  threads.run([[other, [lines, 0]]]);
  threads.publish = (modules) => publish(modules.map(({ module }) => ({ module, code: codes[0] })));
  try {
    for (;;) engine.callAll(Array.from({ length: 8 }, (_, k) => [add, [lines + 64 * k, 1e5]]));
  } catch (error) {
    return error as Error;
  } finally {
    threads.publish = publish;
    engine.heap.free(lines, 64 * 8);
  }
}

Deno.test({
  name: "a call that fails in a thread is not made again, and its error says why",
  ignore: !features.shared,
  async fn() {
    const engine = await threadedEngine();
    if (engine === null) return;
    const trap = engine.compile("test trap", (m) => {
      m.function("run", ["i32", "i32"], null, (f, to, count) => {
        f.if(count, () => f.store(to, i32.div(1, 0)));
      });
    }).run;
    const error = failInThreads(engine, trap);
    assert(error instanceof InternalError, String(error));
    assertEquals(error.message, "A kernel of the CPU failed: divide by zero");
    assertEquals(engine.threads.available(0), 1 + engine.threads.started);
  },
});

Deno.test({
  name: "a thread that never ends its call is replaced",
  ignore: !features.shared,
  async fn() {
    const engine = await threadedEngine();
    if (engine === null) return;
    const { threads } = engine, { started, patience } = threads;
    const endless = engine.compile("test endless", (m) => {
      m.function("run", ["i32", "i32"], null, (f, _to, count) => f.while(count, () => {}));
    }).run;
    threads.patience = 1;
    const error = failInThreads(engine, endless);
    assert(error instanceof InternalError, String(error));
    assertMatch(
      error.message,
      /^A kernel of the CPU failed: a thread has not ended its call for \d+ ms; it is replaced$/,
    );
    threads.patience = patience;
    assertEquals(threads.started, started);
    while (threads.available(0) <= started) await new Promise((done) => setTimeout(done, 1));
    let rounds = 0;
    shareUntil(engine, () => rounds++ === 50);
    assertEquals(threads.available(0), 1 + started);
  },
});
