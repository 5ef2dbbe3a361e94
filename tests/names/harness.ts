// Tables of functions beside TensorFlow: each runs eagerly, compiled with known and with unknown shapes, in a session and, where it takes
// dense tensors alone, by vmap; its gradients run eagerly and compiled. The recordings are those of recorder.py
// and jax_recorder.py.

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { testRowOnDevices } from "../devices.ts";
import { plain } from "../composites/values.ts";

/** An input as it is recorded. */
export interface Input {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly values: readonly unknown[];
}

/** Inputs, results and gradients of TensorFlow. */
export interface Recorded {
  readonly inputs: readonly Input[];
  readonly result: unknown;
  readonly gradients?: readonly unknown[];
}

/** A row of a table. */
export interface Row {
  readonly body: (...x: tf.Tensor[]) => unknown;
  /** Greatest difference, relative to numbers beyond 1. Default 1e-5. */
  readonly epsilon?: number;
  /** The same of gradients. Default ten times that. */
  readonly slopes?: number;
  /** False: not by vmap. Default: where results are tensors. */
  readonly rows?: boolean;
  /** False: shapes must be known. Default true. */
  readonly unknown?: boolean;
  /** Further dtypes of floating inputs that the result keeps. Default float64 and float16. */
  readonly dtypes?: readonly tf.DType[];
}

const MOST: Readonly<Record<string, number>> = { float64: 0.1, float32: 1, float16: 2000 };

/** Compares nests of numbers nearly, and all else exactly. */
export function assertNear(
  actual: unknown,
  expected: unknown,
  epsilon: number,
  path: string,
): void {
  if (Array.isArray(expected)) {
    assert(Array.isArray(actual), `${path}: ${actual}`);
    assertEquals(actual.length, expected.length, path);
    expected.forEach((v, i) => assertNear(actual[i], v, epsilon, `${path}[${i}]`));
  } else if (typeof expected === "number") {
    const near = Math.abs(Number(actual) - expected) <= epsilon * Math.max(1, Math.abs(expected));
    assert(near, `${path}: ${actual} for ${expected}`);
  } else if (typeof expected === "string" && typeof actual === "number") {
    assertEquals(String(actual).toLowerCase().slice(0, 3), expected.slice(0, 3), path);
  } else if (typeof expected === "object" && expected !== null) {
    for (const [key, v] of Object.entries(expected)) {
      assertNear((actual as Record<string, unknown>)[key], v, epsilon, `${path}.${key}`);
    }
  } else assertEquals(actual, expected, path);
}

/** Values that JSON has no number for, as they are recorded. */
const NO_NUMBERS: Readonly<Record<string, number>> = {
  nan: NaN,
  inf: Infinity,
  "-inf": -Infinity,
};

function made({ dtype, shape, values }: Input, as = dtype): tf.Tensor {
  const own = dtype.startsWith("complex")
    ? tf.complex(
      tf.tensor((values as number[][]).map(([re]) => re), shape as number[]),
      tf.tensor((values as number[][]).map(([, im]) => im), shape as number[]),
    )
    : tf.tensor(
      dtype.endsWith("int64")
        ? values.map((v) => BigInt(v as number)) as never
        : values.map((v) => NO_NUMBERS[v as string] ?? v) as number[],
      shape as number[],
      dtype as tf.DType,
    );
  return as === dtype ? own : tf.cast(own, as as tf.DType);
}

/** Writes a result as the recorder does: objects are lists of their values, complex numbers pairs. */
function parts(value: unknown): unknown {
  if (value instanceof tf.Tensor && !(value instanceof tf.RaggedTensor)) {
    return value.dtype === "complex64" ? tf.stack([tf.real(value), tf.imag(value)], -1) : value;
  }
  if (Array.isArray(value)) return value.map(parts);
  if (typeof value !== "object" || value === null || isComposite(value)) return value;
  return Object.values(value).filter((v) => v !== null).map(parts);
}

const isComposite = (value: unknown): boolean =>
  value instanceof tf.SparseTensor || value instanceof tf.RaggedTensor;

const firstOf = (value: unknown): tf.Tensor => [value].flat(2)[0] as tf.Tensor;

/** The sum of the first result times 1, 2, 3 ..., as the recorder has it. */
function loss(value: unknown): tf.Tensor {
  const first = typeof value === "object" && !(value instanceof tf.Tensor) && !Array.isArray(value)
    ? firstOf(Object.values(value!))
    : firstOf(value);
  const numbers = tf.range(1, tf.add(tf.size(first), 1), 1, "int32");
  return tf.sum(tf.mul(first, tf.reshape(tf.cast(numbers, first.dtype), tf.shape(first))));
}

/** Registers the tests of a table, which has a row for each name that was recorded of `peer`. */
export function testTable(
  title: string,
  recorded: Readonly<Record<string, Recorded>>,
  rows: Readonly<Record<string, Row | Row["body"]>>,
  peer = "TensorFlow",
): void {
  Deno.test(`the table of ${title} has what is recorded`, () => {
    assertEquals(Object.keys(rows).sort(), Object.keys(recorded).sort());
  });
  for (const [name, given] of Object.entries(rows)) {
    const row: Row = typeof given === "function" ? { body: given } : given;
    testRowOnDevices(`${title}.${name}, beside ${peer}`, () => check(row, recorded[name]));
  }
}

async function check(row: Row, { inputs, result, gradients }: Recorded): Promise<void> {
  using _s = tf.scope();
  const { body, epsilon = 1e-5, slopes = 10 * epsilon } = row;
  const run = (...x: tf.Tensor[]): unknown => parts(body(...x));
  const x = inputs.map((input) => made(input)), eager = run(...x);
  assertNear(await plain(eager), result, epsilon, "eager");
  const compiled = tf.function(run);
  assertNear(await plain(compiled(...x)), result, epsilon, "compiled");
  const specs = x.map((t) => new tf.TensorSpec(t.shape.map(() => null), t.dtype));
  if (row.unknown !== false && x.length > 0) {
    const open = tf.function(run, { inputSignature: specs });
    assertNear(await plain(open(...x)), result, epsilon, "unknown extents");
  }
  const graph = new tf.Graph(), session = new tf.Session({ graph });
  const fetched = graph.asDefault(() => run(...inputs.map((input) => made(input))));
  const list = Array.isArray(fetched) ? fetched : [fetched];
  const own = (await session.run(list as tf.Tensor[]) as unknown[]).map(read);
  assertNear(own, Array.isArray(fetched) ? result : [result], epsilon, "session");
  session.close();
  if (row.rows !== false && x.length > 0 && isDense(eager)) {
    const rows = tf.vmap(run as (...x: tf.Tensor[]) => tf.Tensor | tf.Tensor[]);
    const twice = rows(...x.map((t) => tf.stack([t, t])));
    const halves = [twice].flat().map((t) => tf.unstack(t as tf.Tensor)[1]);
    const wanted = Array.isArray(eager) ? result : [result];
    assertNear(await plain(halves), wanted, epsilon, "rows");
  }
  if (gradients !== undefined) await checkGradients(row, x, gradients, slopes);
  await checkDTypes(row, inputs, { result, epsilon });
}

const isDense = (value: unknown): boolean =>
  [value].flat().every((v) => v instanceof tf.Tensor && !isComposite(v) && v.dtype !== "string");

async function checkGradients(
  row: Row,
  x: readonly tf.Tensor[],
  gradients: readonly unknown[],
  slopes: number,
): Promise<void> {
  for (const [i, wanted] of gradients.entries()) {
    if (wanted === null) continue;
    const slope = tf.grad((v: tf.Tensor) => loss(row.body(...x.toSpliced(i, 1, v))));
    const read = async (g: unknown): Promise<unknown> =>
      await plain(parts(tf.add(g as tf.Tensor, 0)));
    assertNear(await read(slope(x[i])), wanted, slopes, `gradient ${i}`);
    assertNear(await read(tf.function(slope)(x[i])), wanted, slopes, `compiled gradient ${i}`);
  }
}

/** Runs floats of other dtypes: the result has the dtype of the inputs, and nearly the same numbers. */
async function checkDTypes(
  { body, dtypes = ["float64", "float16"] }: Row,
  inputs: readonly Input[],
  { result, epsilon }: { readonly result: unknown; readonly epsilon: number },
): Promise<void> {
  if (!inputs.some(({ dtype }) => dtype === "float32")) return;
  for (const dtype of dtypes) {
    const x = inputs.map((input) => made(input, input.dtype === "float32" ? dtype : input.dtype));
    const y = parts(body(...x));
    const floats = [y].flat().filter((v) => v instanceof tf.Tensor && v.dtype.startsWith("float"));
    assertEquals(floats.map((t) => (t as tf.Tensor).dtype), floats.map(() => dtype));
    assertNear(await plain(y), result, Math.max(epsilon * MOST[dtype], 1e-6), dtype);
  }
}

/** A value as a session gives it. */
function read(value: unknown): unknown {
  if (value instanceof tf.NdArray) return listed(value.toArray());
  if (value instanceof tf.RaggedArray) return listed(value.toList());
  if (!(value instanceof tf.SparseArray)) return listed(value);
  const [indices, values, denseShape] = [value.indices, value.values, value.denseShape].map(read);
  return { indices, values, denseShape };
}

/** A nest whose strings are texts and whose arrays are lists. */
function listed(value: unknown): unknown {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (Array.isArray(value)) return value.map(listed);
  return value;
}
