/** WGSL of one's own that is wrong: an error with the op's name where its result is first read, and never a result of zeros. */
import * as tf from "@weft/weft";
import { applyOp, defineOp, makeProgram, type OpDef } from "@weft/weft/ops";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { testOnGpu } from "../devices.ts";
import { errorOf, open, testAwaited } from "../script/helpers.ts";

interface Kernel {
  readonly body?: string;
  readonly prelude?: string;
  readonly buffers?: readonly ({ readonly input: number } | { readonly output: number })[];
  readonly grid?: readonly [number, number, number];
}

let ops = 0;

/** An op that copies its input on the CPU, and on the GPU does what is said. */
function own(name: string, kernel: Kernel): OpDef {
  const { body = "out0[0] = in0[0];", prelude = "" } = kernel;
  const { buffers = [{ input: 0 }, { output: 0 }], grid = [1, 1, 1] } = kernel;
  return defineOp({
    name: `Faulty>${name}${ops++}`,
    inputs: ["x: float32"],
    outputs: ["y: float32"],
    infer: ([x]) => [x!.shape],
    cpu: ([x], [y]) => (y!.data as Float32Array).set(x!.data as Float32Array),
    gpu: [{
      name: "the only one",
      plan: () => ({
        dispatches: [{
          // Another body each time: programs are compiled once.
          program: makeProgram({
            name,
            inputs: ["f32"],
            outputs: ["f32"],
            workgroup: [1, 1, 1],
            prelude,
            body: `// ${ops}\n${body}`,
          }),
          buffers,
          params: [],
          grid,
        }],
      }),
    }],
  });
}

/** Kernels, and whether the compiler has words about them that an awaited read knows. */
const FAULTS: readonly [name: string, kernel: Kernel, text: RegExp, compiled: boolean][] = [
  ["Syntax", { body: "out0[0] = 1.0" }, /Cannot compile WGSL program "Syntax" of op/, true],
  ["Type", { body: "out0[0] = 1u;" }, /Cannot compile WGSL program "Type" of op/, true],
  [
    "Binding",
    {
      prelude: "@group(0) @binding(5) var<storage, read_write> other: array<f32>;",
      body: "other[0] = in0[0]; out0[0] = other[0];",
    },
    /Cannot compile WGSL program "Binding" of op/,
    true,
  ],
  [
    "TooFew",
    { buffers: [{ output: 0 }] },
    /a dispatch of "TooFew" names 1 buffers, and its program binds 2/,
    false,
  ],
  [
    "NoSuchInput",
    { buffers: [{ input: 3 }, { output: 0 }] },
    /a dispatch of "NoSuchInput" names \{"input":3\}, which the op does not have/,
    false,
  ],
  ["TooMany", { grid: [65_536, 1, 1] }, /asks for \[65536,1,1\] workgroups/, false],
];

/** Ways in which the result of an op comes to be read. */
const MODES: Record<string, (op: OpDef) => unknown> = {
  "dataSync()": (op) => applyOp(op, [tf.tensor([5])])[0]!.dataSync(),
  "data()": (op) => applyOp(op, [tf.tensor([5])])[0]!.data(),
  "an op of its result": (op) => tf.add(applyOp(op, [tf.tensor([5])])[0]!, 1).dataSync(),
  "a function": (op) =>
    (tf.function((x: tf.Tensor) => tf.neg(applyOp(op, [tf.neg(x)])[0]!)) as (
      x: tf.Tensor,
    ) => tf.Tensor)(tf.tensor([5])).dataSync(),
  "a session": async (op) => {
    await using g = open(() => tf.neg(applyOp(op, [tf.placeholder("float32", [1], "x")])[0]!));
    return await g.sess.run(g.parts, { feeds: { "x:0": [5] } });
  },
};

for (const [name, kernel, text, compiled] of FAULTS) {
  testOnGpu(`a kernel of one's own that is wrong comes to light by ${name}`, async () => {
    for (const [mode, run] of Object.entries(MODES)) {
      const op = own(name, kernel);
      // Again and again: what is compiled once is no less wrong.
      for (let k = 0; k < 2; k++) {
        const error = await errorOf(async () => void await run(op));
        const seen = `${mode}: ${error.message}`;
        assert(error instanceof tf.errors.OpError, seen);
        assertMatch(error.message, text, seen);
        assertEquals(error.op, op.name, seen);
        if (compiled && (k === 1 || mode === "data()")) assertMatch(error.message, /wgsl|binding/i);
        if (/function|session/.test(mode)) assertEquals(error.node, op.name.replace(/[<>]/g, ">"));
      }
      // What others compute, and were told to compute beside it, stays.
      assertEquals(tf.add(tf.tensor([1]), 1).arraySync(), [2]);
    }
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals(tf.add(tf.tensor([1]), 1).arraySync(), [2]);
  });
}

testOnGpu("a kernel of one's own that is wrong takes no other results along", async () => {
  const op = own("Type", { body: "out0[0] = 1u;" }), fine = own("Fine", {});
  const before = tf.mul(tf.tensor([2]), 3);
  const wrong = applyOp(op, [before])[0]!;
  const after = applyOp(fine, [tf.mul(before, 2)])[0]!;
  assertEquals([before.arraySync(), after.arraySync()], [[6], [12]]);
  assertMatch((await errorOf(() => wrong.dataSync())).message, /program "Type"/);
  wrong.dispose();
  assertEquals(tf.mul(before, 4).arraySync(), [24]);
});

testAwaited(
  "a kernel of one's own that is wrong comes to light where reads must be awaited",
  async () => {
    for (const [name, kernel, text] of FAULTS) {
      const op = own(name, kernel), before = tf.mul(tf.tensor([2]), 3);
      const error = await errorOf(async () => void await applyOp(op, [before])[0]!.data());
      assertMatch(error.message, text);
      assertEquals(error.op, op.name);
      const f = tf.function((x: tf.Tensor) => tf.neg(applyOp(op, [x])[0]!));
      for (let k = 0; k < 2; k++) {
        const again = await errorOf(async () =>
          void await (await f.async(before) as tf.Tensor).data()
        );
        assertMatch(again.message, text);
      }
      assertEquals(Array.from(await tf.add(before, 1).data()), [7]);
    }
  },
);
