/** Costs of requests of few bytes: values that take more than they say, outputs by the thousand, and bodies that unpack to much. */
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { ask, several, square } from "./models.ts";

const texts = tf.function((s: tf.Tensor) => ({ t: tf.identity(s) }), {
  inputSignature: [tf.TensorSpec([null], "string", "s")],
});
const models = { m: square().f, s: several(), t: texts };
const PREDICT = "/v1/models/m:predict", TEXTS = "/v1/models/t:predict";

/** Tensors of so many empty strings, as bytes after their JSON. */
function emptyStrings(count: number): [Uint8Array, Record<string, string>] {
  const parameters = { binary_data_size: 4 * count };
  const inputs = [{ name: "s", shape: [count], datatype: "BYTES", parameters }];
  const json = new TextEncoder().encode(JSON.stringify({ inputs }));
  const body = new Uint8Array(json.length + 4 * count);
  body.set(json);
  return [body, { "inference-header-content-length": `${json.length}` }];
}

const listOf = (item: string, count: number): string => `[${Array(count).fill(item).join()}]`;

Deno.test("values count as the bytes that they take: 413 for a request that takes more than all may", async (t) => {
  const { fetch } = createHandler({ models, maxBodiesBytes: 1 << 20, timeoutMs: Infinity });
  for (
    const [name, path, item, few, many] of [
      ["objects", PREDICT, "{}", 4000, 200_000],
      ["lists", PREDICT, "[]", 4000, 200_000],
      ["rows with names", PREDICT, '{"x":[1,2]}', 4000, 40_000],
      ["strings", TEXTS, '""', 4000, 40_000],
      ["strings in base64", TEXTS, '{"b64":"QQ=="}', 3000, 20_000],
    ] as const
  ) {
    await t.step(name, async () => {
      const answer = async (count: number): Promise<Response> =>
        await ask(fetch, path, `{"instances":${listOf(item, count)}}`);
      assert([200, 400].includes((await answer(few)).status));
      const refused = await answer(many);
      assertEquals(refused.status, 413);
      assertEquals(
        (await refused.json()).error,
        "Cannot read the request: it takes more than 1048576 bytes",
      );
      // All that it took is given back.
      assert([200, 400].includes((await answer(few)).status));
    });
  }
  await t.step("strings as bytes", async () => {
    assertEquals((await ask(fetch, "/v2/models/t/infer", ...emptyStrings(4000))).status, 200);
    assertEquals((await ask(fetch, "/v2/models/t/infer", ...emptyStrings(40_000))).status, 413);
    assertEquals((await ask(fetch, "/v2/models/t/infer", ...emptyStrings(4000))).status, 200);
  });
  await t.step("numbers take no more than their text", async () => {
    const answer = await ask(fetch, PREDICT, `{"instances":${listOf("[1,2]", 100_000)}}`);
    assertEquals((await answer.json()).predictions.length, 100_000);
  });
});

Deno.test("names and outputs beyond what models have are refused before they cost anything", async () => {
  const { fetch } = createHandler({ models });
  const x = { name: "x", shape: [1, 2], datatype: "FP32", data: [1, 2] };
  const names = Array.from({ length: 5000 }, (_, i) => `"k${i}":1`).join();
  const texts = { name: "a".repeat(10_000), shape: [0], datatype: "FP32", data: [] };
  for (
    const [path, body, wanted] of [
      [PREDICT, `{"inputs":{${names}}}`, 'there is ":1,'],
      ["/v2/models/m/infer", { inputs: Array(2000).fill(x) }, '"inputs" has 2000 elements, wanted'],
      [
        "/v2/models/m/infer",
        { inputs: [x], outputs: Array(2000).fill({ name: "y" }) },
        '"outputs" has 2000 elements, wanted at most 1024',
      ],
      [
        "/v2/models/m/infer",
        { inputs: [x], outputs: [{ name: "y" }, { name: "z" }, { name: "y" }] },
        'output "y" is there twice',
      ],
      [
        "/v2/models/m/infer",
        {
          inputs: Array.from({ length: 100 }, (_, i) => ({ ...texts, name: `${texts.name}${i}` })),
        },
        "and 84 more",
      ],
    ] as const
  ) {
    const answer = await ask(fetch, path, body);
    assertEquals(answer.status, 400);
    const { error } = await answer.json();
    assertStringIncludes(error, wanted);
    assert(error.length < 3000, `${error.length}`);
  }
});

async function packed(text: string, coding: CompressionFormat): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream(coding));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

Deno.test("packed bodies are read in pieces: others have their turns, and what unpacks to too much is 413", async () => {
  const { fetch } = createHandler({ models, maxBodyBytes: 16 << 20, timeoutMs: Infinity });
  const row = "[1,2],", count = 200_000;
  for (const [coding, name] of [["gzip", "GZip"], ["deflate", "deflate"]] as const) {
    const headers = { "content-encoding": name };
    const body = await packed(`{"instances":[${row.repeat(count)}[3,4]]}`, coding);
    const whole = await ask(fetch, PREDICT, body, headers);
    assertEquals((await whole.json()).predictions.at(-1), [9, 16]);
    // Each look at the clock ends a slice, so that each piece takes a turn on machines of any speed.
    let turns = 0, isOver = false, clock = 0;
    using _ = stub(performance, "now", () => clock += 10);
    const bomb = ask(fetch, PREDICT, await packed(" ".repeat(64 << 20), coding), headers)
      .finally(() => isOver = true);
    for (; !isOver; turns++) await nextTask();
    assertEquals((await bomb).status, 413);
    // A piece unpacks to a quarter of the bytes that are allowed.
    assert(turns >= 4, `${turns}`);
  }
});
