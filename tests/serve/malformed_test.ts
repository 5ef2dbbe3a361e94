/** Requests that were damaged at random: each is answered, with what the client did wrong. */
import { createHandler } from "@weft/weft/serve";
import { assert, assertEquals } from "@std/assert";
import { effort } from "../effort.ts";
import { ask, several, square } from "./models.ts";

const SEEDS: readonly (readonly [string, string])[] = [
  ["/v1/models/m:predict", JSON.stringify({ instances: [[1, 2.5], [3e4, -4]] })],
  ["/v1/models/m:predict", JSON.stringify({ inputs: { x: [[1, 2]] }, signature_name: "f" })],
  [
    "/v1/models/s:predict",
    JSON.stringify({
      instances: [{ text: { b64: "QQ==" }, n: 12345678901234567n.toString(), flag: true }],
    }),
  ],
  [
    "/v2/models/m/infer",
    JSON.stringify({
      id: "1",
      inputs: [{ name: "x", shape: [1, 2], datatype: "FP32", data: [1, 2] }],
    }),
  ],
  [
    "/v2/models/s/infer",
    JSON.stringify({
      inputs: [
        { name: "text", shape: [1], datatype: "BYTES", data: ["a"] },
        { name: "n", shape: [1], datatype: "INT64", data: [9] },
        { name: "flag", shape: [1], datatype: "BOOL", data: [false] },
      ],
      outputs: [{ name: "sum" }],
    }),
  ],
];

const PIECES = ["", "[", "]", "{", "}", ",", ":", '"', "0", "-1", "1e999", "NaN", "null", "true"];
const MORE = ["[[[[", "9".repeat(40), "\u0000", "\ud800", '"b64"', '"__proto__":', "-", "\\", "é"];

/** A generator of numbers below 1 that repeats. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

Deno.test("damaged requests are answered with 4xx, and none is lost", async () => {
  const { fetch } = createHandler({ models: { m: square().f, s: several() } });
  const random = randomNumbers(5);
  const below = (n: number): number => Math.floor(random() * n);
  const count = effort(500, 10_000);
  const counts: Record<number, number> = {};
  for (let k = 0; k < count; k++) {
    let [path, body] = SEEDS[below(SEEDS.length)];
    for (let m = below(4); m >= 0; m--) {
      const at = below(body.length + 1), end = at + below(6);
      const all = [...PIECES, ...MORE];
      body = body.slice(0, at) + all[below(all.length)] + body.slice(end);
    }
    if (below(10) === 0) path = path.slice(0, below(path.length) + 1);
    const headers: Record<string, string> = below(8) === 0
      ? { "inference-header-content-length": `${below(2 * body.length)}` }
      : {};
    const answer = await ask(fetch, path, body, headers);
    const text = await answer.text();
    counts[answer.status] = (counts[answer.status] ?? 0) + 1;
    assert(answer.status < 500, `${path} ${body}: ${answer.status} ${text}`);
    if (answer.status >= 400) assertEquals(typeof JSON.parse(text).error, "string");
  }
  assert(counts[400] > count / 2, JSON.stringify(counts));
  const good = await ask(fetch, ...SEEDS[0]);
  assertEquals(good.status, 200);
});
