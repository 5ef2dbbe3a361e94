/** Many strings at once: hashes of all lengths beside TensorFlow 2.21's, letters, parts and patterns, tables of many keys. */
import * as tf from "@weft/weft";
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import { remainderBy } from "../../../src/engine/kernels/host/text/words.ts";
import hashes from "./hashes.json" with { type: "json" };

const { strings, lookup } = tf;
const MOST = 2 ** 31 - 1;

const TEXTS = hashes.lengths.map((n) =>
  Uint8Array.from({ length: n }, (_, i) => (i * 37 + n * 11 + (i * i) % 7) % 256)
);
const bytes = (texts: Uint8Array[]): tf.Tensor =>
  tf.tensor(new tf.NdArray("string", [texts.length], texts));
const spec = [new tf.TensorSpec([null], "string")];

/** Results of a function of strings, at once and compiled for lengths that are not known. */
function both(f: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor): unknown[] {
  const compiled = tf.function(f, { inputSignature: spec });
  return [f(x), compiled(x) as tf.Tensor].map((y) => y.arraySync());
}

testOnDevices("hashes of strings of all lengths are TensorFlow's", () => {
  using _s = tf.scope();
  const x = bytes(TEXTS);
  const cases: [(x: tf.Tensor) => tf.Tensor, number[]][] = [
    [(x) => strings.toHashBucketFast(x, 1000), hashes.fast],
    [(x) => strings.toHashBucketFast(x, MOST), hashes.fastMost],
    [(x) => strings.toHashBucketStrong(x, MOST, [133, -137]), hashes.strong],
    [(x) => strings.toHashBucket(x, MOST), hashes.first],
    [(x) => strings.toHashBucketFast(x, 1), hashes.fast.map(() => 0)],
  ];
  for (const [f, wanted] of cases) for (const found of both(f, x)) assertEquals(found, wanted);
  const prints = tf.fingerprint(x).arraySync() as number[][];
  assertEquals(prints.map((row) => Uint8Array.from(row).toHex()), hashes.fingerprints);
});

Deno.test("remainders of hashes are right for any number of buckets", () => {
  const ends = [0, 1, -1, 0x1234567, -(2 ** 31)];
  for (const buckets of [1, 3, 65_537, 2 ** 32, 2 ** 36 - 1, 2 ** 36, 2 ** 36 + 1, 2 ** 53 - 1]) {
    const remainder = remainderBy(buckets);
    for (const [low, high] of ends.flatMap((low) => ends.map((high) => [low, high]))) {
      const whole = BigInt.asUintN(64, BigInt(high) << 32n | BigInt(low >>> 0));
      assertEquals(BigInt(remainder(low, high)), whole % BigInt(buckets));
    }
  }
});

const letters = (k: number): string => `${"aBcÄ"[k % 4]}x${"Yz"[k % 2]}${k}`;

testOnDevices("letters of many strings change, and those of others do not", () => {
  using _s = tf.scope();
  const words = Array.from({ length: 5000 }, (_, k) => letters(k)), x = tf.tensor(words);
  const ascii = (by: (s: string) => string) => (s: string) => s.replace(/[a-zA-Z]/g, by);
  const lower = words.map(ascii((s) => s.toLowerCase()));
  const upper = words.map(ascii((s) => s.toUpperCase()));
  for (const found of both((x) => strings.lower(x), x)) assertEquals(found, lower);
  for (const found of both((x) => strings.upper(x), x)) assertEquals(found, upper);
  assertEquals(strings.lower(x, "utf-8").arraySync(), words.map((s) => s.toLowerCase()));
  assertEquals(x.arraySync(), words);
  const joined = strings.join([x, "-", x]).arraySync();
  assertEquals(joined, words.map((s) => `${s}-${s}`));
  assertEquals(strings.strip(tf.tensor([" a ", "b", ""])).arraySync(), ["a", "b", ""]);
  assertEquals(strings.substr(x, 1, 2).shape, [5000]);
  assertEquals(strings.substr(["hello"], -3, 9).arraySync(), ["llo"]);
});

Deno.test("strings that an op leaves as they are take no memory again", () => {
  const x = tf.tensor(["abc", "1 2", "ä"]);
  const own = x.ndarraySync().data as Uint8Array[];
  for (const f of [strings.lower, strings.strip]) {
    const found = f(x).ndarraySync().data as Uint8Array[];
    found.forEach((s, i) => assertStrictEquals(s.buffer, own[i].buffer));
  }
});

testOnDevices("patterns keep bytes that are no text where they find nothing", () => {
  using _s = tf.scope();
  const odd = Uint8Array.of(0xff, 0x61), x = bytes([odd, new TextEncoder().encode("xbb")]);
  const found = strings.regexReplace(x, "b+", "_").ndarraySync().data as Uint8Array[];
  assertEquals(found.map((s) => [...s]), [[0xff, 0x61], [0x78, 0x5f]]);
  const cases: [string, string, string, string][] = [
    ["abab", "(a)(b)?", "[\\2\\1]", "[ba][ba]"],
    ["aXa", "(?P<name>a)", "\\1\\\\", "a\\Xa\\"],
    ["baac", "a*", "x", "xbxcx"],
    ["", "a*", "x", "x"],
    ["abc", "b|(z)", "<\\1\\0>", "a<b>c"],
    ["abc", "b|(z)", "<\\1\\0\\7>", "abc"],
  ];
  for (const [text, pattern, rewrite, wanted] of cases) {
    for (
      const got of both((x) => strings.regexReplace(x, pattern, rewrite), tf.tensor([text, text]))
    ) {
      assertEquals(got, [wanted, wanted]);
    }
  }
});

testOnDevices("splitting many strings gives each part its row and column", () => {
  using _s = tf.scope();
  const rows = Array.from(
    { length: 300 },
    (_, r) => Array.from({ length: r % 5 }, (_, k) => `${r}w${k}`),
  );
  const parts = (sep: string) => tf.tensor(rows.map((row) => row.join(sep || " ")));
  assertEquals((strings.split(parts("")) as tf.RaggedTensor).toList(), rows);
  const empty = rows.map((row) => row.length === 0 ? [""] : row);
  assertEquals((strings.split(parts("--"), "--") as tf.RaggedTensor).toList(), empty);
  const few = strings.split(tf.tensor([" a b  c ", "d"]), "", 1) as tf.RaggedTensor;
  assertEquals(few.toList(), [["a", "b  c "], ["d", ""]]);
});

testOnDevices("integers of 64 bits become those of 32 by their lower halves", () => {
  const x = tf.tensor([2n ** 40n + 5n, -(2n ** 40n) - 5n, -1n, 2n ** 31n], [4], "int64");
  assertEquals(tf.cast(x, "int32").arraySync(), [5, -5, -1, -(2 ** 31)]);
  assertEquals(tf.cast(x, "uint32").arraySync(), [5, 2 ** 32 - 5, 2 ** 32 - 1, 2 ** 31]);
  const f = tf.function((x) => tf.cast(x, "int32"), {
    inputSignature: [new tf.TensorSpec([null], "int64")],
  });
  assertEquals((f(x) as tf.Tensor).arraySync(), [5, -5, -1, -(2 ** 31)]);
});

testOnDevices("tables of many keys find each of them, and nothing else", () => {
  using _s = tf.scope();
  const count = 3000, words = Array.from({ length: count }, (_, k) => letters(k));
  // Keys that differ in one half alone.
  const whole = Array.from({ length: count }, (_, k) => BigInt(k % 7) * 2n ** 32n - BigInt(k >> 1));
  const keys: [tf.Tensor, tf.Tensor][] = [
    [tf.tensor(words), tf.tensor(["", "ax", "aBc", "ÄxY"])],
    [
      tf.tensor(whole, [count], "int64"),
      tf.tensor([1n, -(2n ** 63n), 2n ** 62n, 5n], [4], "int64"),
    ],
    [tf.range(0, count, 1, "int32"), tf.tensor([-1, count, 2 ** 30, -5], [4], "int32")],
  ];
  for (const [own, others] of keys) {
    const numbers = tf.range(0, count, 1, "int32");
    const table = new lookup.MutableHashTable(own.dtype, "int32", -7);
    table.insert(own, numbers);
    const size = new Set(own.arraySync() as unknown[]).size;
    assertEquals(table.size().arraySync(), BigInt(size));
    // The last value of a key that comes twice counts.
    const last = new Map((own.arraySync() as unknown[]).map((key, k) => [key, k]));
    const wanted = (own.arraySync() as unknown[]).map((key) => last.get(key)!);
    const find = tf.function((x) => table.lookup(x), {
      inputSignature: [new tf.TensorSpec([null], own.dtype)],
    });
    assertEquals(table.lookup(own).arraySync(), wanted);
    assertEquals((find(own) as tf.Tensor).arraySync(), wanted);
    assertEquals((find(others) as tf.Tensor).arraySync(), [-7, -7, -7, -7]);
  }
});

testOnDevices("keys that come one by one keep their order when others go", () => {
  using _s = tf.scope();
  for (const valueDtype of ["int64", "string", "float16", "bool"] as const) {
    const table = new lookup.MutableHashTable(
      "string",
      valueDtype,
      tf.cast(0, "int64").dtype === valueDtype
        ? 0n
        : valueDtype === "string"
        ? ""
        : valueDtype === "bool"
        ? false
        : 0,
    );
    const value = (k: number): tf.Tensor =>
      valueDtype === "string"
        ? tf.tensor([`v${k}`])
        : tf.cast(tf.tensor([k % 2], [1], "int32"), valueDtype);
    for (let k = 0; k < 40; k++) table.insert([`k${k}`], value(k));
    table.insert(["k3"], value(4));
    table.remove([...Array.from({ length: 20 }, (_, k) => `k${2 * k}`), "none"]);
    table.insert(["k0"], value(1));
    const [keys, values] = table.export();
    const wanted = [...Array.from({ length: 20 }, (_, k) => 2 * k + 1), 0];
    assertEquals(keys.arraySync(), wanted.map((k) => `k${k}`));
    const own = (k: number): unknown =>
      (value(k === 3 ? 4 : k === 0 ? 1 : k).arraySync() as unknown[])[0];
    assertEquals(values.arraySync(), wanted.map(own) as tf.Nested);
  }
  const [a, b] = [new lookup.KeyValueTensorInitializer(["a", "a"], [1, 1]), ["a", "a"]];
  assertEquals(new lookup.StaticHashTable(a, 0).size().arraySync(), 1n);
  assertThrows(
    () => new lookup.StaticHashTable(new lookup.KeyValueTensorInitializer(b, [1, 2]), 0),
    tf.errors.InvalidArgumentError,
    "different value for same key. Key a",
  );
});
