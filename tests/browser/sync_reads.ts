/** Synchronous reads of GPU memory where only canvases can do that: for pages and their workers. */

import * as tf from "@weft/weft";
import { stub } from "@std/testing/mock";
import { CanvasReadback } from "../../src/engine/devices/webgpu/canvas_readback.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";

/** The results. */
export interface SyncReads {
  /** The values read, by kind; "equal" for expected ones of any size. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Messages on the console. */
  readonly hints: readonly string[];
}

/** Words of every byte in every place, no two alike. */
function words(n: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: n }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
}

function compare(actual: ArrayBufferView, wanted: Uint32Array): string {
  const bits = new Uint32Array(actual.buffer, actual.byteOffset, actual.byteLength / 4);
  if (bits.length !== wanted.length) return `${bits.length} words, not ${wanted.length}`;
  const at = bits.findIndex((word, i) => word !== wanted[i]);
  return at < 0 ? "equal" : `${bits[at].toString(16)} at ${at}, not ${wanted[at].toString(16)}`;
}

/** Readbacks while `fn` runs. */
async function readbacksOf(fn: () => unknown): Promise<number> {
  const { counters } = gpuDevice()!, before = counters.readbacks;
  await fn();
  return counters.readbacks - before;
}

/** Returns the error of a read on a lost device before the loss was reported. */
async function readOfLostDevice(): Promise<string> {
  const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
  const buffer = device.createBuffer({ size: 64, usage: GPUBufferUsage.COPY_SRC });
  const reader = CanvasReadback.of(device)!;
  reader.read(buffer, 64);
  device.destroy();
  try {
    return `${new Uint32Array(reader.read(buffer, 64))}`;
  } catch (error) {
    return (error as Error).name;
  }
}

/** Calls of a body whose helper reads, and warnings, where the GPU can only be awaited. */
async function helperReads(): Promise<number[]> {
  using warn = stub(console, "warn");
  let calls = 0;
  const valueOf = (t: tf.Tensor): number => t.item();
  const body = (t: tf.Tensor): tf.Tensor => {
    calls++;
    return valueOf(tf.sum(tf.square(t))) > 1 ? tf.mul(t, 2) : t;
  };
  const f = tf.function((x: tf.Tensor) =>
    tf.pyFunction(body, [tf.mul(x, 2)], tf.TensorSpec([2], "float32"))
  );
  const numbers: number[] = [];
  for (let k = 0; k < 2; k++) {
    using x = tf.tensor([1, k]), y = await f.async(x);
    numbers.push(...await y.data() as Float32Array, calls);
  }
  return [...numbers, warn.calls.length];
}

/** Words that are read: pixels of less than a row, of many, of one canvas and a little of the next. */
export const WORDS: readonly number[] = [1, 3, 1024, 1025, 1e6 + 1, 2 ** 22 + 5];
/** Words of five canvases, which a software adapter takes half a minute for. */
export const MANY_WORDS: number = 2 ** 24 + 7;

/** Reads tensors of every kind, and of the given numbers of words. */
export async function syncReads(counts: readonly number[]): Promise<SyncReads> {
  const { warn } = console;
  const hints: string[] = [], values: Record<string, unknown> = {};
  if (!await tf.setBackend("webgpu")) throw new Error("There is no GPU");
  values.helper = await helperReads();
  console.warn = (text) => void hints.push(String(text));
  CanvasReadback.trustsSoftware = true;
  using _ = tf.scope();
  try {
    for (const n of counts) {
      const wanted = words(n), more = words(Math.max(n, 100));
      const x = tf.slice(tf.tensor(more, [more.length], "uint32"), [0], [n]);
      values[`${n} words`] = compare(x.dataSync() as unknown as Uint32Array, wanted);
    }
    const special = words(100);
    special.set([0x7fa00001, 0xffc12345, 0x7f800000, 0x80000000, 1, 0x00ffffff, 0xff000000]);
    const floats = tf.tensor(new Float32Array(special.buffer), [100], "float32");
    values.floats = compare(floats.dataSync(), special);
    values.view = compare(floats.reshape([4, 25]).ndarraySync().data as Float32Array, special);
    const x = tf.range(-2, 3);
    values.float32 = tf.mul(x, 0.5).arraySync();
    values.int32 = tf.neg(tf.cast(x, "int32")).arraySync();
    values.bool = tf.greater(x, 0).arraySync();
    const many = tf.range(0, 100003, 1, "int32");
    const found = tf.equal(tf.mod(many, 3), 1).dataSync() as Uint8Array;
    values.bools = found.length === 100003 && found.every((v, i) => v === Number(i % 3 === 1));
    values.float16 = Array.from(
      tf.cast(tf.mul(x, 0.25), "float16").ndarraySync().toArray() as number[],
    );
    values.complex64 = Array.from(tf.complex(x, tf.neg(x)).dataSync() as Float32Array);
    values.string = tf.tensor(["a", "bc"]).arraySync();
    values.empty = tf.slice(x, [0], [0]).arraySync();
    values.item = tf.sum(tf.square(x)).item();
    values.known = await readbacksOf(() => tf.tensor([3, 4], [2], "int32").dataSync());
    values.awaited = await readbacksOf(() => tf.exp(x).data());

    const twice = (a: tf.NdArray) =>
      new tf.NdArray("float32", a.shape, (a.data as Float32Array).map((v) => 2 * v));
    values.numpy = (tf.numpyFunction(twice, [tf.abs(x)], "float32") as tf.Tensor).arraySync();
    const f = tf.function((v: tf.Tensor) => {
      const [n] = tf.whileLoop((u) => tf.less(tf.sum(u), 100), (u) => [tf.mul(u, 2)], [v]);
      return tf.numpyFunction(twice, [n], "float32") as tf.Tensor;
    });
    values.function = f(tf.abs(x)).arraySync();

    // Nothing in the body's own source shows that it reads.
    const valueOf = (t: tf.Tensor): number => t.item();
    let calls = 0;
    const body = (t: tf.Tensor): tf.Tensor => {
      calls++;
      return valueOf(tf.sum(t)) > 0 ? tf.square(t) : tf.neg(t);
    };
    const g = tf.function((v: tf.Tensor) =>
      tf.pyFunction(body, [tf.add(v, 1)], tf.TensorSpec([5], "float32"))
    );
    values.body = await (await g.async(x)).array();
    values.calls = calls;
    // From now on it is known to read: one batch brings what it needs.
    values.readbacks = await readbacksOf(() => g.async(x));
    values.callsAgain = calls;
    values.lost = await readOfLostDevice();
  } finally {
    CanvasReadback.trustsSoftware = false;
    console.warn = warn;
  }
  return { values, hints };
}
