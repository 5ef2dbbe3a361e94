/** `tf.strings` and `tf.lookup`. `strings.json` holds what TensorFlow 2.21 returns. */

import { assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../../devices.ts";
import wanted from "./strings.json" with { type: "json" };

const { strings, lookup } = tf;

const TEXTS = ["  Hello Wörld ", "abc", "", "ÄÖ x\ty"];
const ROWS = [["a", "b", "c"], ["d"]];

/** Bytes that are no text, among others. */
const INVALID = (): tf.Tensor =>
  tf.tensor(new tf.NdArray("string", [2], [Uint8Array.of(0x61, 0xff, 0x62), Uint8Array.of(0x63)]));

/** Calls by the names in strings.json; `x` makes a tensor, so that the call can be compiled. */
const CALLS: Readonly<Record<keyof typeof wanted, () => tf.Tensor | tf.RaggedTensor>> = {
  "lower": () => strings.lower(TEXTS),
  "lower utf-8": () => strings.lower(TEXTS, "utf-8"),
  "upper": () => strings.upper(TEXTS),
  "upper utf-8": () => strings.upper(TEXTS, "utf-8"),
  "strip": () => strings.strip(TEXTS),
  "length": () => strings.length(TEXTS),
  "length of characters": () => strings.length(TEXTS, "UTF8_CHAR"),
  "substr": () => strings.substr(["hello", "world"], [1, -3], [3, 2]),
  "substr of characters": () => strings.substr(["äöü"], 1, 1, "UTF8_CHAR"),
  "join": () => strings.join([["a", "b"], "x", ["1", "2"]], "-"),
  "reduceJoin": () => strings.reduceJoin([["a", "b"], ["c", "d"]], 0, false, ","),
  "reduceJoin of all": () => strings.reduceJoin([["a", "b"], ["c", "d"]]),
  "regexReplace": () => strings.regexReplace(["a1b22", "x"], "([0-9]+)", "<\\1>"),
  "regexReplace once": () => strings.regexReplace(["a1b2"], "[0-9]", "#", false),
  "regexFullMatch": () => strings.regexFullMatch(["abc", "ab", "xabc"], "a.c"),
  "split": () => strings.split(TEXTS),
  "split at": () => strings.split(["a,b,,c", ""], ","),
  "split once": () => strings.split(["a b c"], "", 1),
  "split scalar": () => strings.split("a b"),
  "split at ASCII's white space alone": () =>
    strings.split(["a\u00a0b c\u3000d\u2028e \x1cf\x0bg", "\u00a0"]),
  "split twice": () => strings.split([" a  b c  d ", "a b ", " a b"], "", 2),
  "split at overlaps": () => strings.split(["aaa", "aXaaXaa"], "aa"),
  "split at often": () => strings.split(["a,b,c,d", ","], ",", 2),
  "toNumber": () => strings.toNumber(["1.5", "-2e3", " 7 "]),
  "toNumber int32": () => strings.toNumber(["15", "-2"], "int32"),
  "asString": () => strings.asString([1.5, -2.25]),
  "asString precision": () => strings.asString([1.5, -2.25], { precision: 1 }),
  "asString int32": () =>
    strings.asString(tf.tensor([7, -3], [2], "int32"), { width: 4, fill: "0" }),
  "asString bool": () => strings.asString([true, false]),
  "toHashBucketFast": () => strings.toHashBucketFast(["a", "b", "wörld", ""], 1000),
  "toHashBucketStrong": () =>
    strings.toHashBucketStrong(["a", "b", "wörld", ""], 1000, [2 ** 40 + 7, -3]),
  "encodeBase64": () => strings.encodeBase64(["hi?>", "a"]),
  "decodeBase64": () => strings.decodeBase64(["aGk_Pg", "YQ"]),
  "unicodeDecode": () => strings.unicodeDecode(["aé", "", "😀"], "UTF-8"),
  "unicodeEncode": () =>
    strings.unicodeEncode(
      tf.ragged.constant([[97, 233], [], [128512]], { dtype: "int32" }),
      "UTF-8",
    ),
  "unicodeSplit": () => strings.unicodeSplit(["aé", "", "日本😀"], "UTF-8"),
  "unicodeSplit scalar": () => strings.unicodeSplit("aé", "UTF-8"),
  "unicodeSplit of invalid bytes": () => strings.unicodeSplit(INVALID(), "UTF-8"),
  "unicodeSplit that ignores": () => strings.unicodeSplit(INVALID(), "UTF-8", { errors: "ignore" }),
  "bytesSplit": () => strings.bytesSplit(["abc", "", "x"]),
  "bytesSplit scalar": () => strings.bytesSplit("abc"),
  "unicodeTranscode": () =>
    strings.encodeBase64(strings.unicodeTranscode(["aé", "", "日"], "UTF-8", "UTF-16-BE")),
  "unicodeTranscode that ignores": () =>
    strings.unicodeTranscode(INVALID(), "UTF-8", "UTF-8", { errors: "ignore" }),
  "unicodeTranscode that replaces": () =>
    strings.unicodeTranscode(INVALID(), "UTF-8", "UTF-8", { replacementChar: 65 }),
  "unicodeTranscode of control characters": () =>
    strings.unicodeTranscode(["a\tb\x01"], "UTF-8", "UTF-8", { replaceControlCharacters: true }),
  "ngrams": () => strings.ngrams(tf.ragged.constant(ROWS), 2),
  "ngrams of two widths": () => strings.ngrams(tf.ragged.constant(ROWS), [1, 2], "_"),
};

Deno.test("functions of characters refuse what they cannot read", () => {
  const { InvalidArgumentError, ValueError } = tf.errors;
  const strict = { errors: "strict" as const };
  assertThrows(() => strings.unicodeSplit(INVALID(), "UTF-8", strict), InvalidArgumentError);
  const again = () => strings.unicodeTranscode(INVALID(), "UTF-8", "UTF-8", strict);
  assertThrows(again, InvalidArgumentError, "Invalid formatting");
  const unknown = () => strings.unicodeTranscode(["a"], "x", "UTF-8");
  assertThrows(unknown, tf.errors.UnimplementedError, '"x"');
  const target = () => strings.unicodeTranscode(["a"], "UTF-8", "UTF-7");
  assertThrows(target, InvalidArgumentError, '"UTF-7"');
  const odd = { errors: "odd" as "strict" };
  for (
    const call of [
      () => strings.unicodeDecode("a", "UTF-8", odd),
      () => strings.unicodeEncode([97], "UTF-8", odd),
      () => strings.unicodeSplit("a", "UTF-8", odd),
      () => strings.unicodeTranscode("a", "UTF-8", "UTF-8", odd),
    ]
  ) assertThrows(call, ValueError, "errors must be strict, replace, ignore, received odd");
});

Deno.test("strings.split() leaves bytes that are no text as they are", () => {
  const bytes = Uint8Array.of(0xff, 0xfe, 0x61, 0x20, 0xc3);
  const x = tf.tensor(new tf.NdArray("string", [1], [bytes]));
  const { values } = strings.split(x) as tf.RaggedTensor;
  const found = (values as tf.Tensor).ndarraySync().data as unknown as Uint8Array[];
  assertEquals(found.map((part) => [...part]), [[0xff, 0xfe, 0x61], [0xc3]]);
});

async function listOf(x: tf.Tensor | tf.RaggedTensor): Promise<unknown> {
  return x instanceof tf.RaggedTensor ? x.toList() : await x.array();
}

/** The plain value of a fetched one, as {@linkcode listOf} has it. */
function fetched(x: unknown): unknown {
  if (x instanceof tf.NdArray) return fetched(x.toArray());
  if (x instanceof tf.RaggedArray) return fetched(x.toList());
  if (Array.isArray(x)) return x.map(fetched);
  return x instanceof Uint8Array ? new TextDecoder().decode(x) : x;
}

testOnDevices(
  "tf.strings are TensorFlow's, eagerly, in functions and in sessions",
  async (_, t) => {
    for (const [name, call] of Object.entries(CALLS)) {
      await t.step(name, async () => {
        const value = wanted[name as keyof typeof wanted];
        const before = tf.memory().numTensors;
        {
          using _scope = tf.scope();
          assertEquals(await listOf(call()), value, "eagerly");
          assertEquals(await listOf(tf.function(call)() as tf.Tensor), value, "in a function");
          const graph = new tf.Graph(), y = graph.asDefault(call) as tf.Tensor;
          await using session = new tf.Session({ graph });
          assertEquals(fetched(await session.run(y)), value, "in a session");
        }
        assertEquals(tf.memory().numTensors, before);
      });
    }
  },
);

testOnDevices(
  "functions of strings take those of a branch, a loop, mapFn and ragged rows",
  async () => {
    using _scope = tf.scope();
    const f = tf.function((x: tf.Tensor, shout: tf.Tensor) => {
      const y = tf.cond(shout, () => strings.upper(x), () => strings.lower(x));
      return strings.join([y, "!"]);
    });
    assertEquals(await f(tf.tensor(["aB"]), tf.scalar(true)).array(), ["AB!"]);
    const rows = tf.mapFn(
      (x: tf.Tensor) => strings.reduceJoin(x, 0, false, "+"),
      tf.tensor([["a", "b"], ["c", "d"]]),
    );
    assertEquals(await rows.array(), ["a+b", "c+d"]);
    assertEquals(strings.upper(tf.ragged.constant(ROWS) as never) instanceof tf.RaggedTensor, true);
  },
);

testOnDevices("tables answer in eager code, functions, graphs and datasets", async () => {
  const words = new lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], { valueDtype: "int32" });
  const table = new lookup.StaticHashTable(words, -1);
  const wanted = [2, -1, 1];
  assertEquals(await table.lookup(["b", "x", "a"]).array(), wanted);
  assertEquals(await table.lookup([["b"], ["x"]]).array(), [[2], [-1]]);
  const f = tf.function((x: tf.Tensor) => tf.add(table.lookup(x), 0));
  assertEquals(await f(tf.tensor(["b", "x", "a"])).array(), wanted);
  const graph = new tf.Graph();
  const y = graph.asDefault(() => table.lookup(tf.placeholder("string", [3], "x")));
  await using session = new tf.Session({ graph });
  for (let i = 0; i < 2; i++) {
    const found = await session.run(y, { feeds: { "x:0": ["b", "x", "a"] } }) as tf.NdArray;
    assertEquals(found.toArray(), wanted);
  }
  const data = tf.data.fromTensorSlices(tf.tensor(["a b", "b q a"]))
    .map((line) => table.lookup(strings.split(line) as tf.Tensor));
  assertEquals(await Array.fromAsync(data.asNumpyIterator(), (x) => x.toArray()), [[1, 2], [
    2,
    -1,
    1,
  ]]);
  assertEquals(await table.size().array(), 2n as never);
});

testOnDevices("tables change by ops in the order of the program", async () => {
  const table = new lookup.MutableHashTable("int64", "float32", 0);
  table.insert([1n, 2n], [1.5, 2]);
  const f = tf.function((keys: tf.Tensor) => {
    const before = table.lookup(keys);
    table.insert(keys, tf.add(before, 1));
    table.remove([2n]);
    return [before, table.lookup(keys)];
  });
  const [before, after] = f(tf.tensor([1n, 2n, 3n], [3], "int64")) as tf.Tensor[];
  assertEquals([await before!.array(), await after!.array()], [[1.5, 2, 0], [2.5, 0, 1]]);
  const [keys, values] = table.export();
  assertEquals([await keys.array(), await values.array()], [[1n, 3n], [2.5, 1]]);
  assertEquals(await table.size().array(), 2n as never);
});

testOnDevices("a vocabulary takes integers of any dtype for its words, and no others", async () => {
  const words = ["a", "b", "c"];
  const of = (values: tf.TensorLike) =>
    new lookup.StaticVocabularyTable(new lookup.KeyValueTensorInitializer(words, values), 1);
  for (const values of [[2, 0, 1], [2n, 0n, 1n], tf.tensor([2, 0, 1], [3], "int32")]) {
    const found = of(values as tf.TensorLike).lookup(["c", "a"]);
    const isWide = typeof (values as unknown[])[0] === "bigint";
    assertEquals([found.dtype, String(await found.array())], [isWide ? "int64" : "int32", "1,2"]);
  }
  assertThrows(() => of([0.5, 1, 2]), TypeError, "wanted integers");
  assertThrows(() => of([2 ** 40, 1, 2]), TypeError, "of 32 bits");
});

testOnDevices("a vocabulary numbers unknown words behind its own", async () => {
  const table = lookup.StaticVocabularyTable.of(["a", "b"], 3);
  const found = await tf.function((x: tf.Tensor) => table.lookup(x))(tf.tensor(["b", "zz", "a"]))
    .array() as number[];
  assertEquals([found[0], found[2], table.size()], [1, 0, 5]);
  assertEquals(found[1]! >= 2 && found[1]! < 5, true);
});

Deno.test("tf.strings and tf.lookup refuse what they do not take", () => {
  const init = (keys: tf.TensorLike, values: tf.TensorLike) =>
    new lookup.KeyValueTensorInitializer(keys, values);
  const table = new lookup.StaticHashTable(init(["a"], [1]), 0);
  const cases: [() => unknown, new (...args: never[]) => Error, string][] = [
    [
      () => strings.lower(tf.tensor([1])),
      TypeError,
      "Argument 'input' passed to 'strings.lower' must be strings",
    ],
    [() => strings.join("a" as never), TypeError, "Argument 'inputs' passed to 'strings.join'"],
    [
      () => strings.toNumber(["x"]),
      tf.errors.InvalidArgumentError,
      "could not correctly convert string: x",
    ],
    [() => strings.substr(["ab"], 5, 1), tf.errors.InvalidArgumentError, "pos 5 out of range"],
    [() => strings.toHashBucketFast(["a"], 0), tf.ValueError, "at least 1"],
    [() => strings.toHashBucketStrong(["a"], 0, [1, 2]), tf.ValueError, "at least 1"],
    [
      () => strings.toHashBucketStrong(["a"], 3, [1] as never),
      TypeError,
      "must be two whole numbers",
    ],
    [() => strings.toHashBucketStrong(["a"], 3, [0.5, 1]), TypeError, "must be two whole numbers"],
    [
      () => strings.unicodeEncode(97, "UTF-8"),
      tf.ValueError,
      "wanted rows of a known rank",
    ],
    [() => strings.unicodeEncode([97], "latin" as never), tf.errors.InvalidArgumentError, "latin"],
    [() => strings.ngrams(["a"] as never, 2), TypeError, "must be a ragged tensor"],
    [() => init(["a", "b"], [1]), tf.ValueError, "wanted vectors of one length"],
    [
      () => new lookup.StaticHashTable(init(["a", "a"], [1, 2]), 0),
      tf.errors.InvalidArgumentError,
      "different value for same key",
    ],
    [
      () => new lookup.StaticHashTable({} as never, 0),
      TypeError,
      "must be a KeyValueTensorInitializer",
    ],
    [() => new lookup.StaticHashTable(init(["a"], [1]), [0]), tf.ValueError, "wanted a scalar"],
    [() => table.lookup([1]), TypeError, "keys"],
    [() => table.lookup(tf.tensor([1])), TypeError, "must be keys of dtype string"],
    [
      () => new lookup.MutableHashTable("string", "float32", 0).insert(["a"], [1, 2]),
      tf.errors.InvalidArgumentError,
      "1 keys and 2 values",
    ],
    [() => lookup.StaticVocabularyTable.of(["a"], 0), tf.ValueError, "numOovBuckets"],
  ];
  for (const [call, type, text] of cases) assertThrows(call, type, text);
});
