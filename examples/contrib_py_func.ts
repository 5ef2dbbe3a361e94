/**
 * `tf.contrib.framework.py_func`: a script with keyword arguments, several results and declared shapes.
 *
 * `deno run examples/contrib_py_func.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

/** Smallest, largest and how many lie between the keywords. Arguments come in order, the keywords as one object after them. */
export function describe(
  x: tf.NdArray,
  { low, high }: { low: tf.NdArray; high: tf.NdArray },
): { range: number[]; inside: number } {
  const values = Array.from(x.data as Float32Array);
  const [from, to] = [Number(low.item()), Number(high.item())];
  return {
    range: [Math.min(...values), Math.max(...values)],
    inside: values.filter((v) => from <= v && v <= to).length,
  };
}

async function main(): Promise<void> {
  const graph = new tf.Graph();
  const { x, low, result } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null], "x");
    const low = tf.placeholderWithDefault(0, [], "low");
    const result = tf.contrib.framework.pyFunc(describe, {
      args: [x],
      kwargs: { low, high: tf.constant(2) },
      outputTypes: { range: "float32", inside: "int32" },
      outputShapes: { range: [2], inside: [] },
      stateful: false,
      name: "describe",
    }) as { range: tf.Tensor; inside: tf.Tensor };
    return { x, low, result };
  });
  console.log(
    `range has shape [${result.range.staticShape}], inside [${result.inside.staticShape}]`,
  );

  const session = new tf.Session({ graph });
  const values = [-1, 0.5, 1.5, 2.5];
  for (const from of [undefined, 1]) {
    const feeds = new Map<tf.Tensor, tf.TensorLike>([[x, values]]);
    if (from !== undefined) feeds.set(low, from);
    const { range, inside } = await session.run(result, { feeds }) as {
      range: tf.NdArray;
      inside: number;
    };
    console.log(`low = ${from ?? "0 (the default)"}: range`, range.toArray(), "inside", inside);
    expect(JSON.stringify(range.toArray()), "[-1,2.5]");
    expect(inside, from === undefined ? 2 : 1);
  }

  // A declared shape is a promise: a result that breaks it is an error.
  const broken = graph.asDefault(() =>
    tf.contrib.framework.pyFunc((v: tf.NdArray) => v, {
      args: [x],
      outputTypes: "float32",
      outputShapes: [3],
      name: "broken",
    }) as tf.Tensor
  );
  try {
    await session.run(broken, { feeds: new Map([[x, values]]) });
    throw new Error("Expected an error for four values where three were declared");
  } catch (e) {
    if (!(e instanceof tf.errors.InvalidArgumentError)) throw e;
    console.log("A broken promise:", e.message.split("\n")[0]);
  }
  await session.close();
}

function expect(actual: unknown, wanted: unknown): void {
  if (actual !== wanted) throw new Error(`Expected ${wanted}, received ${actual}`);
}

if (import.meta.main) await main();
