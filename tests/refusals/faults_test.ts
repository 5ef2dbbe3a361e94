/**
 * A fault is the same fault in every mode: eagerly, while a function is traced, or in a run with unknown shapes. An
 * error while building is a `ValueError`; an error of a run is an `InvalidArgumentError`, which is a `ValueError` too.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { DEVICES, HAS_WEBGPU } from "../devices.ts";

const { InvalidArgumentError } = tf.errors;
const ints = (values: number[]): tf.Tensor => tf.tensor(values, [values.length], "int32");

/** The fault of a call, and its message in each mode. */
interface Fault {
  readonly call: (...xs: tf.Tensor[]) => tf.Tensor;
  readonly inputs: () => tf.Tensor[];
  readonly says: string;
  /** The function checks this argument itself before there is an op to run. */
  readonly argument?: true;
}

const two = () => tf.tensor([1, 2]), three = () => tf.tensor([1, 2, 3]);
const row = () => tf.tensor([[1, 2]]);

const FAULTS: Readonly<Record<string, Fault>> = {
  matMul: {
    call: (a, b) => tf.matMul(a, b),
    inputs: () => [row(), row()],
    says: "inner dimensions",
  },
  add: { call: (a, b) => tf.add(a, b), inputs: () => [two(), three()], says: "[2] vs. [3]" },
  where: {
    call: (c, a, b) => tf.where(tf.greater(c, 0), a, b),
    inputs: () => [two(), three(), three()],
    says: "Incompatible shapes",
  },
  prelu: { call: (a, b) => tf.prelu(a, b), inputs: () => [two(), three()], says: "[2] vs. [3]" },
  reshape: { call: (a) => tf.reshape(a, [3]), inputs: () => [two()], says: "size mismatch" },
  "reshape with a rest": {
    call: (a) => tf.reshape(a, [-1, 3]),
    inputs: () => [two()],
    says: "size mismatch",
  },
  concat: {
    call: (a, b) => tf.concat([a, b], 0),
    inputs: () => [row(), tf.tensor([[1, 2, 3]])],
    says: "must be equal elsewhere",
  },
  "concat of ranks": {
    call: (a, b) => tf.concat([a, b], 0),
    inputs: () => [row(), two()],
    says: "must be equal elsewhere",
  },
  stack: { call: (a, b) => tf.stack([a, b]), inputs: () => [two(), three()], says: "are 2 and 3" },
  split: { call: (a) => tf.split(a, 3)[0], inputs: () => [two()], says: "evenly divide" },
  "split by sizes": {
    call: (a) => tf.split(a, [1, 2])[0],
    inputs: () => [two()],
    says: "sum of sizes",
  },
  slice: { call: (a) => tf.slice(a, [1], [3]), inputs: () => [two()], says: "it has 2 elements" },
  squeeze: {
    call: (a) => tf.squeeze(a, [0]),
    inputs: () => [two()],
    says: "expected a dimension of 1",
  },
  tile: { call: (a) => tf.tile(a, [1, 2]), inputs: () => [two()], says: "wanted 1 non-negative" },
  pad: {
    call: (a) => tf.pad(a, [[1, 1], [1, 1]]),
    inputs: () => [two()],
    says: "one for each axis",
  },
  broadcastTo: { call: (a) => tf.broadcastTo(a, [3]), inputs: () => [two()], says: "[2] vs. [3]" },
  topk: { call: (a) => tf.topk(a, 3).values, inputs: () => [two()], says: "at least k columns" },
  unsortedSegmentSum: {
    call: (a, ids) => tf.unsortedSegmentSum(a, ids, 2),
    inputs: () => [three(), ints([0, 1])],
    says: "are 3 and 2",
  },
  einsum: {
    call: (a, b) => tf.einsum("ij,jk->ik", a, b),
    inputs: () => [row(), row()],
    says: "expected dimension 2",
  },
  bandPart: { call: (a) => tf.linalg.bandPart(a, 5, 5), inputs: () => [row()], says: "num_lower" },
  depthToSpace: {
    call: (a) => tf.depthToSpace(a, 2),
    inputs: () => [tf.zeros([1, 2, 2, 3])],
    says: "evenly divisible by 4",
  },
  "axis of sum": {
    call: (a) => tf.sum(a, 3),
    inputs: () => [two()],
    says: "axis 3",
    argument: true,
  },
  "axis of argMax": {
    call: (a) => tf.argMax(a, 3),
    inputs: () => [two()],
    says: "axis 3",
    argument: true,
  },
  "axis of cumsum": {
    call: (a) => tf.cumsum(a, 3),
    inputs: () => [two()],
    says: "axis 3",
    argument: true,
  },
  "axis of reverse": {
    call: (a) => tf.reverse(a, [3]),
    inputs: () => [two()],
    says: "axis 3",
    argument: true,
  },
  "axis of expandDims": {
    call: (a) => tf.expandDims(a, 5),
    inputs: () => [two()],
    says: "axis 5",
    argument: true,
  },
  conv2d: {
    call: (x, w) => tf.conv2d(x, w, 1, "same"),
    inputs: () => [tf.zeros([1, 4, 4, 2]), tf.zeros([2, 2, 3, 1])],
    says: "input depth for filter",
    argument: true,
  },
  batchNorm: {
    call: (x, m) => tf.batchNorm(x, m, m),
    inputs: () => [tf.zeros([1, 2, 2, 3]), tf.zeros([2])],
    says: "[1,2,2,3] vs. [2]",
    argument: true,
  },
};

for (const device of DEVICES) {
  for (const [name, { call, inputs, says, argument }] of Object.entries(FAULTS)) {
    Deno.test({
      name: `a fault of ${name} is one class in every mode [${device}]`,
      ignore: device === "webgpu" && !HAS_WEBGPU,
      async fn() {
        await tf.setBackend(device);
        using _scope = tf.scope();
        const xs = inputs();
        const unknown = xs.map((x) => tf.TensorSpec(null, x.dtype));
        const late = tf.function(call, { inputSignature: unknown });

        const eager = await errorOf(() => call(...xs));
        const traced = await errorOf(() => tf.function(call)(...xs));
        const inFunction = await errorOf(() => late.async(...xs));
        const inSession = await errorOf(() => runInSession(call, xs));

        for (const error of [eager, traced, inFunction, inSession]) {
          assertInstanceOf(error, tf.ValueError);
          assertStringIncludes(error.message, says);
        }
        // A graph is refused while it is built, as far as shapes are known by then.
        assertEquals(traced.name, "ValueError");
        for (const error of argument ? [inFunction, inSession] : [eager, inFunction, inSession]) {
          assertInstanceOf(error, InvalidArgumentError);
          assert(error.op !== undefined, `${error.message} names no op`);
        }
      },
    });
  }
}

Deno.test("only what says that an argument is wrong is a ValueError", () => {
  const errors = [
    new InvalidArgumentError("a"),
    new tf.ValueError("b"),
    new tf.errors.NotFoundError("c"),
    new RangeError("d"),
    new TypeError("e"),
  ];
  assertEquals(errors.map((e) => e instanceof tf.ValueError), [true, true, false, false, false]);
  class Narrower extends tf.ValueError {}
  const narrow = [new Narrower("f"), errors[0], errors[1]];
  assertEquals(narrow.map((e) => e instanceof Narrower), [true, false, false]);
  assertEquals([null, undefined, 1, {}].map((e) => (e as unknown) instanceof tf.ValueError), [
    false,
    false,
    false,
    false,
  ]);
});

async function errorOf(fn: () => unknown): Promise<Error> {
  try {
    await fn();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

async function runInSession(call: Fault["call"], xs: readonly tf.Tensor[]): Promise<void> {
  const { feeds, y } = new tf.Graph().asDefault(() => {
    const feeds = new Map(xs.map((x) => [tf.placeholder(x.dtype), x]));
    return { feeds, y: call(...feeds.keys()) };
  });
  await using session = new tf.Session({ graph: y.graph });
  await session.run(y, { feeds });
}
