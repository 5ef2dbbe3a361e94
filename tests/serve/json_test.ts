/** JSON of requests and answers: numbers are exact, time is linear and in slices, hostile texts are refused. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHandler } from "@weft/weft/serve";
import { effort } from "../effort.ts";
import { HttpError } from "../../src/serve/http_error.ts";
import { readJson } from "../../src/serve/json_reader.ts";
import { Slices } from "../../src/serve/slices.ts";
import { shown } from "../../src/serve/values.ts";
import { ask } from "./models.ts";

const encoder = new TextEncoder();
const read = (text: string): Promise<unknown> => readJson(encoder.encode(text), new Slices());

Deno.test("readJson() reads what JSON.parse() reads", async () => {
  const texts = [
    ...["0", "-0", "1.5e-7", "1E+3", "-12.25", "123456789012345", "0.1", "1e400", "5e-324"],
    ...[
      "0.30000000000000004",
      "9007199254740991",
      "1.7976931348623157e308",
      "2.2250738585072014e-308",
    ],
    ...['""', '"a\\"b\\\\"', '"\\u0041\\ud83d\\ude00"', '"é😀"', '"\\\\"', '"a\\\\\\""'],
    ...["[]", "{}", "[[],{}]", " [ 1 , 2 ] ", '{"a":{"b":[true,false,null]},"c":"d"}'],
    ...['{"a":1,"a":2}', '{"__proto__":{"x":1}}', '["a\\n",["b"],"c\\"",{"d\\\\":"e"}]'],
  ];
  for (const text of texts) {
    const value = await read(text), wanted = JSON.parse(text);
    assertEquals(value, wanted, text);
    assert(Object.is(value, wanted) || typeof value === "object", text);
  }
  assertEquals(({} as { x?: number }).x, undefined);
});

Deno.test("readJson() keeps integers that a double would round, and names that JSON has not", async () => {
  assertEquals(
    await read("[9007199254740993,-9223372036854775808,18446744073709551615,9007199254740992]"),
    [9007199254740993n, -9223372036854775808n, 18446744073709551615n, 9007199254740992n],
  );
  assertEquals(await read(`[${"9".repeat(400)},NaN,Infinity,-Infinity]`), [
    Infinity,
    NaN,
    Infinity,
    -Infinity,
  ]);
  for (const mb of [0, 1, 4]) {
    const text = `{"s":["${"a".repeat(mb << 20)}"],"id":[9007199254740993]}`;
    const { id } = await read(text) as { id: bigint[] };
    assertEquals(id, [9007199254740993n]);
  }
});

Deno.test("readJson() refuses what is no JSON, and says where", async () => {
  const bad = [
    ...[
      "",
      " ",
      "{",
      "[",
      "[1",
      "[1,",
      "[1,]",
      "[,1]",
      '{"a"',
      '{"a":',
      '{"a":1,}',
      "{a:1}",
      "[1 2]",
    ],
    ...[
      "01",
      "-",
      "+1",
      ".5",
      "1.",
      "1e",
      "--1",
      "0x1",
      "1n",
      "nul",
      "NaNa",
      "-Inf",
      "tru",
      "Infinit",
    ],
    ...['"', '"\\', '"\\x"', '"\\u12"', '"a\nb"', "'a'", "1 1", "[]]", '{"a":1]', "[1}", "{1:2}"],
    ...["\u0000", "[".repeat(1000), `${"[".repeat(600)}${"]".repeat(600)}`, "9".repeat(2000)],
  ];
  for (const text of bad) {
    const error = await assertRejects(
      () => read(text),
      HttpError,
      "Cannot read the request's JSON",
    );
    assertEquals(error.status, 400);
    assert(/at byte \d+$/.test(error.message), error.message);
  }
});

Deno.test("readJson() and JSON.parse() agree about texts that were changed at random", async () => {
  const seeds = [
    '{"a":[1,-2.5e3,"x\\"y"],"b":{"c":null}}',
    "[[1,2],[3,4.125]]",
    '{"s":"é\\\\","t":true}',
  ];
  const letters = '{}[],:"\\0159.eE+-tnu ax\n';
  let state = 12345;
  const random = (n: number): number => (state = (state * 1103515245 + 12345) % 2 ** 31) % n;
  for (let k = 0; k < effort(3000, 100_000); k++) {
    let text = seeds[random(seeds.length)];
    for (let m = 0; m <= random(3); m++) {
      const at = random(text.length + 1), letter = letters[random(letters.length)];
      text = text.slice(0, at) + letter + text.slice(at + random(2));
    }
    let wanted: unknown;
    try {
      wanted = JSON.parse(text);
    } catch {
      wanted = HttpError;
    }
    const value = await read(text).catch((error) => error instanceof HttpError ? HttpError : error);
    assertEquals(value, wanted, JSON.stringify(text));
  }
});

/** Counts how often work could rest. */
class Counted extends Slices {
  turns = 0;
  override turn(): Promise<void> | void {
    this.turns++;
    return super.turn();
  }
}

Deno.test("long texts are read in slices, whose number grows with their length", async () => {
  const turns = async (n: number): Promise<number> => {
    const slices = new Counted();
    await readJson(
      encoder.encode(JSON.stringify(Array.from({ length: n }, (_, i) => [i]))),
      slices,
    );
    return slices.turns;
  };
  const [a, b] = [await turns(100_000), await turns(200_000)];
  assert(a >= 20 && b >= 2 * a - 1 && b <= 2 * a + 2, `${a} ${b}`);
});

Deno.test("work in slices ends when its request is given up", async () => {
  const controller = new AbortController(), reason = new HttpError(504, "late");
  controller.abort(reason);
  const slices = new Slices(controller.signal);
  const until = performance.now() + 20;
  while (performance.now() < until);
  const error = await assertRejects(async () => await slices.turn(), HttpError);
  assertEquals(error, reason);
});

const types = (dtype: tf.DType) =>
  tf.function((x: tf.Tensor) => ({ y: tf.identity(x), y_bytes: tf.identity(x) }), {
    inputSignature: [tf.TensorSpec([null], dtype, "x")],
  });

Deno.test("elements are what their dtype holds, or the request is refused", async () => {
  const table: [tf.DType, string, string | null][] = [
    ["int8", "-128", "-128"],
    ["int8", "128", null],
    ["uint8", "255", "255"],
    ["uint8", "-1", null],
    ["int32", "-0", "0"],
    ["int32", "1.5", null],
    ["int32", "2147483648", null],
    ["int64", "9223372036854775807", "9223372036854775807"],
    ["int64", "9223372036854775808", null],
    ["int64", "9".repeat(50), null],
    ["uint64", "18446744073709551615", "18446744073709551615"],
    ["uint64", "-1", null],
    ["float32", "12345678901234567890", "12345679395506094000"],
    ["float64", "9007199254740993", "9007199254740992"],
    ["float64", "-Infinity", "-Infinity"],
    ["bool", "1", "true"],
    ["bool", "2", null],
  ];
  for (const [dtype, text, wanted] of table) {
    const { fetch } = createHandler({ models: { m: types(dtype) } });
    const answer = await ask(fetch, "/v1/models/m:predict", `{"inputs":[${text}]}`);
    const told = await answer.text();
    assertEquals(answer.status, wanted === null ? 400 : 200, told);
    if (wanted !== null) assertEquals(told, `{"outputs":{"y":[${wanted}],"y_bytes":[${wanted}]}}`);
  }
});

Deno.test("outputs called …_bytes are always in base64, others where they are no text", async () => {
  const { fetch } = createHandler({ models: { m: types("string") } });
  const body = { instances: ["abc", { b64: "/w==" }] };
  const answer = await ask(fetch, "/v1/models/m:predict", body);
  assertEquals(await answer.json(), {
    predictions: [{ y: "abc", y_bytes: { b64: "YWJj" } }, {
      y: { b64: "/w==" },
      y_bytes: { b64: "/w==" },
    }],
  });
});

Deno.test("numbers that JSON has not are refused in answers of version 2, which has bytes for them", async () => {
  const { fetch } = createHandler({ models: { m: types("float32") } });
  const inputs = [{ name: "x", shape: [2], datatype: "FP32", data: [1, 2] }];
  for (const text of ["NaN", "Infinity", "-Infinity"]) {
    const body = JSON.stringify({ inputs }).replace("2]}", `${text}]}`);
    const answer = await ask(fetch, "/v2/models/m/infer", body);
    assertEquals(answer.status, 400);
    assert((await answer.text()).includes("binary_data"));
    const binary = body.replace('{"inputs"', '{"parameters":{"binary_data_output":true},"inputs"');
    const bytes = await (await ask(fetch, "/v2/models/m/infer", binary)).arrayBuffer();
    assertEquals(new Float32Array(bytes.slice(-4))[0], Number(text));
    const first = await ask(fetch, "/v1/models/m:predict", `{"inputs":[${text}]}`);
    assert((await first.text()).includes(text), "TensorFlow's servers write them by name");
  }
});

Deno.test("shapes with a 0 have no more rows than their request has bytes", async () => {
  const f = tf.function((x: tf.Tensor) => ({ y: tf.sum(x, 1) }), {
    inputSignature: [tf.TensorSpec([null, null], "float32", "x")],
  });
  const { fetch } = createHandler({ models: { m: f } });
  const empty = async (rows: number, binary: boolean): Promise<number> => {
    const data = binary ? { parameters: { binary_data_size: 0 } } : { data: [] };
    const inputs = [{ name: "x", shape: [rows, 0], datatype: "FP32", ...data }];
    return (await ask(fetch, "/v2/models/m/infer", { inputs })).status;
  };
  for (const binary of [false, true]) {
    if (!binary) assertEquals(await empty(3, binary), 200);
    for (const rows of [1e4, 2e7, 2 ** 40]) assertEquals(await empty(rows, binary), 400);
  }
});

Deno.test("long answers come in parts, with the same text", async () => {
  const f = tf.function((n: tf.Tensor) => ({ y: tf.range(0, tf.reshape(n, []), 1) }), {
    inputSignature: [tf.TensorSpec([1], "int32", "n")],
  });
  const { fetch } = createHandler({ models: { m: f } });
  const answer = await ask(fetch, "/v1/models/m:predict", { inputs: [20_000] });
  const { outputs } = await answer.json();
  assertEquals([outputs.length, outputs.at(-1)], [20_000, 19_999]);
});

Deno.test("messages show the beginning of a client's value, and cost no more than that", () => {
  const visited = { count: 0 };
  const row = (): unknown => ({
    get x() {
      visited.count++;
      return 1;
    },
  });
  const many = Array.from({ length: 100_000 }, row);
  for (
    const value of [
      "a".repeat(100),
      "\n".repeat(100),
      [1, 2, 3],
      Array(1000).fill(12345n),
      Array(1000).fill([]),
      [[1, [2, Array(100).fill(3)]], Array(100).fill({ b: 1 })],
      { a: Array(100).fill("b"), c: 1 },
      null,
      5,
      many,
    ]
  ) {
    const text = JSON.stringify(value, (_, v) => typeof v === "bigint" ? `${v}` : v);
    visited.count = 0;
    assertEquals(shown(value), text.length > 60 ? `${text.slice(0, 57)}...` : text);
  }
  assertEquals(visited.count < 100, true, `${visited.count} elements of a long list were read`);
});
