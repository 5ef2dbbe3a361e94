/** Runs graphs that TensorFlow recorded (`recorder.py`) and compares what comes out. */
import * as tf from "@weft/weft";
import "../../../src/tensorflow/mod.ts";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

interface Value {
  readonly dtype: tf.DType;
  readonly shape: readonly number[];
  readonly data: readonly (number | string | boolean)[];
}

/** A graph, what was fed, and what each run gave; or the class of the error. */
export interface Recorded {
  readonly name: string;
  readonly graph: tf.GraphDefJson;
  readonly fed: readonly Value[];
  readonly runs: readonly (readonly string[])[];
  readonly values?: readonly (readonly (Value | null)[])[];
  readonly error?: string;
  /** Inputs whose gradients were asked for. */
  readonly grad?: readonly number[];
  readonly slopes?: readonly Value[];
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function arrayOf({ dtype, shape, data }: Value): tf.NdArray {
  if (dtype === "string") return new tf.NdArray(dtype, shape, data.map((v) => bytes(String(v))));
  const out = tf.NdArray.zeros(dtype, shape), target = out.data as { [i: number]: unknown };
  const wide = target[0] !== undefined && typeof target[0] === "bigint";
  data.forEach((v, i) => target[i] = wide ? BigInt(v) : Number(v));
  return out;
}

/** Fails unless arrays have one dtype, shape and contents, floats within 4 digits. */
function assertValue(got: unknown, wanted: Value | null, name: string): void {
  if (wanted === null) return;
  const have = got instanceof tf.NdArray
    ? { dtype: got.dtype, shape: got.shape, list: Array.from(got.data as ArrayLike<unknown>) }
    : { dtype: wanted.dtype, shape: [], list: [got] };
  assertEquals([have.dtype, [...have.shape]], [wanted.dtype, [...wanted.shape]], name);
  const want = Array.from(arrayOf(wanted).data as ArrayLike<unknown>);
  const plain = (v: unknown) => typeof v === "string" ? bytes(v) : typeof v === "boolean" ? +v : v;
  have.list.map(plain).forEach((v, i) => {
    const w = want[i];
    if (typeof v !== "number" || typeof w !== "number") return assertEquals(v, w, name);
    const isNear = Object.is(v, w) || v === w || Math.abs(v - w) <= 1e-4 * Math.max(1, Math.abs(w));
    assert(isNear, `${name}: element ${i} is ${v}, wanted ${w}`);
  });
}

/** Imports a recorded graph, runs it as TensorFlow did and compares; gradients are asked of the imported graph. */
export async function replay({ graph: def, fed, ...rest }: Recorded): Promise<void> {
  const { name, runs, values, grad = [], slopes = [] } = rest;
  const graph = new tf.Graph();
  const { inputs, fetched, found } = graph.asDefault(() => {
    const names = [...fed.map((_, i) => `in${i}:0`), ...new Set(runs.flat())];
    const all = tf.importGraphDef(def, { prefix: "", returnElements: names });
    const inputs = all.slice(0, fed.length) as tf.Tensor[];
    const byName = new Map(names.map((n, i) => [n, all[i]]));
    const fetched = runs.map((run) => run.map((n) => byName.get(n)!));
    const tops = fetched[0].filter((t): t is tf.Tensor =>
      t instanceof tf.Tensor && t.dtype.startsWith("float")
    );
    const found = grad.length === 0 ? [] : tf.gradients(tops, grad.map((i) => inputs[i]));
    return { inputs, fetched, found };
  });
  await using session = new tf.Session({ graph });
  const feeds = new Map(inputs.map((x, i) => [x, arrayOf(fed[i])]));
  for (const [k, run] of fetched.entries()) {
    const got = await session.run(run as tf.Tensor[], { feeds }) as unknown as unknown[];
    values?.[k].forEach((wanted, i) => assertValue(got[i], wanted, `${name}: ${runs[k][i]}`));
  }
  if (grad.length === 0) return;
  const got = await session.run(found as tf.Tensor[], { feeds }) as unknown as unknown[];
  slopes.forEach((wanted, i) => assertValue(got[i], wanted, `${name}: slope of input ${grad[i]}`));
}

/** The recorded graphs of a subject. */
export function recorded(subject: string): Recorded[] {
  return JSON.parse(Deno.readTextFileSync(new URL(`fixtures/${subject}.json`, import.meta.url)));
}

/** One test on each device for the graphs of a subject. */
export function testRecorded(subject: string, what: string): void {
  testOnDevices(what, async () => {
    const failures: string[] = [];
    for (const one of recorded(subject)) {
      const failed = await replay(one).then(() => null, (e: Error) => e);
      if (failed?.constructor.name === one.error) continue;
      if (failed === null && one.error === undefined) continue;
      failures.push(
        `${one.name}: ${failed === null ? "no error" : failed}, wanted ${one.error ?? "none"}`,
      );
    }
    assertEquals(failures.join("\n"), "");
  });
}
