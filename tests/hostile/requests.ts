/** Requests for models as `messages.ts` mutates them: in JSON of both protocols, packed, and with binary tensors. */
import { gzipSync } from "node:zlib";
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
import { HttpError } from "../../src/serve/http_error.ts";
import { readJson } from "../../src/serve/json_reader.ts";
import { Slices } from "../../src/serve/slices.ts";
import { ask, several, square } from "../serve/models.ts";
import { utf8 } from "./files.ts";
import { join, type Kind } from "./message_kind.ts";
import { type Json, mutateBytes, mutateJson, type Random } from "./mutate.ts";

const handler = createHandler({ models: { m: square().f, s: several() } });

async function check(answer: Response): Promise<void> {
  const bytes = await answer.arrayBuffer();
  if (answer.status >= 500) throw new Error(new TextDecoder().decode(bytes));
  if (answer.status >= 400) throw new tf.ValueError("refused");
}

/** A request of version 2 whose inputs are bytes: the length of its JSON, the JSON, the bytes. */
function binaryRequest(model: string, inputs: readonly unknown[], bytes: Uint8Array): Uint8Array {
  const json = utf8(JSON.stringify({ inputs, outputs: [] }));
  return join([Uint8Array.of(model.charCodeAt(0), json.length >> 8, json.length), json, bytes]);
}

async function takeBinary(message: Uint8Array): Promise<void> {
  const [name = 0, high = 0, low = 0] = message;
  const model = name === 115 ? "s" : "m", length = high << 8 | low;
  const headers: Record<string, string> = { "inference-header-content-length": `${length}` };
  const body = new Uint8Array(message.subarray(3));
  await check(await ask(handler.fetch, `/v2/models/${model}/infer`, body, headers));
}

const binary = (name: string, datatype: string, shape: readonly number[], size: number) => ({
  ...{ name, datatype, shape },
  parameters: { binary_data_size: size },
});
const listed = (name: string, datatype: string, shape: number[], data: Json): Json => ({
  ...{ name, datatype, shape, data },
});

/** A request's model, its version of the protocol and whether it is packed are bits of its first byte. */
const SEVERAL = 1, V2 = 2, PACKED = 4;

const JSON_REQUESTS: readonly (readonly [number, Json])[] = [
  [0, { instances: [[1, -2.5e3], [0, 0.125]] }],
  [0, { inputs: { x: [[1, 2], [3, 4], [5, 6]] }, signature_name: "serving_default" }],
  [SEVERAL, {
    instances: [{ text: "a\n\u00e9", n: 9007199254740993, flag: true }, {
      text: { b64: "AP8=" },
      n: 1,
      flag: false,
    }],
  }],
  [V2, { id: "7", inputs: [listed("x", "FP32", [2, 2], [[1, 2], [3, 4]])] }],
  [V2 | SEVERAL, {
    inputs: [
      listed("text", "BYTES", [2], ["", "x"]),
      listed("n", "INT64", [2], [-1, 2]),
      listed("flag", "BOOL", [2], [true, false]),
    ],
    outputs: [{ name: "sum", parameters: { binary_data: true } }, { name: "text" }],
  }],
];

const jsonRequest = ([bits, json]: readonly [number, Json]): Uint8Array => {
  const text = utf8(JSON.stringify(json));
  return join([Uint8Array.of(bits), bits & PACKED ? gzipSync(text) : text]);
};

function mutateJsonRequest(sound: readonly Uint8Array[], random: Random): Uint8Array {
  if (random.below(2) === 0) return mutateBytes(random.of(sound), random, sound);
  const [bits, json] = random.of(JSON_REQUESTS);
  return jsonRequest([bits | (random.below(8) === 0 ? PACKED : 0), mutateJson(json, random)]);
}

/** Texts that our reader takes and JSON's does not, or the other way round: names of numbers, long ones, deep lists. */
const DIFFERENT = /NaN|Infinity|[\d.]{100}|\[{100}/;

/** Compares what is read of a text with what the engine reads. */
async function compareJson(bytes: Uint8Array): Promise<void> {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (DIFFERENT.test(text)) return;
  let wanted: unknown, got: unknown;
  try {
    wanted = { value: JSON.parse(text) };
  } catch { /* It is none. */ }
  try {
    got = { value: await readJson(bytes, new Slices()) };
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
  }
  const plain = (value: unknown): string | undefined =>
    JSON.stringify(value, (_, v) => typeof v === "bigint" ? Number(v) : v);
  assertEquals(plain(got), plain(wanted));
}

async function takeJson(message: Uint8Array): Promise<void> {
  const [bits = 0] = message, body = new Uint8Array(message.subarray(1));
  const isPacked = (bits & PACKED) !== 0, model = bits & SEVERAL ? "s" : "m";
  if (!isPacked) await compareJson(body);
  const path = bits & V2 ? `/v2/models/${model}/infer` : `/v1/models/${model}:predict`;
  const headers: Record<string, string> = isPacked ? { "content-encoding": "gzip" } : {};
  await check(await ask(handler.fetch, path, body, headers));
}

/** The kinds of requests, by name. */
export const REQUESTS: Readonly<Record<string, Kind>> = {
  "a request with binary tensors": {
    sound: () =>
      Promise.resolve([
        binaryRequest("m", [binary("x", "FP32", [2, 2], 16)], new Uint8Array(16)),
        binaryRequest(
          "s",
          [
            binary("text", "BYTES", [2], 11),
            binary("n", "INT64", [2], 16),
            binary("flag", "BOOL", [2], 2),
          ],
          join([Uint8Array.of(1, 0, 0, 0, 97, 2, 0, 0, 0, 98, 99), new Uint8Array(18)]),
        ),
      ]),
    take: takeBinary,
  },
  "a request in JSON": {
    sound: () =>
      Promise.resolve(
        JSON_REQUESTS.flatMap(([bits, json]) =>
          [bits, bits | PACKED].map((bits) => jsonRequest([bits, json]))
        ),
      ),
    mutate: mutateJsonRequest,
    take: takeJson,
  },
};
