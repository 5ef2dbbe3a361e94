// Datasets of files, and what is wrong with files.

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { collect, specText } from "./collect.ts";

const { data } = tf;
const { InvalidArgumentError, DataLossError, NotFoundError } = tf.errors;
const FIXTURES = new URL("./fixtures/", import.meta.url);

/** Calls `fn` with a folder that is there meanwhile. */
async function inFolder(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await fn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function texts(dataset: tf.data.Dataset<tf.Tensor>): Promise<string[]> {
  return Array.fromAsync(dataset.asNumpyIterator(), (x) => x.text());
}

Deno.test("listFiles() finds what fits a pattern, sorted or shuffled", () =>
  inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/a/b`, { recursive: true });
    const names = ["1.txt", "2.txt", "x.md", ".hidden.txt", "a/3.txt", "a/b/4.txt", "a/b/[5].txt"];
    for (const name of names) await Deno.writeTextFile(`${folder}/${name}`, name);
    const found = async (pattern: string | string[]) => {
      const patterns = [pattern].flat().map((p) => `${folder}/${p}`);
      const paths = await texts(data.listFiles(patterns, { shuffle: false }));
      return paths.map((path) => path.slice(folder.length + 1));
    };
    assertEquals(await found("*.txt"), ["1.txt", "2.txt"]);
    assertEquals(await found("?.{md,txt}"), ["1.txt", "2.txt", "x.md"]);
    assertEquals(await found("[!1].txt"), ["2.txt"]);
    assertEquals(await found("**/*.txt"), [
      "1.txt",
      "2.txt",
      "a/3.txt",
      "a/b/4.txt",
      "a/b/[5].txt",
    ]);
    assertEquals(await found("*/*/[[]5].txt"), ["a/b/[5].txt"]);
    assertEquals(await found(["x.md", "*.md", "1.txt"]), ["1.txt", "x.md"]);
    assertEquals(await found(".*"), [".hidden.txt"]);
    const shuffled = data.listFiles(`${folder}/**/*.txt`, { seed: 3 });
    const orders = [await texts(shuffled), await texts(shuffled)];
    assertEquals(orders.map((order) => order.toSorted()), [
      orders[0].toSorted(),
      orders[0].toSorted(),
    ]);
    for (const missing of ["*.png", "none/*.txt", "1.txt/*"]) {
      await assertRejects(() => found(missing), NotFoundError, "No files matched pattern:");
    }
  }));

Deno.test("a listing that goes on gives no file twice where others came meanwhile", () =>
  inFolder(async (folder) => {
    for (const name of ["b", "d"]) await Deno.writeTextFile(`${folder}/${name}`, name);
    const files = data.listFiles(`${folder}/*`, { shuffle: false });
    const pass = files.asNumpyIterator();
    assertEquals((await pass.next()).value?.text(), `${folder}/b`);
    const state = await pass.save();
    for (const name of ["a", "c"]) await Deno.writeTextFile(`${folder}/${name}`, name);
    const rest = await Array.fromAsync(files.asNumpyIterator(state), (x) => x.text());
    assertEquals(rest, [`${folder}/c`, `${folder}/d`]);
  }));

Deno.test("fromFiles() gives names and contents, of compressed files too", () =>
  inFolder(async (folder) => {
    const path = `${folder}/x.gz`;
    const packed = new Blob(["hello"]).stream().pipeThrough(new CompressionStream("gzip"));
    await Deno.writeFile(path, packed);
    const ds = data.fromFiles(path, { compression: "GZIP" });
    assertEquals([specText(ds.elementSpec), ds.size], [
      { path: "string[]", contents: "string[]" },
      1,
    ]);
    for await (const file of ds.asNumpyIterator()) {
      assertEquals([file.path.text(), file.contents.text()], [path, "hello"]);
    }
    await Deno.truncate(path, 12);
    await assertRejects(() => collect(ds), DataLossError, `Cannot decompress ${path}`);
    const some = data.fromFiles(data.fromTensorSlices([path, `${folder}/none`]));
    await assertRejects(
      () => collect(some),
      NotFoundError,
      `Cannot read ${folder}/none: there is no such file`,
    );
    assertEquals((await collect(some.ignoreErrors())).length, 1);
    assertThrows(
      () => data.fromFiles(3 as unknown as string),
      TypeError,
      "wanted a path, a URL, a Blob",
    );
    assertThrows(() => data.fromFiles(data.range(3)), TypeError, "wanted scalar strings");
    assertThrows(
      () => data.fromFiles(path, { compression: "BZIP" as "GZIP" }),
      tf.ValueError,
      "BZIP",
    );
  }));

testOnDevices(
  "files are named by tensors too, as interleave() hands them to its function",
  () =>
    inFolder(async (folder) => {
      for (const name of ["a", "b", "c"]) {
        await Deno.writeTextFile(`${folder}/${name}`, `${name}1\n${name}2`);
      }
      const files = data.listFiles(`${folder}/*`, { shuffle: false });
      const before = tf.memory().numTensors;
      const lines = files.interleave((path) => data.textLines(path), { cycleLength: 2 });
      assertEquals(await texts(lines), ["a1", "b1", "a2", "b2", "c1", "c2"]);
      const rows = files.flatMap((path) => data.csv(path, { columns: ["string"] }));
      assertEquals((await collect(rows)).length, 6);
      assertEquals(tf.memory().numTensors, before);
      const paths = tf.tensor(["c", "a"].map((name) => `${folder}/${name}`));
      assertEquals(await texts(data.textLines(paths)), ["c1", "c2", "a1", "a2"]);
      assertEquals(data.fromFiles(paths).size, 2);
      for (const wrong of [tf.tensor([1]), tf.tensor([["a"]])]) {
        assertThrows(() => data.textLines(wrong), TypeError, "wanted scalar strings");
      }
    }),
);

Deno.test("textLines() reads lines of any length and end, from paths, URLs, blobs and bytes", () =>
  inFolder(async (folder) => {
    const long = "ä".repeat(300_000);
    const content = `one\r\n\n${long}\nlast`;
    const path = `${folder}/lines.txt`;
    await Deno.writeTextFile(path, content);
    const bytes = new TextEncoder().encode(content);
    const url = new URL(`file://${path}`), object = URL.createObjectURL(new Blob([bytes]));
    for (const file of [path, url, new Blob([bytes]), bytes, object]) {
      assertEquals(await texts(data.textLines(file)), ["one", "", long, "last"]);
    }
    URL.revokeObjectURL(object);
    assertEquals(await texts(data.textLines(data.listFiles(`${folder}/*`)).take(1)), ["one"]);
    assertEquals(await texts(data.textLines([new Blob([]), new Blob(["\n"])])), [""]);
    await assertRejects(
      () => texts(data.textLines(`${folder}/none`)),
      NotFoundError,
      `${folder}/none`,
    );
    const both = data.textLines([`${folder}/none`, path]).ignoreErrors();
    assertEquals((await texts(both)).length, 4);
  }));

const RECORDS = ["one", "", String.fromCharCode(...Array(256).keys()), "drei äöü"];
const bytesOf = (text: string, i: number) =>
  i === 2 ? Uint8Array.from({ length: 256 }, (_, k) => k) : new TextEncoder().encode(text);

Deno.test("tfrecord() reads what TensorFlow wrote, and TFRecordWriter writes the same bytes", () =>
  inFolder(async (folder) => {
    const wanted = RECORDS.map(bytesOf);
    for (const compression of ["", "GZIP", "ZLIB"] as const) {
      const name = `records${compression && `_${compression.toLowerCase()}`}.tfrecord`;
      assertEquals(await collect(data.tfrecord(new URL(name, FIXTURES), { compression })), wanted);
      const path = `${folder}/${name}`;
      await using writer = new tf.io.TFRecordWriter(path, { compression });
      await Promise.all(wanted.map((record) => writer.write(record)));
      await writer.close();
      await assertRejects(() => writer.write("late"), DataLossError, "it was closed");
      assertEquals(await collect(data.tfrecord(path, { compression })), wanted);
    }
    const plain = await Deno.readFile(`${folder}/records.tfrecord`);
    assertEquals(plain, await Deno.readFile(new URL("records.tfrecord", FIXTURES)));
    const writer = new tf.io.TFRecordWriter(`${folder}/none/x`);
    await assertRejects(() => writer.close(), NotFoundError);
  }));

Deno.test("tfrecord() tells which record is cut off or has another checksum, and goes on with the next file", async () => {
  const good = await Deno.readFile(new URL("records.tfrecord", FIXTURES));
  const read = (bytes: Uint8Array) => collect(data.tfrecord(bytes));
  // The second record is empty: 16 bytes from byte 19 on.
  const cases: [from: number, to: number, text: string][] = [
    [19, 24, "Truncated record: its length is cut off in 24 bytes at byte 19, record 1"],
    [35, 60, "Truncated record: 13 of its 256 bytes are there in 60 bytes at byte 35, record 2"],
  ];
  for (const [, to, text] of cases) {
    await assertRejects(() => read(good.subarray(0, to)), DataLossError, text);
  }
  for (let i = 0; i < 35; i++) {
    const broken = good.slice();
    broken[i] ^= 1;
    const what = i % 19 < 12 && i < 31 ? "of its length" : "of its data";
    await assertRejects(
      () => read(broken),
      DataLossError,
      `Corrupted record: the checksum ${what}`,
    );
  }
  const broken = good.slice(0, 60);
  assertEquals((await collect(data.tfrecord([broken, good]).ignoreErrors())).length, 2 + 4);
  const cut = (await Deno.readFile(new URL("records_gzip.tfrecord", FIXTURES))).slice(0, 100);
  await assertRejects(
    () => collect(data.tfrecord(cut, { compression: "GZIP" })),
    DataLossError,
    "Cannot decompress 100 bytes: its gzip data are broken or cut off",
  );
});

const people = new Blob([
  '\ufeffname,age,score\n"Ann ""A""",31,1e-2\n\n"B,\nC",,-inf\r\nD,7,NaN\n',
]);

Deno.test("csv() reads quoted fields, several lines, defaults, and columns by name or number", async () => {
  const byName = data.csv(people, {
    columns: { age: { dtype: "int64", default: 5 }, name: "string", score: "float32" },
  });
  assertEquals(specText(byName.elementSpec), {
    age: "int64[]",
    name: "string[]",
    score: "float32[]",
  });
  const rows = await Array.fromAsync(
    byName.asNumpyIterator(),
    ({ name, age, score }) => [name.text(), age.item(), score.item()],
  );
  assertEquals(rows, [['Ann "A"', 31n, Math.fround(0.01)], ["B,\nC", 5n, -Infinity], [
    "D",
    7n,
    NaN,
  ]]);
  const byNumber = data.csv(people, { columns: ["float32", -1], selectCols: [2, 1], header: true });
  assertEquals(await collect(byNumber), [[Math.fround(0.01), 31], [-Infinity, -1], [NaN, 7]]);
  const tabs = data.csv(new Blob(['1\tx"y\n2\tNA']), {
    columns: ["int32", { dtype: "string", default: "none" }],
    ...{ fieldDelim: "\t", useQuoteDelim: false, naValue: "NA" },
  });
  assertEquals(
    await Array.fromAsync(tabs.asNumpyIterator(), ([i, s]) => [i.item(), s.text()]),
    [[1, 'x"y'], [2, "none"]],
  );
});

Deno.test("csv() names file and line of a row that is wrong, and goes on after it", async () => {
  const cases: [content: string, problem: string][] = [
    ["1,2\n3,x\n5,6\n", 'line 2: field 1 is no int32: "x"'],
    ["1,2\n3,1.5\n5,6\n", 'line 2: field 1 is no int32: "1.5"'],
    ["1,2\n3,3000000000\n5,6\n", 'line 2: field 1 is no int32: "3000000000"'],
    ["1,2\n3,\n5,6\n", "line 2: field 1 is required but missing"],
    ["1,2\n3\n5,6\n", "line 2: field 1 is not there: the row is too short"],
    ['1,2\n3,4"\n5,6\n', "line 2: Unquoted fields cannot have quotes inside"],
    ['1,2\n3,"4"4\n5,6\n', "line 2: Quote inside a string has to be escaped by another quote"],
    ['1,2\n"3,4\n5,6\n', "line 2: Quoted field has to end with quote followed by delim or end"],
  ];
  for (const [content, problem] of cases) {
    const rows = data.csv(new File([content], "train.csv"), { columns: ["int32", "int32"] });
    await assertRejects(
      () => collect(rows),
      InvalidArgumentError,
      `Cannot read train.csv, ${problem}`,
    );
  }
  const [[content]] = cases;
  const rows = data.csv(new Blob([content]), { columns: ["int32", "int32"] });
  assertEquals(await collect(rows.ignoreErrors()), [[1, 2], [5, 6]]);
  const renamed = data.csv(people, { columns: { years: "int32" } });
  await assertRejects(
    () => collect(renamed),
    InvalidArgumentError,
    'line 1: there is no column "years" among name, age, score',
  );
});

Deno.test("csv() refuses columns that are none", () => {
  const csv = (options: object) => () => data.csv(people, options as tf.data.CsvOptions);
  assertThrows(csv({ columns: [] }), tf.ValueError, "columns are empty");
  assertThrows(csv({ columns: ["text"] }), TypeError, "column 0");
  assertThrows(csv({ columns: { a: "int32" }, header: false }), tf.ValueError, "header is false");
  assertThrows(csv({ columns: ["int32"], selectCols: [1, 2] }), tf.ValueError, "selectCols");
  assertThrows(csv({ columns: ["int32"], fieldDelim: "ab" }), tf.ValueError, "one character");
});

Deno.test("jsonl() takes the declared keys of each line and names the line that does not fit", async () => {
  const outputSignature = { text: "string", boxes: tf.TensorSpec([null, 4]) } as const;
  const read = (...lines: string[]) =>
    data.jsonl(new File([lines.join("\n")], "a.jsonl"), { outputSignature });
  const good = '{"text": "x", "boxes": [[0, 0, 1, 1]], "more": null}';
  const rows = await Array.fromAsync(
    read(good, "", good).asNumpyIterator(),
    (r) => [r.text.text(), r.boxes.shape],
  );
  assertEquals(rows, [["x", [1, 4]], ["x", [1, 4]]]);
  const cases: [line: string, problem: string][] = [
    ["{", "a.jsonl, line 2: "],
    [
      '{"text": "x"}',
      "'text': tf.string}, but the yielded element was {'text'}",
    ],
    [
      '{"text": "x", "boxes": [[1, 2]]}',
      "shape (1, 2) where an element of shape (None, 4) was expected. It is the element's boxes",
    ],
    [
      '{"text": 3, "boxes": [[0, 0, 1, 1]]}',
      "a.jsonl, line 2: the line holds an element that could not be converted",
    ],
  ];
  for (const [line, problem] of cases) {
    const error = await assertRejects(() => collect(read(good, line, good)), InvalidArgumentError);
    assert(error.message.includes(problem), error.message);
    assertEquals((await collect(read(good, line, good).ignoreErrors())).length, 2);
  }
});

Deno.test("save() and load() keep elements of every dtype, and refuse what is broken", () =>
  inFolder(async (folder) => {
    const path = `${folder}/saved`;
    const ds = data.fromTensorSlices({
      words: [["a", ""], ["ä", "d"]],
      rest: [tf.tensor1d([1, 2], "bool"), tf.complex([1, 2], [3, 4]), new BigInt64Array([1n, -2n])],
    });
    for (const compression of ["", "GZIP"] as const) {
      await ds.save(path, { compression });
      const loaded = await data.load<unknown>(path, { compression });
      assertEquals(String(loaded.elementSpec), String(ds.elementSpec));
      assertEquals(await collect(loaded), await collect(ds));
    }
    await assertRejects(() => data.load(path), DataLossError);
    await ds.save(path);
    const bytes = await Deno.readFile(path);
    await Deno.writeFile(path, bytes.slice(0, bytes.length - 40));
    const cut = await data.load(path);
    await assertRejects(() => collect(cut), DataLossError, path);
    await Deno.copyFile(new URL("records.tfrecord", FIXTURES), path);
    await assertRejects(() => data.load(path), DataLossError, "it holds no dataset");
    await assertRejects(() => data.load(`${folder}/none`), NotFoundError, "there is no such file");
    const fails = data.range(3).map((x) =>
      tf.numpyFunction(
        () => {
          throw new Error("no");
        },
        [x],
        "int32",
      )
    );
    await assertRejects(() => fails.save(`${folder}/fails`), tf.errors.UnknownError, "no");
    await assertRejects(
      () => data.range(4).window(2).save(`${folder}/windows`),
      tf.errors.UnimplementedError,
      "Dataset(int32[])",
    );
    assertEquals(await Array.fromAsync(Deno.readDir(folder), (e) => e.name), ["saved"]);
  }));

Deno.test("cache() on disk computes each element once, for other processes too, and goes on from a place in it", () =>
  inFolder(async (folder) => {
    let calls = 0;
    const body = (x: tf.NdArray) => {
      calls++;
      return x;
    };
    const path = `${folder}/cache`;
    const build = () =>
      data.range(4).map((x) => tf.numpyFunction(body, [x], tf.TensorSpec([], "int32"))).cache(path);
    assertEquals(await collect(build().take(2)), [0, 1]);
    assertEquals(
      await Array.fromAsync(Deno.readDir(folder)),
      [],
      "a pass that was left leaves nothing",
    );
    assertEquals(await collect(build()), [0, 1, 2, 3]);
    assertEquals(calls, 6);
    const pass = build().asNumpyIterator();
    await pass.next();
    const state = await pass.save();
    await pass.return();
    assertEquals(await Array.fromAsync(build().asNumpyIterator(state), (x) => x.item()), [1, 2, 3]);
    assertEquals(await collect(build().repeat(2)), [0, 1, 2, 3, 0, 1, 2, 3]);
    assertEquals(calls, 6);
    await Deno.remove(path);
    await assertRejects(() => Array.fromAsync(build().asNumpyIterator(state)), NotFoundError);
    await Deno.writeTextFile(path, "something else");
    await assertRejects(() => collect(build()), DataLossError, "Corrupted record");
  }));

testOnDevices("ragged batches are saved, loaded, cached and gone on with", async () => {
  const path = await Deno.makeTempFile();
  try {
    const ds = data.range(1, 6).map((n) => tf.range(0, n, 1, "int32")).raggedBatch<
      tf.RaggedTensor
    >(2);
    await ds.save(path);
    const loaded = await data.load<tf.RaggedTensor>(path);
    assertEquals(String(loaded.elementSpec), "ragged int32[?,?]");
    const lists = (d: tf.data.Dataset<tf.RaggedTensor>, state?: Uint8Array) =>
      Array.fromAsync(d.asNumpyIterator(state), (x) => x.toList());
    assertEquals(await lists(loaded), await lists(ds));
    const pass = ds.prefetch(2).iterator();
    (await pass.next()).value?.dispose();
    const state = await pass.save();
    await pass.return();
    assertEquals(await lists(ds.prefetch(2), state), [[[0, 1, 2], [0, 1, 2, 3]], [[
      0,
      1,
      2,
      3,
      4,
    ]]]);
  } finally {
    await Deno.remove(path);
  }
});
