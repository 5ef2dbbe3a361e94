/** Workers answer requests of createHandler() without web-standard ones, and those of other handlers by them. */
import * as tf from "@weft/weft";
import { createHandler, type Handler } from "@weft/weft/serve";
import { assertEquals } from "@std/assert";
import { concatBytes } from "../../src/library/io/bytes.ts";
import { type Reply, WorkerScope } from "./worker_scope.ts";

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const handler = (): Handler =>
  createHandler({
    models: {
      square: tf.function((x: tf.Tensor) => ({ y: tf.square(x) }), {
        inputSignature: [tf.TensorSpec([null], "float32", "x")],
      }),
    },
    maxBodyBytes: 1000,
    origins: ["https://a.example"],
  });

/** A request. Parts of a body come when they are asked for, and a text is why they do not. */
interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array<ArrayBuffer> | null;
  readonly parts?: readonly (Uint8Array | string | null)[];
}

const PREDICT = "/v1/models/square:predict";

/** Asks the worker, and returns its status and what it says. */
async function ask(
  of: Handler,
  { method = "POST", path = PREDICT, headers = [], body = null, parts }: Asked,
): Promise<readonly [number, string, number]> {
  using scope = new WorkerScope(of);
  const { promise, resolve } = Promise.withResolvers<NonNullable<Reply["answer"]>>();
  let asked = 0;
  scope.said = ({ kind, answer }) => {
    if (kind === "response") resolve(answer!);
    if (kind !== "pull") return;
    const part = parts![asked++];
    scope.hear({ kind: "part", id: 7, part: typeof part === "string" ? { failed: part } : part });
  };
  const whole = typeof body === "string" ? utf8(body).buffer : body?.buffer ?? null;
  const url = `http://localhost${path}`;
  const sent = parts === undefined ? whole : "later";
  scope.hear({ kind: "request", id: 7, url, method, headers, isAlone: true, body: sent });
  const answer = await promise;
  return [answer.status, new TextDecoder().decode(answer.body), asked];
}

const GZIP = ["content-encoding", "gzip"];

async function packed(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(stream).bytes();
}

const TEXT = '{"instances":[2,3]}', SQUARES = '{"predictions":[4,9]}';

const CASES: Readonly<Record<string, () => Promise<Asked> | Asked>> = {
  "a whole body": () => ({ body: TEXT }),
  "a body in parts": () => ({ parts: [utf8(TEXT.slice(0, 5)), utf8(TEXT.slice(5)), null] }),
  "a whole body that is packed": async () => ({ headers: GZIP, body: await packed(TEXT) }),
  "a packed body in parts": async () => {
    const bytes = await packed(TEXT);
    return { headers: GZIP, parts: [bytes.slice(0, 9), bytes.slice(9), null] };
  },
};

for (const [name, asked] of Object.entries(CASES)) {
  Deno.test(`a worker makes no web-standard request or response for ${name}`, async () => {
    const of = handler(), given = await asked(), made: string[] = [];
    const own = { Request, Response };
    for (const kind of ["Request", "Response"] as const) {
      const counting = new Proxy(own[kind], {
        construct(target, args, as) {
          made.push(kind);
          return Reflect.construct(target, args, as);
        },
      });
      Object.assign(globalThis, { [kind]: counting });
    }
    try {
      const [status, said] = await ask(of, given);
      assertEquals([status, said, made], [200, SQUARES, []]);
    } finally {
      Object.assign(globalThis, own);
    }
  });
}

const REFUSED: Readonly<Record<string, readonly [Asked, number, RegExp, number]>> = {
  "an unknown path": [{ path: "/nowhere", parts: [] }, 404, /Cannot find \/nowhere/, 0],
  "a URL that is none": [{ path: ":x/", parts: [] }, 400, /URL/, 0],
  "another method": [{ method: "TRACE", parts: [] }, 405, /Cannot TRACE here/, 0],
  "no body": [{ body: null }, 400, /ends too early/, 0],
  "an empty body": [{ body: "" }, 400, /ends too early/, 0],
  "a whole body that is too long": [{ body: " ".repeat(1001) }, 413, /more than 1000 bytes/, 0],
  "parts that are too long": [
    { parts: [new Uint8Array(600), new Uint8Array(600), new Uint8Array(600), null] },
    413,
    /more than 1000 bytes/,
    2,
  ],
  "a declared length that is too long": [
    { headers: ["content-length", "1001"], parts: [null] },
    413,
    /more than 1000 bytes/,
    0,
  ],
  "a body that breaks off": [{ parts: [utf8("{"), "it left"] }, 400, /it left/, 2],
  "a coding that is none": [
    { headers: ["content-encoding", "br"], body: TEXT },
    415,
    /content-encoding is ..br../,
    0,
  ],
  "a packed body that is damaged": [{ headers: GZIP, body: TEXT }, 400, /Cannot read/, 0],
  "a number that is none": [{ body: '{"instances":["a"]}' }, 400, /element 0 is ..a../, 0],
};

for (const [name, [asked, status, text, parts]] of Object.entries(REFUSED)) {
  Deno.test(`a worker refuses ${name}, and reads no more of it`, async () => {
    const [got, said, pulled] = await ask(handler(), asked);
    assertEquals([got, text.test(said), pulled], [status, true, parts], said);
  });
}

Deno.test("a worker takes lists of headers: those that are there twice are joined", async () => {
  const headers = ["origin", "https://a.example", "x-timeout-ms", "1", "x-timeout-ms", "2"];
  const [status, said] = await ask(handler(), { headers, body: TEXT });
  assertEquals([status, said.includes('x-timeout-ms \\"1, 2\\"')], [400, true], said);
});

Deno.test("handlers of others get web-standard requests, with whole bodies and those in parts", async () => {
  const of: Handler = {
    async fetch(request) {
      const { method, headers } = request;
      return new Response(`${method} ${headers.get("a")} ${await request.text()}`, { status: 201 });
    },
    drain: () => Promise.resolve(),
  };
  const headers = ["a", "1", "a", "2"];
  assertEquals(await ask(of, { headers, body: "xyz" }), [201, "POST 1, 2 xyz", 0]);
  assertEquals(await ask(of, { headers, parts: [utf8("x"), utf8("yz"), null] }), [
    201,
    "POST 1, 2 xyz",
    3,
  ]);
  assertEquals(await ask(of, { method: "GET" }), [201, "GET null ", 0]);
  const [status, said] = await ask(of, { method: "TRACE" });
  assertEquals([status, said.includes("Cannot read the request")], [400, true]);
});

Deno.test("a long answer comes whole from a worker", async () => {
  const rows = Array.from({ length: 9000 }, (_, i) => i % 7);
  const of = createHandler({
    models: {
      square: tf.function((x: tf.Tensor) => ({ y: tf.square(x) }), {
        inputSignature: [tf.TensorSpec([null], "float32", "x")],
      }),
    },
  });
  const [status, said] = await ask(of, { body: JSON.stringify({ instances: rows }) });
  const wanted = JSON.stringify({ predictions: rows.map((x) => x * x) });
  assertEquals([status, said === wanted], [200, true]);
  const inputs = [{ name: "x", shape: [9000], datatype: "FP32", data: rows }];
  const binary = JSON.stringify({ inputs, parameters: { binary_data_output: true } });
  using scope = new WorkerScope(of);
  const { promise, resolve } = Promise.withResolvers<NonNullable<Reply["answer"]>>();
  scope.said = ({ answer }) => answer && resolve(answer);
  const body = utf8(binary).buffer, url = "http://localhost/v2/models/square/infer";
  scope.hear({ kind: "request", id: 1, url, method: "POST", headers: [], isAlone: true, body });
  const { headers, body: bytes } = await promise;
  const length = Number(new Map(headers).get("inference-header-content-length"));
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, length)));
  assertEquals(head.outputs[0].parameters, { binary_data_size: 36_000 });
  const values = new Float32Array(concatBytes([bytes.subarray(length)]).buffer);
  assertEquals([...values], rows.map((x) => x * x));
});
