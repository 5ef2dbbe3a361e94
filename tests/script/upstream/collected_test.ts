/**
 * Upstream's tests whose subject is what garbage collection leaves (33–35 of the list in the README of the folder above), in processes
 * that may collect.
 */
import { assertEquals } from "@std/assert";
import { capture } from "../../../tools/command.ts";
import { ROOT } from "../../../tools/files.ts";
import { DEVICES, HAS_WEBGPU } from "../../devices.ts";

/** Common code of the programs: collecting, and counting the remaining bodies. */
const COMMON = `
  import * as tf from "@weft/weft";
  const bodies = [];
  const body = (f) => (bodies.push(new WeakRef(f)), f);
  const alive = () => bodies.filter((b) => b.deref() !== undefined).length;
  async function collected(wanted) {
    for (let i = 0; i < 20 && alive() > wanted; i++) {
      // What was looked at lives until the end of the task.
      await new Promise((resolve) => setTimeout(resolve, 1));
      gc();
    }
    return alive();
  }
  const totals = () => {
    const { numTensors, liveTapes, registeredScripts } = tf.memory();
    return { numTensors, liveTapes, registeredScripts };
  };
  const print = (value) => console.log(JSON.stringify(value));`;

/** Returns the output of a program on a device. */
async function printed(device: string, program: string): Promise<unknown> {
  const args = ["eval", "--no-check", "--v8-flags=--expose-gc", "--ext=js"];
  const map = ["--import-map", new URL("tests/npm_only/import_map.json", ROOT).pathname];
  const text = `${COMMON}\nawait tf.setBackend("${device}");\n${program}`;
  const { code, stdout, stderr } = await capture(Deno.execPath(), [...args, ...map, text], {
    timeoutMs: 600_000,
  });
  assertEquals(code, 0, stderr);
  return JSON.parse(stdout);
}

function testCollected(name: string, program: string, wanted: unknown): void {
  for (const device of DEVICES) {
    Deno.test({
      name: `${name} [${device}]`,
      ignore: device === "webgpu" && !HAS_WEBGPU,
      fn: async () => assertEquals(await printed(device, program), wanted),
    });
  }
}

testCollected(
  "33 testFunctionReferencesAreKept: a body that only its op refers to outlives collections",
  `
  const batched = () => tf.function((x) => {
    const plus = (v) => v.map((e) => e + 1);
    return tf.numpyFunction(body(plus), [x], "float32");
  });
  const use = async () => {
    const f = batched(), results = [];
    using x = tf.tensor([1, 2, 3]);
    for (let i = 0; i < 3; i++) {
      using y = await f.async(x);
      results.push(...await y.data());
      gc();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return [results, alive()];
  };
  const used = await use();
  print([used, await collected(0)]);`,
  [[[2, 3, 4, 2, 3, 4, 2, 3, 4], 1], 0],
);

/** Makes the four scripts of upstream, two of which close over a tensor of their graph; runs all in one of `every` graphs. */
const FOUR = `
  const four = (c) => [
    tf.numpyFunction(body((x) => x), [c], "float32"),
    tf.numpyFunction(body(() => c.shape), [], "int32"),
    tf.pyFunction(body((x) => tf.add(x, 1)), [c], "float32"),
    tf.pyFunction(body(() => tf.constant(c.shape[0])), [], "float32"),
  ];`;

testCollected(
  "34 testCleanup: a thousand graphs leave no script behind",
  `${FOUR}
  const before = totals();
  async function make(i) {
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => four(tf.constant([1])));
    if (i % 100 !== 0) return;
    // Graphs that were written are found again by the tokens of their scripts, while they live.
    if (i % 200 === 0) graph.toGraphDef({ allowAnonymousScripts: true });
    await using session = new tf.Session({ graph });
    await session.run(fetches);
  }
  for (let i = 0; i < 1000; i++) await make(i);
  print([bodies.length, await collected(0), JSON.stringify(totals()) === JSON.stringify(before)]);`,
  [4000, 0, true],
);

testCollected(
  "35 testCleanupInTfFunction: nor do a hundred functions",
  `${FOUR}
  const before = totals();
  async function make() {
    using c = tf.tensor([1]);
    const f = tf.function((x) => four(x));
    tf.dispose(await f.async(c));
  }
  for (let i = 0; i < 100; i++) await make();
  print([bodies.length, await collected(0), JSON.stringify(totals()) === JSON.stringify(before)]);`,
  [400, 0, true],
);
