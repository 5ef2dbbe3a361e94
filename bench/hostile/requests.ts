// Attacks on a server of models by HTTP.

import { type Attack, send, sendFromMany, sleep, utf8 } from "./attack.ts";

const PREDICT = "/v1/models/mlp:predict";

function head(path: string, length: number, more = ""): Uint8Array {
  return utf8(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n${more}\r\n`);
}

const post = async (
  port: number,
  path: string,
  { body, signal, headers = {} }: {
    readonly body: string;
    readonly signal: AbortSignal;
    readonly headers?: Record<string, string>;
  },
): Promise<void> => {
  const url = `http://127.0.0.1:${port}${path}`;
  const answer = await fetch(url, { method: "POST", body, signal, headers });
  await answer.body?.cancel();
};

const LONG_NUMBER = `{"instances":[[${"9".repeat(2_000_000)}]]}`;
const DEEP = `{"instances":${"[".repeat(1_000_000)}`;
const MANY = `{"instances":[${"[1,2,3,4],".repeat(400_000)}[1,2,3,4]]}`;
const LONG_TEXT = `{"instances":["${"a".repeat(8_000_000)}"]}`;
const MANY_BYTES = utf8(MANY.slice(0, 399_994) + "[1,2,3,4]]}");
const OBJECTS = `{"instances":[${"{},".repeat(2_000_000)}{}]}`;
const PIPELINED = utf8("GET /v2 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(5000));
const FIELDS = utf8(
  `GET / HTTP/1.1\r\nHost: a\r\n${
    Array.from({ length: 1500 }, (_, i) => `a${i}: b\r\n`).join("")
  }\r\n`,
);
const PACKED = new Response(
  new Blob([new Uint8Array(64 << 20)]).stream().pipeThrough(new CompressionStream("gzip")),
).bytes();
const LONG_BODY = new Uint8Array(30 << 20);

export const REQUESTS: Readonly<Record<string, Attack>> = {
  "bodies that come byte by byte": ({ serve }, signal) =>
    sendFromMany(
      20,
      () =>
        send(serve, [head(PREDICT, 1e6), ...Array(50).fill(utf8("["))], { signal, pauseMs: 100 }),
    ),
  "bodies without their last byte": ({ serve }, signal) =>
    sendFromMany(
      2,
      () => send(serve, [head(PREDICT, LONG_BODY.length + 1), LONG_BODY], { signal, stayMs: 3000 }),
    ),
  "open connections": ({ serve }, signal) =>
    sendFromMany(200, () => send(serve, [utf8("POST /v1")], { signal, stayMs: 5000 })),
  "headers without end": ({ serve }, signal) =>
    send(serve, [
      utf8("GET / HTTP/1.1\r\n"),
      ...Array(2000).fill(utf8(`a: ${"b".repeat(100)}\r\n`)),
    ], {
      signal,
    }),
  "a number of two million digits": ({ serve }, signal) =>
    post(serve, PREDICT, { body: LONG_NUMBER, signal }),
  "a million open lists": ({ serve }, signal) => post(serve, PREDICT, { body: DEEP, signal }),
  "very many rows": ({ serve }, signal) =>
    post(serve, PREDICT, { body: MANY, signal, headers: { "x-timeout-ms": "1000" } }),
  "a long text": ({ serve }, signal) => post(serve, PREDICT, { body: LONG_TEXT, signal }),
  "rows without elements": ({ serve }, signal) => {
    const inputs = [{ name: "x", shape: [2e9, 0], datatype: "FP32", data: [] }];
    return post(serve, "/v2/models/mlp/infer", { body: JSON.stringify({ inputs }), signal });
  },
  "declared lengths of binary tensors": ({ serve }, signal) => {
    const parameters = { binary_data_size: 2 ** 30 };
    const inputs = [{ name: "x", shape: [2 ** 28, 4], datatype: "FP32", parameters }];
    const body = JSON.stringify({ inputs });
    const headers = { "inference-header-content-length": String(body.length) };
    return post(serve, "/v2/models/mlp/infer", { body, signal, headers });
  },
  "chunks of wrong lengths": ({ serve }, signal) =>
    send(serve, [
      utf8(`POST ${PREDICT} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`),
      utf8("ffffffffff\r\n[1,2"),
      utf8("zz\r\n"),
    ], { signal }),
  "methods that no handler knows": ({ serve }, signal) =>
    sendFromMany(
      20,
      (i) => {
        const method = ["TRACE", "CONNECT", "OPTIONS", "M-SEARCH"][i % 4];
        return send(serve, [utf8(`${method} ${PREDICT} HTTP/1.1\r\nHost: a\r\n\r\n`)], { signal });
      },
    ),
  "thousands of requests at once": ({ serve }, signal) =>
    send(serve, [PIPELINED], { signal, stayMs: 3000 }),
  "header fields by the thousand": ({ serve }, signal) =>
    sendFromMany(10, () => send(serve, [FIELDS], { signal })),
  "a body that unpacks to much": async ({ serve }, signal) => {
    const body = await PACKED, headers = "Content-Encoding: gzip\r\n";
    await send(serve, [head(PREDICT, body.length, headers), body], { signal, stayMs: 3000 });
  },
  "millions of objects": ({ serve }, signal) => post(serve, PREDICT, { body: OBJECTS, signal }),
  "answers that are not taken": ({ serve }, signal) =>
    sendFromMany(10, async () => {
      using socket = await Deno.connect({ hostname: "127.0.0.1", port: serve });
      for (const part of [head(PREDICT, MANY_BYTES.length), MANY_BYTES]) {
        for (let at = 0; at < part.length;) at += await socket.write(part.subarray(at));
      }
      await sleep(5000, signal);
    }),
  "connections that end at once": ({ serve }, signal) =>
    sendFromMany(300, async (i) => {
      using socket = await Deno.connect({ hostname: "127.0.0.1", port: serve });
      if (i % 2 === 0 && !signal.aborted) await socket.write(head(PREDICT, 100));
    }),
  "a host that is none": ({ serve }, signal) =>
    send(serve, [utf8("GET / HTTP/1.1\r\nHost: [\r\n\r\n"), utf8("GET / HTTP/9\r\n\r\n")], {
      signal,
    }),
  "an endless loop of a model": ({ serve }, signal) =>
    post(serve, "/v1/models/loop:predict", { body: '{"inputs":[2000000000]}', signal }),
};
