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
  const inputSignature = operands.map((name) => specOf(operand(name)));
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

Deno.test("what TensorFlow refuses to do with ragged tensors is refused", async () => {
  await tf.setBackend("cpu");
  const typed = [TypeError, tf.ValueError, tf.errors.OpError];
  for (const { fn, operands, options, error } of CASES) {
    if (error === undefined) continue;
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
