/** Runs functions beside what TensorFlow 2.21 returned, in every way there is; `goldens.py` records that. */

import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { toNdArray } from "../../src/engine/core/convert.ts";
import { setElement } from "../../src/engine/core/nd_array.ts";
import { difference } from "../../src/library/testing/compare.ts";

/** A tensor as JSON has it: dtype, shape, elements. */
interface Golden {
  readonly t: tf.DType;
  readonly s: readonly number[];
  readonly v: readonly unknown[];
}

/** A call, its results, and gradients of their weighted sum. */
export interface GoldenCase {
  readonly fn: string;
  readonly args: readonly unknown[];
  readonly want: readonly Golden[];
  readonly wrt?: readonly number[];
  readonly grads?: readonly Golden[];
}

// deno-lint-ignore no-explicit-any
type Any = any;
type Run = (...args: Any[]) => unknown;

function isGolden(x: unknown): x is Golden {
  return typeof x === "object" && x !== null && "t" in x;
}

/** Makes the array of a golden. */
export function arrayOf({ t, s, v }: Golden): tf.NdArray {
  if (t === "string") return toNdArray(v.length === 0 ? [] : [...v], { dtype: t }).reshape([...s]);
  const out = tf.NdArray.zeros(t, [...s]);
  const isWide = t === "int64" || t === "uint64";
  v.forEach((value, i) => {
    if (Array.isArray(value)) return (out.data as Any).set(value.map(Number), 2 * i);
    setElement(out, i, (isWide ? BigInt(value as string) : Number(value)) as Any);
  });
  return out;
}

/** Decodes an argument; `tensorOf` makes a tensor of each golden in it. */
function decode(x: unknown, tensorOf: (golden: Golden) => unknown): unknown {
  if (isGolden(x)) return tensorOf(x);
  if (typeof x === "object" && x !== null) {
    const { list, sparse } = x as Any;
    if (list) return list.map((e: unknown) => decode(e, tensorOf));
    if (sparse) {
      const [indices, values, shape] = sparse.map(tensorOf);
      return new tf.SparseTensor(indices, values, shape);
    }
  }
  return x;
}

/** All tensors of a result, in order. */
export function tensorsOf(x: unknown): tf.Tensor[] {
  if (x instanceof tf.Tensor) return [x];
  if (x instanceof tf.SparseTensor) {
    // Places are int32 here, and int64 in TensorFlow.
    return [tf.cast(x.indices, "int64"), x.values, tf.cast(x.denseShape, "int64")];
  }
  if (Array.isArray(x)) return x.flatMap(tensorsOf);
  return Object.values(x as object).flatMap(tensorsOf);
}

const goldensIn = (x: unknown): Golden[] =>
  isGolden(x)
    ? [x]
    : typeof x === "object" && x !== null
    ? Object.values(x).flat().flatMap(goldensIn)
    : [];

/** Options of {@linkcode runCases}. */
export interface CaseOptions {
  /** Greatest distance of floats in units in the last place. Default 4. */
  readonly ulps?: number;
  /** Functions whose arguments have a known rank, but for their extents. */
  readonly least?: number;
}

/** A sum in which each element has a factor of its own, as `goldens.py` has it. */
function weighted(results: readonly tf.Tensor[]): tf.Tensor {
  let total: tf.Tensor = tf.scalar(0);
  for (const y of results) {
    if (!["float32", "float64", "float16", "bfloat16"].includes(y.dtype)) continue;
    const at = tf.range(0, tf.size(y), 1);
    const w = tf.div(tf.cast(tf.add(tf.mod(tf.mul(at, 7), 5), 1), "float32"), 4);
    total = tf.add(total, tf.sum(tf.mul(tf.cast(tf.reshape(y, [-1]), "float32"), w)));
  }
  return total;
}

/** Runs the cases on the current device: eagerly, compiled for unknown extents, in a session, with gradients. */
export async function runCases(
  cases: readonly GoldenCase[],
  { ulps = 4 }: CaseOptions = {},
): Promise<void> {
  const faults: string[] = [];
  for (const [n, row] of cases.entries()) {
    using _scope = tf.scope();
    const fn = row.fn.split(".").reduce((at: Any, key) => at[key], tf) as Run;
    const name = `${row.fn} #${n}`, given = row.args.flatMap(goldensIn).map(arrayOf);
    const call = (next: () => unknown): tf.Tensor[] =>
      tensorsOf(fn(...row.args.map((a) => decode(a, next))));
    const check = async (
      how: string,
      got: readonly (tf.Tensor | tf.NdArray)[],
      want: readonly Golden[],
    ) => {
      if (got.length !== want.length) faults.push(`${name} ${how}: ${got.length} results`);
      for (const [i, golden] of want.entries()) {
        const x = got[i] instanceof tf.NdArray ? got[i] : await (got[i] as tf.Tensor).ndarray();
        const wanted = arrayOf(golden);
        const tolerance = { ulps, ulpsOfLargest: ulps };
        const text = x.dtype !== wanted.dtype
          ? `${x.dtype}, wanted ${wanted.dtype}`
          : difference(x, wanted, wanted.dtype, tolerance);
        if (text !== null) faults.push(`${name} ${how}, result ${i}: ${text}`);
      }
    };
    const attempt = async (how: string, run: () => unknown, want: readonly Golden[]) => {
      try {
        await check(how, await run() as Any, want);
      } catch (error) {
        faults.push(`${name} ${how}: ${(error as Error).stack?.slice(0, 400)}`);
      }
    };
    await attempt("eagerly", () => {
      let i = 0;
      return call(() => tf.tensor(given[i++] as Any));
    }, row.want);
    await attempt("of arrays", () => {
      let i = 0;
      return call(() => given[i++]);
    }, row.want);
    const compiled = tf.function(
      ((...xs: tf.Tensor[]) => {
        let i = 0;
        return call(() => xs[i++]);
      }) as Any,
      {
        inputSignature: given.map((a) => tf.TensorSpec(a.shape.map(() => null), a.dtype)),
      },
    );
    await attempt(
      "compiled",
      async () => tensorsOf(await compiled.async(...given.map((a) => tf.tensor(a as Any)))),
      row.want,
    );
    await attempt("in a session", async () => {
      const graph = new tf.Graph();
      const feeds: [Any, tf.NdArray][] = [];
      const fetches = graph.asDefault(() =>
        call(() => {
          const array = given[feeds.length];
          const x = tf.placeholder(array.dtype, array.shape.map(() => null));
          feeds.push([x, array]);
          return x;
        })
      );
      const got = await new tf.Session({ graph }).run(fetches, {
        feeds: new Map(feeds) as Any,
      }) as unknown[];
      return got.map((x, i) => toNdArray(x, { dtype: row.want[i].t }));
    }, row.want);
    if (row.wrt === undefined) continue;
    const slopes = () => {
      const watched: tf.Tensor[] = [];
      using tape = new tf.GradientTape({ persistent: true });
      let i = 0;
      const args = row.args.map((a) => decode(a, () => tf.tensor(given[i++] as Any)));
      for (const at of row.wrt!) {
        tape.watch(args[at] as tf.Tensor);
        watched.push(args[at] as tf.Tensor);
      }
      const total = weighted(tensorsOf(fn(...args)));
      return watched.map((x) => tape.gradient(total, x) as tf.Tensor);
    };
    await attempt("gradients", slopes, row.grads!);
  }
  assert(cases.length > 0);
  assertEquals(faults, []);
}
