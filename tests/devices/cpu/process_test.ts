/** Whole processes: with threads they end by themselves, and they do without what they are not given. */

import { assert, assertEquals } from "@std/assert";

const root = new URL("../../../", import.meta.url);
const ENGINE = JSON.stringify(new URL("src/engine/devices/cpu/engine.ts", root).href);
const DEVICES = JSON.stringify(new URL("src/engine/runtime/devices/devices.ts", root).href);
const WEFT = JSON.stringify(new URL("mod.ts", root).href);

/** A product large enough to be shared, and what became of it. */
const WORK = `
  const x = tf.fill([300, 300], 0.5);
  for (let i = 0; i < 300; i++) tf.matMul(x, x).dispose();
  console.log((await tf.matMul(x, x).data())[7]);`;

/** Runs a program that has no permission; gives what it wrote. */
async function runAlone(code: string, ...flags: string[]): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "weft_process_" });
  try {
    await Deno.writeTextFile(`${folder}/main.ts`, code);
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--no-check", "--no-config", ...flags, `${folder}/main.ts`],
      signal: AbortSignal.timeout(120_000),
    }).output();
    assert(success, `it failed or was ended from outside: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout).trim();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a process with threads ends by itself", async () => {
  const text = await runAlone(`
    import { Engine } from ${ENGINE};
    const engine = new Engine();
    engine.threads.start(2);
    console.log("started", engine.threads.started);`);
  assert(text.startsWith("started"));
});

Deno.test("a process without permissions computes, and ends by itself", async () => {
  const text = await runAlone(`import * as tf from ${WEFT};
    await tf.setBackend("cpu");${WORK}`);
  assertEquals(text, "75");
});

Deno.test("a process on one processor starts no threads", async () => {
  const text = await runAlone(`
    Object.defineProperty(navigator, "hardwareConcurrency", { value: 1 });
    const { Engine } = await import(${ENGINE});
    const engine = new Engine();
    engine.threads.start(2);
    console.log(engine.threads.started, engine.threads.available(1e12));`);
  assertEquals(text, "0 1");
});

Deno.test("a process whose workers are refused computes in one thread", async () => {
  const text = await runAlone(`
    import * as tf from ${WEFT};
    import { Engine } from ${ENGINE};
    const real = process.getBuiltinModule;
    process.getBuiltinModule = (name) => name === "node:worker_threads"
      ? { Worker: class { constructor() { throw new Error("No workers here"); } } }
      : real(name);
    const engine = new Engine();
    engine.threads.start(2);
    console.log(engine.threads.started, engine.threads.available(1e12));
    await tf.setBackend("cpu");${WORK}`);
  assertEquals(text, "0 1\n75");
});

Deno.test("tensors that are dropped, or kept beyond their scope, give their memory back, all but the latest small ones", async () => {
  const text = await runAlone(
    `
    import * as tf from ${WEFT};
    import { cpuDevice } from ${DEVICES};
    const free = () => cpuDevice().memory().poolBytes;
    await tf.setBackend("cpu");
    tf.zeros([40_000_000]).dispose();
    const kept = (x) => tf.tidy(() => void tf.keep(tf.neg(x)));
    for (const [size, mayStay, make] of [[100, 80, tf.neg], [20_000, 16, tf.neg], [20_000, 16, kept]]) {
      const x = tf.zeros([size]);
      const before = free();
      for (let i = 0; i < 1000; i++) make(x);
      for (let i = 0; i < 20; i++) {
        gc();
        await new Promise((done) => setTimeout(done));
      }
      console.log(before - free() <= mayStay * size * 5);
      x.dispose();
    }`,
    "--v8-flags=--expose-gc",
  );
  assertEquals(text, "true\ntrue\ntrue");
});

Deno.test("memory() tells what the garbage collector has reclaimed, and goes on counting it", async () => {
  const text = await runAlone(
    `
    import * as tf from ${WEFT};
    const count = () => {
      const { numTensors, reclaimedTensors, reclaimedBytes } = tf.memory();
      return [numTensors, reclaimedTensors, reclaimedBytes];
    };
    const [tensors, found, bytes] = count();
    console.log(found, bytes);
    using x = tf.zeros([20_000]);
    for (let i = 0; i < 100; i++) tf.neg(x);
    for (let i = 0; i < 100; i++) tf.neg(x).dispose();
    const v = tf.variable([1]);
    for (let k = 0; k < 100 && tf.memory().reclaimedTensors < 90; k++) {
      gc();
      await new Promise((done) => setTimeout(done));
    }
    const [after, lost, lostBytes] = count();
    // The last ones may still be on the stack.
    console.log(after - tensors, lost >= 90 && lost <= 100, lostBytes === lost * 80_000);`,
    "--v8-flags=--expose-gc",
  );
  assertEquals(text, "0 0\n102 true true");
});

Deno.test("a graph that nobody holds leaves nothing behind, nor do its variables", async () => {
  const text = await runAlone(
    `
    import * as tf from ${WEFT};
    await tf.setBackend("cpu");
    async function build() {
      const graph = new tf.Graph();
      const [v, inc] = graph.asDefault(() => {
        const v = tf.variable(tf.zeros([10]), true, "kept");
        return [v, v.assignAdd(tf.ones([10]))];
      });
      await using sess = new tf.Session({ graph });
      await sess.run(v.initializer);
      await sess.run(inc);
      return Object.entries({ graph, v, state: v.resource }).map(([k, x]) => [k, new WeakRef(x)]);
    }
    const refs = await build();
    for (let i = 0; i < 10; i++) {
      gc();
      await new Promise((done) => setTimeout(done));
    }
    console.log(refs.filter(([, ref]) => ref.deref()).map(([k]) => k).join() || "nothing");`,
    "--v8-flags=--expose-gc",
  );
  assertEquals(text, "nothing");
});
