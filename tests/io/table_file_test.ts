/** Tables from text files, beside what TensorFlow's `TextFileInitializer` gives; and where they are used. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Options = Parameters<typeof tf.lookup.textFileInitializer>[1];
const { WHOLE_LINE, LINE_NUMBER } = tf.lookup.TextFileIndex;
const CASES: readonly [
  text: string,
  options: Options,
  keys: (string | bigint)[],
  otherwise: string | number,
  values: unknown[],
][] = [
  ["the\ndog\n", {}, ["dog", "cat"], -1, [1n, -1n]],
  ["a\t1\r\nb\t2\r\n", { keyIndex: 0, valueIndex: 1 }, ["b", "a"], -1, [2n, 1n]],
  [
    "a\nb\nc\n",
    {
      keyDtype: "int64",
      keyIndex: LINE_NUMBER,
      valueDtype: "string",
      valueIndex: WHOLE_LINE,
    },
    [2n, 0n, 3n],
    "?",
    ["c", "a", "?"],
  ],
  ["a\nb\nc\n", { vocabSize: 2 }, ["a", "c"], -1, [0n, -1n]],
  [
    "a,1.5\nb,2.5",
    { keyIndex: 0, valueIndex: 1, valueDtype: "float32", delimiter: "," },
    ["b", "x"],
    -1,
    [2.5, -1],
  ],
  ["x y 7", { keyIndex: 1, valueIndex: 2, delimiter: " " }, ["y"], 0, [7n]],
];

Deno.test("textFileInitializer() reads columns, whole lines and their numbers", async () => {
  for (const [text, options, keys, otherwise, values] of CASES) {
    const init = await tf.lookup.textFileInitializer(new Blob([text]), options);
    const table = new tf.lookup.StaticHashTable(init, otherwise);
    const given = tf.constant(keys as string[], options?.keyDtype ?? "string");
    assertEquals(await table.lookup(given).array() as unknown, values, JSON.stringify(text));
  }
});

Deno.test("textFileInitializer() refuses files and options by name", async () => {
  const refused: readonly [string, Options, new (...args: never[]) => Error, string][] = [
    ["a\nb\n", { vocabSize: 3 }, tf.errors.InvalidArgumentError, "2 lines, wanted 3"],
    ["a\tx\n", { keyIndex: 0, valueIndex: 1 }, tf.errors.InvalidArgumentError, "Field x in line 0"],
    [
      "a\n",
      { keyIndex: 0, valueIndex: 1 },
      tf.errors.InvalidArgumentError,
      "Invalid number of col",
    ],
    ["a\n", { keyDtype: "int64" }, tf.ValueError, "keyDtype of whole lines must be string"],
    ["a\n", { valueDtype: "float32" }, tf.ValueError, "valueDtype of numbers of lines"],
    ["a\n", { keyIndex: -3 }, tf.ValueError, "keyIndex must be a column"],
    ["a\n", { vocabSize: 0 }, tf.ValueError, "vocabSize must be"],
    ["a\n", { delimiter: ", " }, tf.ValueError, "delimiter must be one byte"],
    ["a\n", { keyIndex: "0" as never }, TypeError, "'keyIndex'"],
    ["a\n", { delimiter: 3 as never }, TypeError, "'delimiter'"],
    ["a\n", { keys: 1 } as never, TypeError, '"keys"'],
  ];
  for (const [text, options, type, words] of refused) {
    await assertRejects(
      () => tf.lookup.textFileInitializer(new Blob([text]), options),
      type,
      words,
    );
  }
  await assertRejects(
    () => tf.lookup.textFileInitializer("/nowhere/words.txt"),
    tf.errors.NotFoundError,
    "words.txt",
  );
});

testOnDevices(
  "tables of text files serve functions, sessions, datasets and gradients",
  async () => {
    const words = await tf.lookup.textFileInitializer(new Blob(["the\ndog\nbarks\n"]));
    const table = new tf.lookup.StaticVocabularyTable(words, 1);
    const rows = tf.variable([[1, 2], [3, 4], [5, 6], [7, 8]]);
    const text = tf.constant(["dog", "frogs", "the"]), wanted = [[3, 4], [7, 8], [1, 2]];
    const embed = (x: tf.Tensor): tf.Tensor => tf.gather(rows, tf.cast(table.lookup(x), "int32"));
    assertEquals(await embed(text).array(), wanted);
    assertEquals(await tf.function(embed)(text).array(), wanted);
    const g = new tf.Graph();
    const numbers = g.asDefault(() => table.lookup(tf.constant(["dog", "frogs", "the"])));
    await using session = new tf.Session({ graph: g });
    assertEquals(String(await session.run(numbers)), "[1, 3, 0]");
    const read: unknown[] = [];
    const set = tf.data.textLines(new Blob(["dog\nfrogs"])).map((line) => table.lookup(line)).batch(
      2,
    );
    for await (const x of set) read.push(await x.array());
    assertEquals(read, [[1n, 3n]]);
    const { grads } = tf.variableGrads(() => tf.sum(embed(text)), [rows]);
    assertEquals(await grads[rows.name].array(), [[1, 1], [1, 1], [0, 0], [1, 1]]);
    rows.dispose();
  },
);
