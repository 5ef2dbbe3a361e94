/** Requests that are unusual, damaged or wrong, as bytes on a socket: each has one answer, and no other client learns of it. */
import { createHandler } from "@weft/weft/serve";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { answeringOf } from "../../src/serve/handler.ts";
import { listen } from "../../src/serve/listener.ts";
import { square } from "./models.ts";
import { HOST, say } from "./sockets.ts";

const PREDICT = "/v1/models/m:predict", BODY = '{"instances":[[1,2]]}';
const CLOSE = "Host: h\r\nConnection: close\r\n";

const OPEN = "GET /v2 HTTP/1.1\r\nHost: h\r\n\r\n";

const get = (target: string, fields = ""): string =>
  `GET ${target} HTTP/1.1\r\n${CLOSE}${fields}\r\n`;
const by = (method: string, target = PREDICT): string =>
  `${method} ${target} HTTP/1.1\r\n${CLOSE}\r\n`;
const post = (target: string, fields = "", body = BODY): string =>
  `POST ${target} HTTP/1.1\r\n${CLOSE}Content-Length: ${body.length}\r\n${fields}\r\n${body}`;
/** A request whose body is framed by its fields alone. */
const framed = (fields: string, rest = ""): string =>
  `POST ${PREDICT} HTTP/1.1\r\n${CLOSE}${fields}\r\n${rest}`;
const chunked = (chunks: string, fields = ""): string =>
  framed(`Transfer-Encoding: chunked\r\n${fields}`, chunks);
const CHUNK = `15\r\n${BODY}\r\n`;

/** Requests by their kinds: bytes, the statuses that come, and a part of what is said. */
type Case = readonly [bytes: string, statuses: readonly number[], said?: string];

const IS_SERVER = '"name":"weft"', IS_PREDICTED = '{"predictions":[[1,4]]}';

const CASES: Readonly<Record<string, readonly Case[]>> = {
  methods: [
    ...["TRACE", "OPTIONS", "PUT", "DELETE", "PATCH", "PROPFIND", "M-SEARCH", "GET"].map(
      (method): Case => [by(method), [405], `Cannot ${method} here: wanted POST`],
    ),
    [by("TRACE", "/v2/health/live"), [405], "wanted GET"],
    [post("/v2/health/live"), [405], "wanted GET"],
    [by("HEAD"), [405]],
    [by("HEAD", "/v2"), [200]],
    [by("OPTIONS", "*"), [400], "Cannot read the request's URL"],
    // Node ends a connection that asks to be a tunnel.
    [by("CONNECT"), []],
    [by("CONNECT", "h:80"), []],
    [by("BREW"), [400], "Invalid method"],
    [by("get", "/v2"), [400], "Invalid method"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]],
  ],
  hosts: [
    [get("/v2").replace("Host: h", "Host: h/v2/health/live?"), [400], "the request's URL"],
    [get("/v2").replace("Host: h", "Host: ["), [400], "the request's URL"],
    [get("/v2", "Host: h\r\n"), [400], "the request's URL"],
    [get("/v2").replace("Host: h\r\n", ""), [400]],
    [get("http://other/v2"), [200], IS_SERVER],
    ["GET /v2 HTTP/1.0\r\n\r\n", [200], IS_SERVER],
  ],
  upgrades: [
    [get("/v2", "Upgrade: websocket\r\n").replace("close", "Upgrade"), [200], IS_SERVER],
    [get("/v2", "Upgrade: h2c\r\n").replace("close", "Upgrade"), [200], IS_SERVER],
    [post(PREDICT, "Upgrade: x\r\n").replace("close", "Upgrade"), [200], IS_PREDICTED],
  ],
  fields: [
    [get("/v2", "a: b\r\n".repeat(1000)), [431], "more than 100 header fields"],
    [get("/v2", `a: ${"b".repeat(20_000)}\r\n`), [431]],
    [get(`/${"a".repeat(20_000)}`), [431]],
    ...[": b", "a : b", "a: b\r\n c", "a: \0", "a: \x01"].map(
      (line): Case => [get("/v2", `${line}\r\n`), [400]],
    ),
    [get("/v2").replaceAll("\r\n", "\n"), [400]],
    [get("/v2").replaceAll("\r\n", "\r"), [400]],
    [get("/v2", "a: é\r\n"), [200], IS_SERVER],
    [`\r\n\r\n${get("/v2")}`, [200], IS_SERVER],
  ],
  lengths: [
    [post(PREDICT, "Content-Length: 3\r\n"), [400], "Duplicate Content-Length"],
    [post(PREDICT, `Content-Length: ${BODY.length}\r\n`), [400], "Duplicate Content-Length"],
    ...["-1", "+21", "0x15", "21, 21", "9".repeat(23)].map(
      (length): Case => [framed(`Content-Length: ${length}\r\n`, BODY), [400], "Content-Length"],
    ),
    [framed("Content-Length: 21\r\nTransfer-Encoding: chunked\r\n", `${CHUNK}0\r\n\r\n`), [400]],
    // It is refused before any of it has come.
    [framed("Content-Length: 99999999999\r\n"), [413], "more than 67108864 bytes"],
    [framed(""), [400], "it ends too early at byte 0"],
    [post(PREDICT, "", ""), [400], "it ends too early at byte 0"],
  ],
  chunks: [
    [chunked(`${CHUNK}0\r\n\r\n`), [200], IS_PREDICTED],
    [chunked(`${CHUNK}0\r\na: b\r\n\r\n`), [200], IS_PREDICTED],
    [chunked(`15;a=b\r\n${BODY}\r\n0\r\n\r\n`), [200], IS_PREDICTED],
    [chunked(`${"0".repeat(30)}${CHUNK}0\r\n\r\n`), [200], IS_PREDICTED],
    [framed("Transfer-Encoding: CHUNKED\r\n", `${CHUNK}0\r\n\r\n`), [200], IS_PREDICTED],
    ...["-1\r\n\r\n", "zz\r\n", "ffffffffffffffffff\r\n[1", "\r\n"].map(
      (chunks): Case => [chunked(chunks), [400], "hunk size"],
    ),
    [chunked(`15\r\n${BODY}zz\r\n0\r\n\r\n`), [400]],
    [chunked(`16\r\n${BODY}\r\n0\r\n\r\n`), [400]],
    ...["gzip", "chunked\r\nTransfer-Encoding: chunked", "xchunked"].map(
      (coding): Case => [framed(`Transfer-Encoding: ${coding}\r\n`, "0\r\n\r\n"), [400]],
    ),
  ],
  expectations: [
    [post(PREDICT, "Expect: 100-continue\r\n"), [100, 200], IS_PREDICTED],
    [get("/v2", "Expect: 100-continue\r\n"), [100, 200], IS_SERVER],
    [post(PREDICT, "Expect: 200-ok\r\n"), [417]],
  ],
  "trailing data": [
    // Its connection ends with the answer.
    [`${post(PREDICT)}more`, [200], IS_PREDICTED],
    [`${OPEN}more\r\n\r\n`, [200, 400], IS_SERVER],
    [`${OPEN}more\r\n\r\n`, [200, 400], "Invalid method"],
    [`${OPEN}${OPEN}\0`, [200, 200, 400], "Cannot read the request"],
    [`${OPEN}${chunked("zz\r\n")}`, [200, 400], "hunk size"],
    [get("/v2", "Content-Length: 5\r\n") + "12345", [200], IS_SERVER],
    // What follows a body's declared bytes is the next request.
    [
      `GET /v2 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody${get("/v2/health/live")}`,
      [200, 200],
      '{"live":true}',
    ],
  ],
  paths: [
    [post("/v1/models/%6d:predict"), [200], IS_PREDICTED],
    [post("/v1/models/m%3Apredict"), [404], 'a model \\"m:predict\\"'],
    [get("/v1/models/m%2Fversions%2F1"), [404], 'a model \\"m/versions/1\\"'],
    [get("/v1%2Fmodels%2Fm"), [404]],
    [get("/v1/models/%zz"), [400], "wanted characters or %XX"],
    [get("/v1/models/%ff"), [400], "wanted characters or %XX"],
    [get("/v1/models/%00"), [404]],
    [get("/../../etc/passwd"), [404], "Cannot find /etc/passwd"],
    [get("/v1/models/%2e%2e/metadata"), [404], "Cannot find /v1/metadata"],
    [get("//other/v2"), [404]],
    [get("/v2;a"), [404]],
    [get("*"), [400], "the request's URL"],
    [get("/v2 a"), [400]],
    [get("/v2/\u00e9"), [400]],
    [get(""), [400]],
    ...["/v2\\health/live", "\\v2", "/v2?a\\b", "http://h/v2\\health/live"].map(
      (path): Case => [get(path), [400], "Cannot read the request"],
    ),
    [get("/v2/"), [200], IS_SERVER],
    [get("/v2#a"), [200], IS_SERVER],
  ],
  queries: [
    [get("/v2?a=1&a=2"), [200], IS_SERVER],
    [get("/v2?%zz"), [200], IS_SERVER],
    [post(`${PREDICT}?a=1&a=2&__proto__=1`), [200], IS_PREDICTED],
  ],
  names: [
    ...[
      "/v1/models/:predict",
      "/v2/models//infer",
      "/v1/models/m/versions/:predict",
      "/v1/models/m/versions/a:predict",
      "/v1/models/m/versions/-1:predict",
      "/v1/models/m/versions/99999999999999999999:predict",
      "/v1/models/__proto__:predict",
      "/v2/models/constructor/infer",
      "/v1/models/m:",
      "/V1/models/m:predict",
    ].map((path): Case => [post(path), [404], "Cannot find "]),
    ...["/v1/models/", "/v2/models/"].map((path): Case => [get(path), [404], "Cannot find "]),
    [post("/v1/models/m:classify"), [400], 'Cannot classify with \\"m\\"'],
  ],
  "fields of ours": [
    ...["a", "0", "-1", "1000\r\nx-timeout-ms: 1000"].map(
      (ms): Case => [post(PREDICT, `x-timeout-ms: ${ms}\r\n`), [400], "Cannot wait for"],
    ),
    ...["-1", "22", "1.5", "a"].map(
      (length): Case => [
        post("/v2/models/m/infer", `Inference-Header-Content-Length: ${length}\r\n`),
        [400],
        "the body has 21 bytes",
      ],
    ),
    ...["br", "gzip, gzip"].map(
      (coding): Case => [post(PREDICT, `Content-Encoding: ${coding}\r\n`), [415]],
    ),
    [post(PREDICT, "Content-Encoding: gzip\r\n"), [400]],
    [post(PREDICT, "Content-Type: text/plain\r\n"), [200], IS_PREDICTED],
  ],
};

const statusesOf = (said: string): readonly number[] =>
  [...said.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

for (const [kind, cases] of Object.entries(CASES)) {
  Deno.test(`unusual ${kind} have their answers, and end no other connection`, async () => {
    const answer = answeringOf(createHandler({ models: { m: square().f } }));
    const listener = await listen({ hostname: HOST, port: 0 }, (request) => answer(request));
    const url = `http://${HOST}:${listener.port}/v2/health/live`;
    for (const [text, statuses, wanted = ""] of cases) {
      // A byte for each character, as latin letters are in fields.
      const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
      const said = await say(listener.port, bytes), about = text.slice(0, 200);
      assertEquals(statusesOf(said), statuses, `${about}: ${said}`);
      assertStringIncludes(said, wanted, about);
      assertEquals(await (await fetch(url)).json(), { live: true });
    }
    await listener.close();
  });
}

Deno.test("a client that ends its side has left: its request is aborted, and its connection ends", async () => {
  const left = Promise.withResolvers<void>(), begun = Promise.withResolvers<void>();
  const listener = await listen({ hostname: HOST, port: 0 }, async ({ signal }) => {
    signal.addEventListener("abort", () => left.resolve());
    begun.resolve();
    await left.promise;
    return new Response("late");
  });
  using socket = await Deno.connect({ hostname: HOST, port: listener.port });
  await socket.write(new TextEncoder().encode(get("/v2")));
  await begun.promise;
  await socket.closeWrite();
  await left.promise;
  assertEquals(await socket.read(new Uint8Array(100)), null);
  await listener.close();
});
