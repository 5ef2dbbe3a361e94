/** Patterns, parts and lengths of strings, segments and vocabularies beside what TensorFlow 2.21 gives: make_text_goldens.py. */
import { assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../../devices.ts";
import goldens from "./text_goldens.json" with { type: "json" };

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text, (c) => c.charCodeAt(0));
const texts = (list: readonly string[]): tf.NdArray =>
  new tf.NdArray("string", [list.length], list.map(bytesOf));
const listOf = async (x: tf.Tensor): Promise<string[]> =>
  ((await x.ndarray()).data as Uint8Array[]).map((b) =>
    Array.from(b, (c) => String.fromCharCode(c)).join("")
  );
const numbersOf = async (x: tf.Tensor): Promise<number[]> =>
  Array.from((await x.ndarray()).data as ArrayLike<number | bigint>, Number);

const { rewrites } = goldens;
const TEXTS = texts(goldens.texts);

testOnDevices("patterns of RE2 match and replace as in TensorFlow, or are refused", async () => {
  for (const [pattern, wanted] of goldens.regexes as unknown as [string, unknown[] | null][]) {
    const full = (x: tf.TensorLike): tf.Tensor => tf.strings.regexFullMatch(x, pattern);
    const replace = rewrites.map((r, i) => (x: tf.TensorLike): tf.Tensor =>
      tf.strings.regexReplace(x, pattern, r, i !== 2)
    );
    if (wanted === null) {
      for (const call of [full, ...replace]) {
        const refused = () => call(TEXTS).ndarraySync();
        assertThrows(refused, tf.errors.InvalidArgumentError, "Invalid pattern", pattern);
      }
      continue;
    }
    assertEquals(await numbersOf(full(TEXTS)), wanted[0] as number[], pattern);
    for (const [i, call] of replace.entries()) {
      assertEquals(await listOf(call(TEXTS)), wanted[i + 1] as string[], pattern);
      if (i > 0) continue;
      const compiled = tf.function((x: tf.Tensor) => call(x));
      assertEquals(await listOf(compiled(tf.tensor(TEXTS))), wanted[i + 1] as string[], pattern);
    }
  }
});

Deno.test("patterns with loops in loops end soon on texts that they do not match", () => {
  const text = "a".repeat(2000);
  assertEquals(tf.strings.regexFullMatch([text], "(a+)+b|(a*)*c").arraySync(), [false]);
  assertEquals(tf.strings.regexReplace([text], "(a+)+", "<\\1>").arraySync(), [`<${text}>`]);
});

testOnDevices("parts and lengths of strings are those of TensorFlow", async () => {
  const of = (unit: "BYTE" | "UTF8_CHAR") =>
    tf.function((x: tf.Tensor, pos: tf.Tensor, len: tf.Tensor) =>
      tf.strings.substr(x, pos, len, unit)
    );
  const compiled = { BYTE: of("BYTE"), UTF8_CHAR: of("UTF8_CHAR") };
  for (const [text, pos, len, unit, wanted] of goldens.parts as never[][]) {
    const part = (x: tf.TensorLike): tf.Tensor => tf.strings.substr(x, pos, len, unit);
    const what = `${text} ${pos} ${len} ${unit}`;
    if (wanted === null) {
      assertThrows(
        () => part(texts([text])).ndarraySync(),
        tf.errors.InvalidArgumentError,
        "out of range",
        what,
      );
      continue;
    }
    assertEquals(await listOf(part(texts([text]))), [wanted], what);
    const [from, count] = [tf.tensor(pos, [], "int32"), tf.tensor(len, [], "int32")];
    const own = compiled[unit as "BYTE"](tf.tensor(texts([text])), from, count);
    assertEquals(await listOf(own), [wanted], what);
  }
  const all = texts([...goldens.texts, ...goldens.strings]);
  assertEquals(await numbersOf(tf.strings.length(all, "UTF8_CHAR")), goldens.lengths);
});

testOnDevices("segments of splits that do not begin at 0 are those of TensorFlow", async () => {
  for (const [splits, wanted] of goldens.splits) {
    assertEquals(await numbersOf(tf.ragged.rowSplitsToSegmentIds(splits)), wanted);
    for (const dtype of ["int32", "int64"] as const) {
      const spec = new tf.TensorSpec([null], dtype);
      const compiled = tf.function((x: tf.Tensor) => tf.ragged.rowSplitsToSegmentIds(x), {
        inputSignature: [spec],
      });
      const ids = compiled(tf.cast(tf.tensor(splits, [splits.length], "int32"), dtype));
      assertEquals([ids.dtype, await numbersOf(ids)], [dtype, wanted]);
    }
  }
});

testOnDevices("vocabularies of int64 and of no words are those of TensorFlow", async () => {
  const { KeyValueTensorInitializer, StaticVocabularyTable } = tf.lookup;
  const words = ["a", "b", "zz", "", "q"];
  const keys = new tf.NdArray("int64", [5], BigInt64Array.of(5n, 6n, -7n, 0n, 12n));
  const cases = [
    [new StaticVocabularyTable(null, 7), words, 7],
    [new StaticVocabularyTable(new KeyValueTensorInitializer(["a", "b"], [0n, 1n]), 7), words, 9],
    [new StaticVocabularyTable(new KeyValueTensorInitializer([5n, 6n], [0n, 1n]), 7), keys, 9],
  ] as const;
  for (const [i, [table, given, size]] of cases.entries()) {
    const found = table.lookup(given as tf.TensorLike);
    assertEquals([found.dtype, table.size(), await numbersOf(found)], [
      "int64",
      size,
      goldens.tables[i],
    ]);
    const compiled = tf.function((x: tf.Tensor) => table.lookup(x));
    assertEquals(await numbersOf(compiled(tf.tensor(given as tf.TensorLike))), goldens.tables[i]);
  }
});
