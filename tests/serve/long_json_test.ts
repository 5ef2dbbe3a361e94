/** JSON of long requests: numbers of lists are no objects of their own, and strings are read part by part. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createHandler } from "@weft/weft/serve";
import { effort } from "../effort.ts";
import { HttpError } from "../../src/serve/http_error.ts";
import { readJson } from "../../src/serve/json_reader.ts";
import { LongList, LongText } from "../../src/serve/long_text.ts";
import { NumberGrid } from "../../src/serve/number_grid.ts";
import { Slices } from "../../src/serve/slices.ts";
import { ask, several } from "./models.ts";

/** Spaces that make a text long. */
const LONG = " ".repeat(70_000);
const read = (text: string): Promise<unknown> =>
  readJson(new TextEncoder().encode(text), new Slices());

/** The value as `JSON.parse` gives it. */
async function plain(value: unknown): Promise<unknown> {
  if (value instanceof LongText) return new TextDecoder().decode(await value.bytes(new Slices()));
  if (value instanceof NumberGrid) {
    let at = 0;
    const listed = ([length, ...rest]: readonly number[]): unknown =>
      length === undefined ? value.at(at++) : Array.from({ length }, () => listed(rest));
    return listed(value.shape);
  }
  if (value instanceof LongList) return await plain(value.toArray());
  if (Array.isArray(value)) return await Promise.all(value.map(plain));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(async ([k, v]) => [k, await plain(v)]);
  return Object.fromEntries(await Promise.all(entries));
}

Deno.test("long lists of numbers whose lengths agree become grids, others remain lists", async () => {
  const row = (k: number): number[] => [k, -k / 8, 1e3 * k];
  const rows = Array.from({ length: 20_000 }, (_, k) => row(k));
  const got = await read(JSON.stringify({ rows, few: [[1, 2], [3, 4]] })) as Record<
    string,
    unknown
  >;
  assert(got.rows instanceof NumberGrid);
  assertEquals([got.rows.shape, got.rows.size, got.rows.chunks.length], [[20_000, 3], 60_000, 4]);
  assertEquals(await plain(got.rows), rows);
  assertEquals(got.few, [[1, 2], [3, 4]]);
  const last = (more: string): string => `[${JSON.stringify(rows).slice(1, -1)},${more}]`;
  for (const more of ["[1,2]", "[1,2,3,4]", "[1,2,[3]]", "1", "[]", "[1,2,null]", '"x"', "{}"]) {
    const lists = await read(last(more));
    assert(lists instanceof LongList, more);
    assertEquals(lists.at(lists.length - 1), JSON.parse(more), more);
    assertEquals(lists.toArray().slice(0, -1), rows);
  }
  const exact = await read(last("[1,2,9007199254740993]")) as LongList;
  assertEquals(exact.at(exact.length - 1), [1, 2, 9007199254740993n]);
  const refused = [
    "[1,2,]",
    "[1,2,3",
    "[1 2,3]",
    "[1,2,03]",
    `[1,2,${"9".repeat(2000)}]`,
    "[1,,3]",
  ];
  for (const more of refused) {
    await assertRejects(() => read(last(more)), HttpError, "at byte", more);
  }
  await assertRejects(() => read("[".repeat(100_000)), HttpError, "at byte");
});

Deno.test("long texts and JSON.parse() agree about lists that were made at random", async () => {
  let state = 4321;
  const random = (n: number): number => (state = (state * 1103515245 + 12345) % 2 ** 31) % n;
  const value = (depth: number): string => {
    const kind = random(depth > 3 ? 2 : 4), space = random(5) === 0 ? " " : "";
    if (kind === 0) return `${random(200) / 4}`;
    if (kind === 1) return ["null", '"a"', "true", "{}", "1e2", "-0", "[]"][random(7)]!;
    const inner = random(4) === 0 ? null : value(depth + 1);
    const items = Array.from({ length: random(4) }, () => inner ?? value(depth + 1));
    return `[${items.join(`,${space}`)}${space}]`;
  };
  const letters = "[],0 1-.";
  for (let k = 0; k < effort(300, 3000); k++) {
    let text = `{"a":${LONG}[${value(0)},${value(0)}],"b":[${value(0)}]}`;
    if (random(3) === 0) {
      const at = LONG.length + 5 + random(text.length - LONG.length - 5);
      text = text.slice(0, at) + letters[random(letters.length)] + text.slice(at + random(2));
    }
    let wanted: unknown;
    try {
      wanted = JSON.parse(text);
    } catch {
      wanted = HttpError;
    }
    const got = await read(text).then(plain, (e) => e instanceof HttpError ? HttpError : e);
    assertEquals(JSON.stringify(got), JSON.stringify(wanted), text.trim());
  }
});

Deno.test("long strings are their text, wherever a part of them ends", async () => {
  // A part has 65,536 bytes: what stands around that place must not be cut.
  for (
    const what of ["é", "\u{1f600}", "\\ud83d\\ude00", "\\u00e9", "\\n", "\\\\", '\\"', "\ufeff"]
  ) {
    for (let before = 65_520; before <= 65_540; before++) {
      const text = `["${"a".repeat(before)}${what}${"b".repeat(30)}${what}","${what}"]`;
      assertEquals(await plain(await read(text)), JSON.parse(text), `${what} after ${before}`);
    }
  }
  const a = "a".repeat(100_000);
  for (const end of ["", "\\", '\\"', "\\u12", '\\u12"]', '\\x"]', '\n"]', '\u0000"]']) {
    await assertRejects(() => read(`["${a}${end}`), HttpError, "at byte");
  }
  await assertRejects(() => read(`{"${a}":1}`), HttpError, "at byte");
});

Deno.test("a long request is answered as a short one is", async () => {
  const types = (dtype: tf.DType) =>
    tf.function((x: tf.Tensor) => ({ y: tf.identity(x) }), {
      inputSignature: [tf.TensorSpec(null, dtype, "x")],
    });
  const dtypes = ["float32", "int32", "int64", "bool", "uint8", "string"] as const;
  const { fetch } = createHandler({
    models: Object.fromEntries(dtypes.map((dtype) => [dtype, types(dtype)])),
    timeoutMs: Infinity,
  });
  const shape = [20_000, 3], numbers = Array.from({ length: 20_000 }, (_, k) => [k % 2, 0, 1]);
  for (const dtype of ["float32", "int32", "int64", "bool", "uint8"] as const) {
    const wanted = dtype === "bool" ? numbers.map((row) => row.map((v) => v === 1)) : numbers;
    const answer = await ask(fetch, `/v1/models/${dtype}:predict`, { instances: numbers });
    assertEquals(await answer.json(), { predictions: wanted }, dtype);
    const datatype = dtype === "float32" ? "FP32" : dtype.toUpperCase();
    for (const data of [numbers, numbers.flat()]) {
      const inputs = [{ name: "x", datatype, shape, data }];
      const { outputs } = await (await ask(fetch, `/v2/models/${dtype}/infer`, { inputs })).json();
      assertEquals(outputs[0].data, wanted.flat(), dtype);
    }
  }
  const wrong = async (model: string, x: unknown): Promise<string> => {
    const answer = await ask(fetch, `/v1/models/${model}:predict`, { instances: x });
    return `${answer.status} ${(await answer.json()).error}`;
  };
  const halves = numbers.map(([a]) => [a, 0.5]);
  assertEquals(
    await wrong("int32", halves),
    '400 Cannot read input "x": element 1 is 0.5, wanted int32',
  );
  assertStringIncludes(await wrong("string", numbers), "wanted a string or");
  const inputs = [{ name: "x", datatype: "FP32", shape: [7], data: numbers }];
  const answer = await ask(fetch, "/v2/models/float32/infer", { inputs });
  assertEquals(
    (await answer.json()).error,
    'Cannot read input "x": it has 60000 values, its shape [7] wants 7',
  );
  const text = `é${"x".repeat(100_000)}`, bytes = new Uint8Array(100_000).map((_, i) => i * i);
  const strings = await ask(fetch, "/v1/models/string:predict", {
    instances: [text, "short", { b64: bytes.toBase64() }, { b64: "AP8=" }],
  });
  assertEquals(await strings.json(), {
    predictions: [text, "short", { b64: bytes.toBase64() }, { b64: "AP8=" }],
  });
  for (const b64 of ["A".repeat(100_001), `AA==${"A".repeat(100_000)}`, "?".repeat(100_000)]) {
    assertEquals(
      await wrong("string", [{ b64 }]),
      '400 Cannot read input "x": its "b64" is not base64',
    );
  }
  const message = await wrong("float32", [text]);
  assert(message.length < 200 && message.includes("éxxx"), message.slice(0, 300));
});

Deno.test("long lists of texts, flags and rows with names are read as short ones are", async () => {
  const { fetch } = createHandler({ models: { several: several() }, timeoutMs: Infinity });
  const count = 20_000, at = Array.from({ length: count }, (_, i) => i);
  const rows = at.map((i) => ({ text: `t${i}`, n: i, flag: i % 3 === 0 }));
  const wanted = at.map((i) => ({ text: `t${i}`, sum: 2 * i, flag: i % 3 !== 0 }));
  const predict = async (body: unknown): Promise<Record<string, unknown>> =>
    await (await ask(fetch, "/v1/models/several:predict", body)).json();
  assertEquals(await predict({ instances: rows }), { predictions: wanted });
  const columns = {
    text: rows.map((r) => r.text),
    n: rows.map((r) => r.n),
    flag: rows.map((r) => r.flag),
  };
  const { outputs } = await predict({ inputs: columns });
  assertEquals(
    outputs,
    Object.fromEntries(
      ["text", "sum", "flag"].map((k) => [k, wanted.map((r) => r[k as "text"])]),
    ),
  );
  const inputs = [["text", "BYTES"], ["n", "INT64"], ["flag", "BOOL"]].map(([name, datatype]) => ({
    name,
    datatype,
    shape: [count],
    data: columns[name as "text"],
  }));
  const answer = await ask(fetch, "/v2/models/several/infer", { inputs });
  const got: { name: string; data: unknown }[] = (await answer.json()).outputs;
  assertEquals(Object.fromEntries(got.map(({ name, data }) => [name, data])), outputs);
  const late = <T>(row: T): unknown => rows.map((r, i) => i === 15_000 ? row : r);
  const errors: readonly (readonly [unknown, string])[] = [
    [{ instances: late({ text: "a", n: 1 }) }, "instance 15000: it has not the inputs"],
    [{ instances: late({ text: "a", n: 1, flags: true }) }, 'instance 15000: it has no "flag"'],
    [{ instances: late([]) }, "instance 15000: it has not the inputs"],
    [{ instances: late({ text: "a", n: "1", flag: true }) }, 'element 15000 is "1", wanted int64'],
    [{ instances: late({ text: ["a"], n: 1, flag: true }) }, "lists have different lengths"],
    [{ inputs: { ...columns, flag: [columns.flag] } }, "Cannot"],
  ];
  for (const [body, error] of errors) assertStringIncludes(`${(await predict(body)).error}`, error);
  const many = await ask(fetch, "/v2/models/several/infer", { inputs: at.map(() => ({})) });
  assertStringIncludes((await many.json()).error, '"inputs" has 20000 elements, wanted at most');
});
