// Ops that move, join, pick and reduce ragged tensors give what TensorFlow 2.21 gives, eager and compiled, with shapes known and unknown.
// The calls and their results are written by make_ragged_ops.py.

import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { some, Turns } from "../effort.ts";
import { testOnDevices } from "../devices.ts";
import { plain } from "./values.ts";

interface Operand {
  readonly values: unknown;
  readonly dtype: tf.DType;
  readonly splits?: readonly number[][];
}
interface Options {
  readonly axis?: number | number[] | null;
  readonly batch?: number;
  readonly keep?: boolean;
  readonly reps?: number[];
  readonly exclusive?: boolean;
  readonly reverse?: boolean;
  readonly sizes?: number | number[];
  readonly shape?: number[];
  readonly ta?: boolean;
  readonly tb?: boolean;
  readonly dtype?: tf.DType;
}
interface Case {
  readonly fn: string;
  readonly operands: readonly string[];
  readonly options: Options;
  readonly result?: unknown;
  readonly error?: string;
}

const { operands: OPERANDS, cases: CASES }: {
  operands: Record<string, Operand>;
  cases: Case[];
} = JSON.parse(
  await Deno.readTextFile(new URL("fixtures/ragged_ops.json", import.meta.url)),
);

// deno-lint-ignore no-explicit-any
type Any = any;
const ops = tf as Any;

function operand(name: string): Any {
  const { values, dtype, splits } = OPERANDS[name];
  const flat = ops.tensor(values, undefined, dtype);
  return splits ? tf.RaggedTensor.fromNestedRowSplits(flat, splits) : flat;
}

/** A spec of an operand without the dimensions that vary. */
function specOf(x: Any): Any {
  if (x instanceof tf.Tensor) return tf.TensorSpec(x.shape.map(() => null), x.dtype);
  return tf.RaggedTensorSpec(x.shape.map(() => null), x.dtype, x.raggedRank);
}

function call(fn: string, xs: readonly Any[], options: Options): unknown {
  const { axis, batch, keep, reps, dtype } = options;
  switch (fn) {
    case "gather":
      return ops.gather(xs[0], xs[1], axis ?? 0, batch ?? 0);
    case "stack":
    case "concat":
      return ops[fn](xs, axis);
    case "where":
      return ops.where(...xs);
    case "tile":
      return ops.tile(xs[0], reps);
    case "cast":
      return ops.cast(xs[0], dtype);
    case "oneHot":
      return ops.oneHot(xs[0], 3, 1, 0, "int32", axis ?? -1);
    case "cumsum":
      return ops.cumsum(xs[0], axis, options.exclusive, options.reverse);
    case "split":
      return ops.split(xs[0], options.sizes, axis);
    case "gatherND":
      return ops.gatherND(xs[0], xs[1]);
    case "reshape":
      return ops.reshape(xs[0], options.shape);
    case "matMul":
      return ops.matMul(xs[0], xs[1], options.ta, options.tb);
    case "staticRegexReplace":
      return tf.string.staticRegexReplace(xs[0], "a", "z");
    case "stringToHashBucketFast":
      return tf.string.stringToHashBucketFast(xs[0], 100);
    default:
      return axis === undefined && keep === undefined ? ops[fn](xs[0]) : ops[fn](xs[0], axis, keep);
  }
}

function assertClose(got: unknown, want: unknown): void {
  if (Array.isArray(want)) {
    assert(Array.isArray(got) && got.length === want.length, `received ${JSON.stringify(got)}`);
    return want.forEach((w, i) => assertClose(got[i], w));
  }
  if (want === "nan" || want === "inf" || want === "-inf") {
    return assertEquals(String(got).toLowerCase(), want.replace("inf", "infinity"));
  }
  const value = typeof got === "bigint" ? Number(got) : got;
  if (typeof want !== "number") return assertEquals(value, want);
  assertAlmostEquals(Number(value), want, 1e-5 * Math.max(1, Math.abs(want)));
}

const nameOf = ({ fn, operands, options }: Case): string =>
  `${fn}(${operands}) ${JSON.stringify(options)}`;

/** A call's ways to be made: at once, compiled, and compiled for dimensions that are not known. */
function ways({ fn, operands, options }: Case): Record<string, (xs: readonly Any[]) => unknown> {
  const body = (...xs: Any[]) => call(fn, xs, options);
  // The number of axes that an index is for must be known, in TensorFlow too.
  const spec = (name: string, i: number) => {
    const x = operand(name), all = specOf(x);
    return fn !== "gatherND" || i === 0 || !(x instanceof tf.Tensor)
      ? all
      : tf.TensorSpec([...all.shape.slice(0, -1), x.shape.at(-1)!], x.dtype);
  };
  const inputSignature = operands.map(spec);
  return {
    eager: (xs) => body(...xs),
    compiled: (xs) => (tf.function(body as Any) as Any)(...xs),
    "of unknown dimensions": (xs) => (tf.function(body as Any, { inputSignature }) as Any)(...xs),
  };
}

testOnDevices(
  "ragged tensors are moved, joined, picked and reduced as TensorFlow does",
  async (device) => {
    const wrong: string[] = [];
    const given = CASES.filter(({ error }) => error === undefined);
    const turns = new Turns();
    for (const taken of device === "cpu" ? given : some(given, 40)) {
      const [[, eager], ...others] = Object.entries(ways(taken));
      for (const [way, run] of [["eager", eager], ...turns.of(others)] as const) {
        using _s = tf.scope();
        try {
          assertClose(await plain(run(taken.operands.map(operand))), taken.result);
        } catch (e) {
          wrong.push(`${nameOf(taken)} ${way}: ${(e as Error).message}`);
        }
      }
    }
    assertEquals(wrong, []);
  },
);

testOnDevices("what TensorFlow refuses to do with ragged tensors is refused", (device) => {
  const typed = [TypeError, tf.ValueError, tf.errors.OpError];
  for (const { fn, operands, options, error } of CASES) {
    if (error === undefined) continue;
    // Kernels of a GPU cannot throw for an index: gather() gives zeros there, in TensorFlow too.
    if (device === "webgpu" && fn === "gather" && error === "InvalidArgumentError") continue;
    using _s = tf.scope();
    const xs = operands.map(operand), name = nameOf({ fn, operands, options });
    const run = (f: Any) => {
      const e = assertThrows(() => void f(...xs), Error, undefined, name);
      assert(typed.some((t) => e instanceof t), `${name}: ${e}`);
    };
    const body = (...xs: Any[]) => call(fn, xs, options);
    run(body);
    run(tf.function(body as Any));
  }
});

testOnDevices(
  "softmax() of ragged tensors goes along any axis, which TensorFlow refuses",
  async () => {
    using _s = tf.scope();
    const rows = operand("rows"), deep = operand("deep"), low = { defaultValue: -Infinity };
    for (const [x, axis] of [[rows, 0], [deep, 0], [deep, 1]] as const) {
      for (const [of, found] of [[tf.softmax, ops.softmax], [tf.logSoftmax, ops.logSoftmax]]) {
        const dense = of(x.toTensor(low), axis);
        const got = found(x, axis) as tf.RaggedTensor;
        const want = await dense.array(), all = got.toTensor({ defaultValue: NaN });
        const same = tf.where(tf.isNaN(all), 0, tf.sub(all, want));
        assertAlmostEquals((tf.max(tf.abs(same)) as tf.Tensor).item(), 0, 1e-6);
        assertEquals(got.flatValues.shape, x.flatValues.shape);
      }
    }
    // Rows without a finite number leave the others as they are.
    const mixed = tf.RaggedTensor.fromRowSplits([NaN, 1, 2, Infinity, 3], [0, 1, 3, 4, 5]);
    assertEquals(
      [ops.cumsum(mixed, 1).toList(), ops.softmax(mixed).toList()[3]],
      [[[NaN], [1, 3], [Infinity], [3]], [1]],
    );
  },
);

testOnDevices("softmax(), cumsum() and products of ragged tensors have gradients", () => {
  using _s = tf.scope();
  const splits = [0, 2, 2, 5], flat = tf.tensor([1, 2, 3, 4, 6]);
  const weights = tf.tensor([1, -2, 3, 0.5, 2]);
  const padded = (x: tf.Tensor) => [tf.slice(x, [0], [2]), tf.slice(x, [2], [3])];
  const of: Record<string, [(x: Any) => Any, (x: Any) => Any]> = {
    softmax: [(r) => ops.softmax(r), (x) => tf.softmax(x)],
    logSoftmax: [(r) => ops.logSoftmax(r), (x) => tf.logSoftmax(x)],
    cumsum: [(r) => ops.cumsum(r, 1, true), (x) => tf.cumsum(x, 0, true)],
    "cumsum backwards": [(r) => ops.cumsum(r, 1, false, true), (x) => tf.cumsum(x, 0, false, true)],
    outer: [
      (r) => {
        const column = ops.expandDims(r, 2);
        return ops.matMul(column, column, false, true);
      },
      (x) => tf.outerProduct(x, x),
    ],
  };
  for (const [name, [ragged, dense]] of Object.entries(of)) {
    const one = (x: tf.Tensor): tf.Tensor => {
      const y = ragged(tf.RaggedTensor.fromRowSplits(x, splits)).flatValues;
      const w = name === "outer" ? tf.range(1, 1 + 13, 1, "float32") : weights;
      return tf.sum(tf.mul(tf.reshape(y, [-1]), w));
    };
    const other = (x: tf.Tensor): tf.Tensor => {
      const parts = padded(x).map((p) => tf.reshape(dense(p), [-1]));
      const w = name === "outer" ? tf.range(1, 1 + 13, 1, "float32") : weights;
      return tf.sum(tf.mul(tf.concat(parts), w));
    };
    const want = tf.grad(other)(flat).arraySync();
    assertClose(tf.grad(one)(flat).arraySync(), want);
    assertClose(
      (tf.function((x: tf.Tensor) => tf.grad(one)(x))(flat) as tf.Tensor).arraySync(),
      want,
    );
  }
});
