/** Hostile files are refused by name, and cost no more than what they hold. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  crc32,
  entry,
  header,
  HOSTILE_NPY,
  HOSTILE_SAFETENSORS,
  hostileNpz,
  npy,
  safetensors,
  utf8,
  zip,
} from "./files.ts";

for (const [name, bytes, kind, phrase] of HOSTILE_NPY) {
  Deno.test(`readNpy() refuses ${name}`, () => {
    assertThrows(() => tf.io.readNpy(bytes), kind, phrase);
  });
}
for (const [name, bytes, kind, phrase] of HOSTILE_SAFETENSORS) {
  Deno.test(`readSafetensors() refuses ${name}`, () => {
    assertThrows(() => tf.io.readSafetensors(bytes), kind, phrase);
  });
}
Deno.test("readNpz() refuses hostile files", async (t) => {
  for (const [name, bytes, kind, phrase] of await hostileNpz()) {
    await t.step(name, async () => {
      await assertRejects(() => tf.io.readNpz(bytes), kind, phrase);
    });
  }
});

Deno.test("readNpz() inflates no more of an entry than it announces", async () => {
  const Real = DecompressionStream;
  let inflated = 0;
  class Counting extends Real {
    constructor(format: CompressionFormat) {
      super(format);
      const count = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          inflated += chunk.length;
          controller.enqueue(chunk);
        },
      });
      Object.defineProperty(this, "readable", { value: super.readable.pipeThrough(count) });
    }
  }
  const data = new Uint8Array(100_000_000);
  const bytes = await zip([{ name: "a.npy", data, deflated: true, size: 100, crc: 0 }]);
  globalThis.DecompressionStream = Counting;
  try {
    await assertRejects(() => tf.io.readNpz(bytes), tf.errors.DataLossError, "100 bytes wanted");
  } finally {
    globalThis.DecompressionStream = Real;
  }
  // A portion of 16 KiB gives at most 17 MB, and the streams between hold one or two ready.
  assert(inflated > 0 && inflated < 3 * 1032 * (1 << 14), `${inflated} bytes were inflated`);
  console.log(inflated);
});

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "a/../b", "ü 😀", ""];

Deno.test("arrays may have any name, __proto__ as well, in npz and safetensors files", async () => {
  const arrays = Object.fromEntries(NAMES.map((name, i) => [name, tf.scalar(i)]));
  const npz = await tf.io.readNpz(await tf.io.writeNpz(arrays));
  const { tensors, metadata } = tf.io.readSafetensors(
    await tf.io.writeSafetensors(arrays, { ["__proto__"]: "text" }),
  );
  for (const read of [npz, tensors]) {
    assertEquals(Object.keys(read).sort(), [...NAMES].sort());
    assert(Object.getPrototypeOf(read) === Object.prototype);
    NAMES.forEach((name, i) => {
      assertEquals(Object.getOwnPropertyDescriptor(read, name)?.value.item(), i, name);
    });
  }
  assertEquals(Object.entries(metadata), [["__proto__", "text"]]);
  tf.dispose(Object.values(arrays));
});

Deno.test("variables may have any name, __proto__ as well, in nests and in files", async () => {
  const before = tf.memory().numTensors;
  const variables = Object.fromEntries(NAMES.map((name, i) => [name, tf.variable(i)]));
  const all = Object.values(variables);
  for (const format of ["npz", "safetensors"] as const) {
    const bytes = await tf.io.serializeVariables(variables, format);
    for (const v of all) v.assign(-1);
    await tf.io.restoreVariables(variables, bytes);
    assertEquals(all.map((v) => v.item()), [...all.keys()], format);
  }
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() =>
    Object.fromEntries(NAMES.map((name, i) => [name, tf.add(tf.constant(i), 1)]))
  );
  const values = await new tf.Session({ graph }).run(fetches) as Record<string, number>;
  assertEquals(Object.keys(values).sort(), [...NAMES].sort());
  NAMES.forEach((name, i) =>
    assertEquals(Object.entries(values).find(([k]) => k === name)?.[1], i + 1)
  );
  tf.dispose(all);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("two weights that would have one name in a file are refused", async () => {
  using w = tf.variable([1, 2]), other = tf.variable([3]);
  using optimizer = tf.train.adam(0.1);
  optimizer.minimize(() => tf.sum(tf.square(w)));
  for (const format of ["safetensors", "npz"] as const) {
    await assertRejects(
      () => tf.io.serializeVariables({ w, optimizer, "optimizer/w/m": other }, format),
      tf.ValueError,
      'Cannot save variables: two of them are called "optimizer/w/m"',
    );
    await assertRejects(
      () => tf.io.serializeVariables({ a: { b: w }, "a/b": other }, format),
      tf.ValueError,
      'two of them are called "a/b"',
    );
  }
});

Deno.test("readNpz() reads 64-bit sizes and directories, as large files have them", async () => {
  const data = npy(header("|u1", "(4,)"), [1, 2, 3, 4]);
  for (const deflated of [false, true]) {
    const entries = ["a", "b"].map((name) => ({ name: `${name}.npy`, data, deflated, wide: true }));
    const { a, b } = await tf.io.readNpz(await zip(entries, { wide: true }));
    assertEquals([a.toArray(), b.toArray()], [[1, 2, 3, 4], [1, 2, 3, 4]]);
  }
});

/** Reads a zip file from its beginning by the local headers alone, as programs do that read from a pipe. */
function readLocal(bytes: Uint8Array): { entries: Map<string, Uint8Array>; end: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const entries = new Map<string, Uint8Array>();
  let at = 0;
  while (view.getUint32(at, true) === 0x04034b50) {
    const [version, flags, method, time, date] = [4, 6, 8, 10, 12].map((k) =>
      view.getUint16(at + k, true)
    );
    // Stored, names in UTF-8, the first date there is: the first of January 1980.
    assertEquals([version, flags, method, time, date], [20, 0x800, 0, 0, 0x21]);
    const [crc, packed, size] = [14, 18, 22].map((k) => view.getUint32(at + k, true));
    const name = view.getUint16(at + 26, true), extra = view.getUint16(at + 28, true);
    const start = at + 30 + name + extra;
    const data = bytes.subarray(start, start + packed);
    assertEquals([packed, crc], [size, crc32(data)]);
    entries.set(new TextDecoder().decode(bytes.subarray(at + 30, at + 30 + name)), data);
    at = start + packed;
  }
  return { entries, end: at };
}

Deno.test("writeNpz() writes a zip file that a reader of local headers, or of the directory alone, takes", async () => {
  const bytes = await tf.io.writeNpz({ ü: tf.tensor([1, 2]), "b/c": tf.scalar(3, "int32") });
  const { entries, end } = readLocal(bytes);
  assertEquals([...entries.keys()], ["ü.npy", "b/c.npy"]);
  assertEquals([...entries.values()].map((data) => tf.io.readNpy(data).toArray()), [[1, 2], 3]);
  // The directory begins where the entries end, lists the same, and the end record knows it.
  const view = new DataView(bytes.buffer);
  let at = end, offset = 0;
  for (const [name, data] of entries) {
    const length = new TextEncoder().encode(name).length;
    assertEquals(view.getUint32(at, true), 0x02014b50);
    assertEquals([4, 6, 8, 10, 12, 14].map((k) => view.getUint16(at + k, true)), [
      20,
      20,
      0x800,
      0,
      0,
      0x21,
    ]);
    assertEquals([16, 20, 24, 42].map((k) => view.getUint32(at + k, true)), [
      crc32(data),
      data.length,
      data.length,
      offset,
    ]);
    assertEquals([28, 30, 32, 34, 36].map((k) => view.getUint16(at + k, true)), [
      length,
      0,
      0,
      0,
      0,
    ]);
    at += 46 + length;
    offset += 30 + length + data.length;
  }
  assertEquals(view.getUint32(at, true), 0x06054b50);
  assertEquals([4, 6, 8, 10, 20].map((k) => view.getUint16(at + k, true)), [0, 0, 2, 2, 0]);
  assertEquals([12, 16].map((k) => view.getUint32(at + k, true)), [at - end, end]);
  assertEquals(bytes.length, at + 22);
});

Deno.test("bytes that are neither 0 nor 1 are read as true", () => {
  const of = (a: tf.NdArray): number[] => [...a.data as Uint8Array];
  assertEquals(of(tf.io.readNpy(npy(header("|b1", "(3,)"), [0, 1, 255]))), [0, 1, 1]);
  const { tensors } = tf.io.readSafetensors(safetensors({ a: entry("BOOL", [2], 0, 2) }, [7, 0]));
  assertEquals(of(tensors.a), [1, 0]);
});

Deno.test("writeNpy() writes very many strings, and refuses those that would not fit", async () => {
  const many = new tf.NdArray("string", [200_000], new Array(200_000).fill(utf8("ab")));
  assertEquals(tf.io.readNpy(await tf.io.writeNpy(many)).size, 200_000);
  const strings = new Array<Uint8Array>(1 << 20).fill(utf8(""));
  strings[0] = new Uint8Array(1 << 24).fill(65);
  const wide = new tf.NdArray("string", [1 << 20], strings);
  await assertRejects(() => tf.io.writeNpy(wide), tf.errors.ResourceExhaustedError, "OOM");
});
