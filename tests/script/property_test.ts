/** For any dtypes, ranks, nests and forms of Tout: a script op gives the same in a graph and eagerly as its body called directly. */
import * as tf from "@weft/weft";
import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, open } from "./helpers.ts";

const DTYPES = [
  "float32",
  "float64",
  "float16",
  "bfloat16",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "bool",
  "string",
  "complex64",
  "complex128",
] as const;

const element: Record<string, fc.Arbitrary<unknown>> = {
  bool: fc.boolean(),
  string: fc.string({ unit: "binary", maxLength: 4 }),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  int8: fc.integer({ min: -128, max: 127 }),
  uint8: fc.integer({ min: 0, max: 255 }),
  int16: fc.integer({ min: -32768, max: 32767 }),
  uint16: fc.integer({ min: 0, max: 65535 }),
  int32: fc.integer(),
  uint32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  float32: fc.float(),
  float64: fc.double(),
  float16: fc.integer({ min: -1000, max: 1000 }),
  bfloat16: fc.integer({ min: -100, max: 100 }),
  complex64: fc.tuple(fc.float(), fc.float()),
  complex128: fc.tuple(fc.double(), fc.double()),
};

/** An array of any dtype and of ranks 0 to 4, empty ones included. */
const array: fc.Arbitrary<tf.NdArray> = fc
  .record({
    dtype: fc.constantFrom(...DTYPES),
    shape: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 }),
  })
  .chain(({ dtype, shape }) => {
    const size = shape.reduce((a, b) => a * b, 1);
    return fc.array(element[dtype], { minLength: size, maxLength: size }).map((values) => {
      const out = tf.NdArray.zeros(dtype, shape);
      return out.map((_, i) =>
        (dtype === "string" ? new TextEncoder().encode(values[i] as string) : values[i]) as Any
      );
    });
  });

/** A nest with numbered leaves: what `fill` puts in. */
type Nest = number | Nest[] | { [key: string]: Nest };
const nest = (leaves: number): fc.Arbitrary<Nest> => {
  if (leaves === 1) return fc.constant(0);
  return fc.tuple(fc.integer({ min: 1, max: leaves - 1 }), fc.boolean()).chain(([left, isList]) =>
    fc.tuple(nest(left), nest(leaves - left)).map((
      [a, b],
    ): Nest => (isList ? [a, b] : { b: a, a: b }))
  );
};
const shuffled = (n: number) =>
  fc.shuffledSubarray(Array.from({ length: n }, (_, i) => i), { minLength: n });

/** The nest with values in it, in the order in which the leaves are met here. */
function fill(like: Nest, values: readonly unknown[], at = { i: 0 }): Any {
  if (typeof like === "number") return values[at.i++];
  if (Array.isArray(like)) return like.map((n) => fill(n, values, at));
  return Object.fromEntries(Object.entries(like).map(([k, n]) => [k, fill(n, values, at)]));
}
function leaves(value: Any): Any[] {
  if (value instanceof tf.NdArray || value instanceof tf.Tensor || typeof value !== "object") {
    return [value];
  }
  return (Array.isArray(value) ? value : Object.keys(value).sort().map((k) => value[k])).flatMap(
    leaves,
  );
}

/** Ways to declare an output. */
const spec = fc.constantFrom("dtype", "exact", "partial", "rank unknown");
function declared(a: tf.NdArray, form: string): Any {
  switch (form) {
    case "dtype":
      return a.dtype;
    case "exact":
      return tf.TensorSpec(a.shape, a.dtype);
    case "partial":
      return tf.TensorSpec(a.shape.map((d, i) => (i % 2 ? d : null)), a.dtype);
  }
  return tf.TensorSpec(null, a.dtype);
}

const cases = fc.array(array, { minLength: 1, maxLength: 4 }).chain((arrays) => {
  const n = arrays.length;
  return fc.record({
    arrays: fc.constant(arrays),
    inputs: nest(n),
    outputs: nest(n),
    order: shuffled(n),
    forms: fc.array(spec, { minLength: n, maxLength: n }),
    isAsync: fc.boolean(),
    wrapped: fc.boolean(),
  });
});

const view = (a: Any) => {
  const b = a instanceof tf.NdArray ? a : a instanceof tf.Tensor ? a.ndarraySync() : a;
  return b instanceof tf.NdArray
    ? [b.dtype, [...b.shape], [...b.data as Any].map((v) => (v instanceof Uint8Array ? [...v] : v))]
    : b;
};

testOnDevices("script ops give what their bodies give", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ arrays, inputs, outputs, order, forms, isAsync, wrapped }) => {
      const wrap = (n: Nest, values: readonly unknown[]) =>
        wrapped || typeof n === "number" ? [fill(n, values)] : [[fill(n, values)]];
      const toTout = order.map((i) => declared(arrays[i], forms[i]));
      const tout = fill(outputs, toTout);
      const rearrange = (...args: Any[]) => {
        const given = leaves(args.slice(0, -1));
        // Leaves are met in the sorted order of keys; `fill` meets them in the order they were written.
        const place = leaves(fill(inputs, arrays.map((_, i) => i)));
        return fill(outputs, order.map((i) => given[place.indexOf(i)]));
      };
      const direct = leaves(rearrange(...wrap(inputs, arrays), null)).map(view);
      const body = isAsync ? (...args: Any[]) => Promise.resolve(rearrange(...args)) : rearrange;
      for (const call of [tf.numpyFunction, tf.pyFunction] as Any[]) {
        await using g = open(() =>
          leaves(call(body, wrap(inputs, arrays.map((a) => tf.constant(a))), tout))
        );
        const fetched = await g.sess.run(g.parts) as Any[];
        fetched.forEach((value, i) => {
          const want = direct[i];
          // Rank 0 is fetched as a plain value.
          if (want[1].length > 0) assertEquals(view(value), want);
          else {assertEquals(
              value,
              new tf.NdArray(
                want[0],
                [],
                g.parts[i].dtype === "string" ? [new Uint8Array(want[2][0])] : arrayOf(want),
              ).at(0),
            );}
        });
        if (!isAsync) {
          tf.tidy(() => {
            const eager = leaves(
              call(rearrange, wrap(inputs, arrays.map((a) => tf.tensor(a as Any))), tout),
            );
            assertEquals(eager.map(view), direct);
          });
        }
      }
    }),
    { numRuns: 60, seed: 11 },
  );
});

function arrayOf([dtype, shape, data]: Any): Any {
  const out = tf.NdArray.zeros(dtype, shape);
  data.forEach((v: Any, i: number) => (out.data as Any)[i] = v);
  return out.data;
}

testOnDevices("declared shapes that do not fit are errors wherever the op runs", async () => {
  const shape = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 });
  const partial = fc.array(fc.option(fc.integer({ min: 0, max: 3 }), { nil: null }), {
    maxLength: 3,
  });
  await fc.assert(
    fc.asyncProperty(shape, partial, fc.boolean(), async (actual, wanted, isTensor) => {
      const fits = actual.length === wanted.length &&
        wanted.every((d, i) => d === null || d === actual[i]);
      const value = tf.NdArray.zeros("float32", actual);
      const tout = tf.TensorSpec(wanted, "float32");
      const build = () =>
        isTensor
          ? tf.pyFunction(() => tf.tensor(value as Any), [], tout)
          : tf.numpyFunction(() => value, [], tout);
      const eager = outcome(() => tf.tidy(() => build().shape));
      await using g = open(build);
      const graph = await g.sess.run(g.parts).then(
        (v) => (v instanceof tf.NdArray ? [...v.shape] : []),
        (e) => e.name,
      );
      assertEquals(
        [eager, graph],
        fits ? [actual, actual] : ["InvalidArgumentError", "InvalidArgumentError"],
      );
    }),
    { numRuns: 100, seed: 12 },
  );
});

function outcome(fn: () => unknown): unknown {
  try {
    return fn();
  } catch (e) {
    return (e as Error).name;
  }
}
