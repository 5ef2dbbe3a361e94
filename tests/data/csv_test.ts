/** CSV and JSON lines: calls without options, and quoted fields of any length. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { effort } from "../effort.ts";

const { data } = tf;
const people = new Blob(["name,age\nAnn,31\n"]);

Deno.test("csv() and jsonl() without options say what they want", () => {
  const { csv, jsonl } = data as unknown as Record<string, (...args: unknown[]) => unknown>;
  assertThrows(() => csv(people), TypeError, "wanted columns, as in { columns:");
  assertThrows(() => csv(people, {}), TypeError, "columns must say what is read");
  for (const args of [[people], [people, {}]]) {
    assertThrows(() => jsonl(...args), TypeError, "wanted what a line holds");
  }
});

Deno.test("csv() reads a quoted field of many lines, closed or not", async () => {
  const lines = effort(20_000, 200_000);
  const text = (end: string): Blob => new Blob([`a,b\n1,"${'x,""y""\n'.repeat(lines)}${end}`]);
  const rows = (file: Blob) =>
    Array.fromAsync(
      data.csv(file, { columns: { a: "int32", b: "string" } }).asNumpyIterator(),
      ({ a, b }) => [a.item(), b.text()],
    );
  const field = 'x,"y"\n'.repeat(lines);
  assertEquals(await rows(text('"\n2,"b"\n')), [[1, field], [2, "b"]]);
  assertEquals(await rows(text('z"')), [[1, `${field}z`]]);
  await assertRejects(() => rows(text("")), tf.errors.InvalidArgumentError, "line 2: Quoted field");
  await assertRejects(() => rows(text('"z\n')), tf.errors.InvalidArgumentError, "line 2: Quote");
});

const houses = "area,rooms,town,price,sold\n50.5,2,Ulm,9,true\n80,,Bonn,14,0\n";

Deno.test("csv() takes TensorFlow.js' columnConfigs: labels apart, defaults, dtypes", async () => {
  const rows = data.csv(new Blob([houses]), {
    columnConfigs: {
      price: { isLabel: true, dtype: "int32" },
      area: { dtype: "int32" },
      rooms: {},
      town: { dtype: "string" },
      sold: { dtype: "bool" },
    },
    configuredColumnsOnly: true,
  });
  const { xs, ys } = rows.elementSpec;
  assertEquals([xs.area.dtype, xs.rooms.dtype, xs.town.dtype, xs.sold.dtype, ys.price.dtype], [
    ...["int32", "float32", "string", "bool", "int32"],
  ]);
  const seen = await Array.fromAsync(
    rows.asNumpyIterator(),
    ({ xs, ys }) => [
      ...[xs.area.item(), xs.rooms.item(), xs.town.text(), xs.sold.item(), ys.price.item()],
    ],
  );
  assertEquals(seen, [[50, 2, "Ulm", true, 9], [80, NaN, "Bonn", false, 14]]);
  // A column that has no configuration has no type.
  // @ts-expect-error rooms is no label
  assertEquals(ys.rooms, undefined);
});

Deno.test("csv() takes columnNames, files without a header and other delimiters", async () => {
  const columnNames = ["a", "b", "c"] as const, file = new Blob(["1;2;\n3;4;x\n"]);
  const options = { columnNames, hasHeader: false, delimiter: ";" } as const;
  const all = data.csv(file, { ...options, columnConfigs: { c: { default: "none" } } });
  assertEquals(
    await Array.fromAsync(
      all.asNumpyIterator(),
      ({ a, b, c }) => [a.item(), b.item(), c.text()],
    ),
    [[1, 2, "none"], [3, 4, "x"]],
  );
  const some = data.csv(file, {
    ...options,
    columnConfigs: { b: {} },
    configuredColumnsOnly: true,
  });
  assertEquals(
    await Array.fromAsync(some.asNumpyIterator(), (row) => [Object.keys(row), row.b.item()]),
    [[["b"], 2], [["b"], 4]],
  );
  // Given names stand for those of the first line, which is passed over.
  const named = data.csv(new Blob(["x,y\n5,6\n"]), { columnNames: ["p", "q"], columnConfigs: {} });
  assertEquals(await Array.fromAsync(named.asNumpyIterator(), ({ p, q }) => [p.item(), q.item()]), [
    [5, 6],
  ]);
  const saved = data.csv(new Blob(["x\n1\n2\n3\n"]), { columnNames: ["p"], columnConfigs: {} });
  const first = saved.iterator();
  await first.next();
  const { value } = await saved.iterator(await first.save()).next();
  assertEquals(value!.p.item(), 2);
});

Deno.test("csv() names what is wrong with columnConfigs and with their rows", async () => {
  const { csv } = data as unknown as Record<string, (...args: unknown[]) => unknown>;
  const refused = (options: object, type: typeof TypeError | typeof tf.ValueError, text: string) =>
    assertThrows(() => csv(new Blob([houses]), options), type as typeof TypeError, text);
  const only = { configuredColumnsOnly: true };
  refused({ columnConfigs: 3 }, TypeError, "columnConfigs must be an object");
  refused({ columnConfigs: { a: {} } }, tf.ValueError, "wanted configuredColumnsOnly: true, or");
  refused({ columnConfigs: {}, ...only }, tf.ValueError, "columnConfigs is empty");
  refused({ columnConfigs: { a: 3 }, ...only }, TypeError, "wanted { dtype, default, required");
  refused({ columnConfigs: { a: { isLable: true } }, ...only }, TypeError, "isLabel");
  refused({ columnConfigs: { a: {} }, hasHeader: false, ...only }, tf.ValueError, "columnNames");
  refused({ columnConfigs: { a: {} }, columnNames: ["b"] }, tf.ValueError, 'column "a"');
  refused({ columnConfigs: {}, columnNames: ["b", "b"] }, tf.ValueError, '"b" twice');
  refused({ columnConfigs: {}, columnNames: "b" }, TypeError, "list of texts");
  refused({ columnConfigs: { a: {} }, ...only, delimiter: "::" }, tf.ValueError, "delimiter");
  refused({ columnConfigs: { a: {} }, ...only, columns: ["int32"] }, TypeError, "columns");
  const first = (text: string, columnConfigs: Record<string, tf.data.CsvColumnConfig>) =>
    data.csv(new Blob([text]), { columnConfigs, ...only }).toArray();
  const { InvalidArgumentError } = tf.errors;
  const fails = (rows: Promise<unknown>, text: string) =>
    assertRejects(() => rows, InvalidArgumentError, text);
  await fails(first("a,b\n1,\n", { b: { required: true } }), 'field "b" is required but missing');
  await fails(first("a,b\n1,\n", { b: { dtype: "string", isLabel: true } }), "required");
  await fails(first("a,b\n1,x\n", { b: {} }), 'is no float32: "x", which dtype: "string" reads');
  await fails(first("a,b\n1\n", { b: { default: 1 } }), "the row is too short");
  await fails(first("a,b\n1,2\n", { c: {} }), 'there is no column "c" among a, b');
  for (const delimiter of [";", "\t", "|"]) {
    await fails(
      first(`a${delimiter}b\n1${delimiter}2\n`, { b: {} }),
      `if ${JSON.stringify(delimiter)} parts them, give it as fieldDelim`,
    );
  }
  await fails(first("", { b: {} }), 'the file is empty, wanted a column "b"');
  await assertRejects(
    () => data.csv("a,b\n1,2\n", { columns: { a: "float32" } }).toArray(),
    tf.errors.NotFoundError,
    "there is no such file; if that is its text, give a Blob of it",
  );
  const named = data.csv(new Blob(["a,b\n"]), { columnNames: ["a"], columnConfigs: {} });
  await fails(named.toArray(), "it has 2 columns, columnNames 1");
});

const spaced = 'x  y\tkind\n  1 2   a\n3\t\t4 "b ""c"" d"  \n\n5 6 "e\n f" \n';

Deno.test("csv() splits at runs of spaces and tabs with delimWhitespace", async () => {
  const rows = (text: string, more = {}) =>
    Array.fromAsync(
      data.csv(new Blob([text]), {
        columnConfigs: { x: {}, y: { dtype: "int32" }, kind: { dtype: "string" } },
        configuredColumnsOnly: true,
        delimWhitespace: true,
        ...more,
      }).asNumpyIterator(),
      ({ x, y, kind }) => [x.item(), y.item(), kind.text()],
    );
  assertEquals(await rows(spaced), [[1, 2, "a"], [3, 4, 'b "c" d'], [5, 6, "e\n f"]]);
  const { InvalidArgumentError } = tf.errors;
  await assertRejects(() => rows("x y kind\n1 2\n"), InvalidArgumentError, "the row is too short");
  await assertRejects(() => rows('x y kind\n1 2 "a"b\n'), InvalidArgumentError, "Quote inside");
  await assertRejects(() => rows('x y kind\n1 2 a"b\n'), InvalidArgumentError, "Unquoted fields");
  assertThrows(() => void rows("", { delimiter: " " }), tf.ValueError, "exclude each other");
});

Deno.test("columnNames() reads the first line, or takes those that are given", async () => {
  const file = new Blob(['\ufeffname,"the, age",town\nAnn,31,Ulm\n']), other = new Blob(["z\n"]);
  const { csv } = data;
  const columns = { town: "string", name: "string" } as const;
  const columnNames = ["a", "b", "c"];
  const configs = { columnConfigs: { town: {}, name: {} }, configuredColumnsOnly: true } as const;
  const folder = await Deno.makeTempDir(), path = `${folder}/rows.csv`;
  await Deno.writeTextFile(path, "p,q\n1,2\n");
  const table: readonly [string, () => Promise<string[]>, readonly string[]][] = [
    ["named columns", () => csv(file, { columns }).columnNames(), ["name", "the, age", "town"]],
    ["the first of files", () => csv([file, other], { columns }).columnNames(), [
      ...["name", "the, age", "town"],
    ]],
    ["columns in order", () => csv(other, { columns: ["string"], header: true }).columnNames(), [
      "z",
    ]],
    ["configured ones", () => csv(file, configs).columnNames(), ["town", "name"]],
    [
      "given names",
      () => csv(file, { columnNames, columnConfigs: { a: {} } }).columnNames(),
      columnNames,
    ],
    ["a path", () => csv(path, { columns: { p: "int32" } }).columnNames(), ["p", "q"]],
    [
      "a dataset of paths",
      () => csv(data.listFiles(`${folder}/*.csv`), { columns: { p: "int32" } }).columnNames(),
      ["p", "q"],
    ],
    ["an empty file", () => csv(new Blob([]), { columns }).columnNames(), []],
    [
      "a compressed file",
      async () => {
        const gzip = other.stream().pipeThrough(new CompressionStream("gzip"));
        const bytes = new Uint8Array(await new Response(gzip).arrayBuffer());
        return csv(bytes, { columns, compression: "GZIP" }).columnNames();
      },
      ["z"],
    ],
  ];
  for (const [name, names, wanted] of table) assertEquals(await names(), wanted, name);
  // A stage over rows is a dataset as any other, and columnNames() reads no element away.
  const rows = csv(path, { columns: { p: "int32" } });
  await rows.columnNames();
  assertEquals(await Array.fromAsync(rows.take(1).asNumpyIterator(), ({ p }) => p.item()), [1]);
  assertEquals("columnNames" in rows.take(1), false);
  const none = csv(other, { columns: ["string"] });
  await assertRejects(() => none.columnNames(), tf.ValueError, "no line of names");
  await assertRejects(() => csv([], { columns }).columnNames(), tf.ValueError, "there are none");
  await assertRejects(
    () => csv(`${folder}/none.csv`, { columns }).columnNames(),
    tf.errors.NotFoundError,
  );
  await Deno.remove(folder, { recursive: true });
});
