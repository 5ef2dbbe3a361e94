/** Pages of other origins: what they are told before they ask, and which of them may read answers. */
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { CrossOrigin } from "../../src/serve/cross_origin.ts";
import { listen } from "../../src/serve/listener.ts";
import { square } from "./models.ts";
import { say } from "./sockets.ts";

const PAGE = "https://page.example", OTHER = "https://other.example";

/** Asks as a page of `origin` does; `null` for a program that is no page. */
function from(origin: string | null, path: string, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers);
  if (origin !== null) headers.set("origin", origin);
  return new Request(`http://localhost${path}`, { ...init, headers });
}
const BEFORE = {
  method: "OPTIONS",
  headers: {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
  },
};
const PREDICT = { method: "POST", body: JSON.stringify({ instances: [[1, 2]] }) };
const PATH = "/v1/models/square:predict";

const allowed = ({ headers }: Response): string | null =>
  headers.get("access-control-allow-origin");

for (
  const [origins, origin, wanted] of [
    [[PAGE], PAGE, PAGE],
    [[OTHER, PAGE], PAGE, PAGE],
    [["*"], PAGE, "*"],
    [[PAGE], OTHER, null],
    [[PAGE], "null", null],
    [[PAGE], null, null],
    [[], PAGE, null],
    [undefined, PAGE, null],
  ] as const
) {
  Deno.test(`a handler with origins ${origins} tells a page of ${origin} that it may ask: ${wanted}`, async () => {
    const { fetch } = createHandler({
      models: { square: square().f },
      ...(origins !== undefined && { origins }),
    });
    const before = await fetch(from(origin, PATH, BEFORE));
    assertEquals([before.status, allowed(before)], [wanted === null ? 405 : 200, wanted]);
    if (wanted !== null) {
      const { headers } = before;
      assertEquals(headers.get("access-control-allow-methods"), "GET, POST");
      const names = headers.get("access-control-allow-headers")!.split(", ");
      assertEquals(["authorization", "content-type"].every((name) => names.includes(name)), true);
    }
    for (
      const [request, status] of [
        [from(origin, PATH, PREDICT), 200],
        [from(origin, PATH, { method: "POST", body: "no JSON" }), 400],
        [from(origin, "/v1/models/none:predict", PREDICT), 404],
        [from(origin, "/v2/health/ready"), 200],
      ] as const
    ) {
      const response = await fetch(request);
      assertEquals([response.status, allowed(response)], [status, wanted]);
      await response.body?.cancel();
      const varies = (origins ?? []).length > 0 && !origins!.includes("*" as never);
      assertEquals(response.headers.get("vary"), varies ? "origin" : null);
    }
  });
}

Deno.test("a page may ask before it has the token, and reads that it needs one", async () => {
  const { fetch } = createHandler({
    models: { square: square().f },
    token: "secret",
    origins: [PAGE],
  });
  assertEquals((await fetch(from(PAGE, PATH, BEFORE))).status, 200);
  const refused = await fetch(from(PAGE, PATH, PREDICT));
  assertEquals([refused.status, allowed(refused)], [401, PAGE]);
  const answer = await fetch(
    from(PAGE, PATH, { ...PREDICT, headers: { authorization: "Bearer secret" } }),
  );
  assertEquals(await answer.json(), { predictions: [[1, 4]] });
});

Deno.test("a page reads every refusal, and its headers", async (t) => {
  const asked: Promise<void>[] = [], go = Promise.withResolvers<void>();
  const held = tf.function((x: tf.Tensor) => ({
    y: tf.numpyFunction(
      async (a: tf.NdArray) => {
        if (a.size === 1) await go.promise;
        if (a.size === 2) throw new Error("odd");
        return a;
      },
      [x],
      tf.TensorSpec([null], "float32"),
    ),
  }), { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  const { fetch, drain } = createHandler({
    models: { held },
    token: "secret",
    origins: [PAGE],
    maxBodyBytes: 100,
    maxQueued: 1,
  });
  const headers = { authorization: "Bearer secret" }, path = "/v1/models/held:predict";
  const post = (body: string, more: Record<string, string> = {}): Request =>
    from(PAGE, path, { method: "POST", body, headers: { ...headers, ...more } });
  const rows = (...instances: number[]): string => JSON.stringify({ instances });
  const read = async (request: Request, status: number): Promise<Response> => {
    const answer = await fetch(request);
    const exposed = answer.headers.get("access-control-expose-headers")!.split(", ");
    assertEquals([answer.status, allowed(answer)], [status, PAGE]);
    assertEquals(answer.headers.get("vary"), "origin");
    for (const name of ["allow", "retry-after", "www-authenticate"]) {
      assertEquals(answer.headers.has(name) && !exposed.includes(name), false, name);
    }
    assertEquals(typeof (await answer.json()).error, "string");
    return answer;
  };
  for (
    const [status, request] of [
      [400, () => post("no JSON")],
      [400, () => post(rows(1), { "x-timeout-ms": "never" })],
      [401, () => from(PAGE, path, PREDICT)],
      [404, () => from(PAGE, "/v1/models/none", { headers })],
      [404, () => from(PAGE, "/none", { headers })],
      [405, () => from(PAGE, path, { headers })],
      [413, () => post(" ".repeat(101))],
      [415, () => post(rows(1), { "content-encoding": "br" })],
      [500, () => post(rows(1, 2))],
      [504, () => post(rows(1), { "x-timeout-ms": "1" })],
    ] as const
  ) {
    await t.step(`${status}`, async () => {
      await read(request(), status);
    });
  }
  await t.step("429 while others wait", async () => {
    for (let i = 0; i < 2; i++) {
      asked.push(fetch(post(rows(1))).then(({ status }) => assertEquals(status, 200)));
      await nextTask();
    }
    const refused = await read(post(rows(1)), 429);
    assertEquals(refused.headers.get("retry-after"), "1");
  });
  await t.step("503 while it ends", async () => {
    const drained = drain();
    await read(post(rows(1)), 503);
    go.resolve();
    await Promise.all([...asked, drained]);
  });
});

Deno.test("a page may send all headers that the protocols have, and is told nothing of credentials", async () => {
  const { fetch } = createHandler({ models: { square: square().f }, origins: [PAGE] });
  const before = await fetch(from(PAGE, PATH, BEFORE));
  assertEquals(before.headers.get("access-control-allow-headers")!.split(", "), [
    "authorization",
    "content-encoding",
    "content-type",
    "inference-header-content-length",
    "x-timeout-ms",
  ]);
  assertEquals(before.headers.has("access-control-allow-credentials"), false);
});

for (const origin of ["capacitor://localhost", "chrome-extension://abc", "http://[::1]:8080"]) {
  Deno.test(`pages of ${origin} may be named`, async () => {
    const { fetch } = createHandler({ models: { square: square().f }, origins: [origin] });
    assertEquals(allowed(await fetch(from(origin, "/v2"))), origin);
    assertEquals(allowed(await fetch(from(`${origin}0`, "/v2"))), null);
  });
}

for (
  const [origins, wanted, unread] of [
    [[PAGE], PAGE, null],
    [["*"], "*", "*"],
    [[OTHER], null, null],
    [[], null, null],
  ] as const
) {
  Deno.test(`refusals of the socket say whether a page may read them, for the origins [${origins}]`, async () => {
    const listener = await listen(
      { hostname: "127.0.0.1", port: 0, origins: new CrossOrigin(origins) },
      () => Promise.resolve(new Response("x")),
    );
    const fields = (count: number): string => "a: b\r\n".repeat(count);
    for (
      const [status, text, may] of [
        [200, `GET / HTTP/1.1\r\nHost: h\r\nOrigin: ${PAGE}\r\nConnection: close\r\n\r\n`, wanted],
        [
          431,
          `GET / HTTP/1.1\r\nHost: h\r\nOrigin: ${PAGE}\r\nConnection: close\r\n${fields(200)}\r\n`,
          wanted,
        ],
        [431, `GET / HTTP/1.1\r\nHost: h\r\na: ${"b".repeat(20_000)}\r\n\r\n`, unread],
        [400, `GET / HTTP/1.1\r\nHost: h\r\na b: c\r\n\r\n`, unread],
      ] as const
    ) {
      const said = await say(listener.port, text);
      const allowed = /^access-control-allow-origin: (.*)\r$/im.exec(said)?.[1] ?? null;
      assertEquals([said.split(" ")[1], allowed], [`${status}`, may]);
      if (status !== 200) assertMatch(said, /\r\n\r\n\{"error":"Cannot read .*"\}$/);
    }
    await listener.close();
  });
}

Deno.test("OPTIONS that is no page's question stays refused", async () => {
  const { fetch } = createHandler({ models: { square: square().f }, origins: ["*"] });
  assertEquals((await fetch(from(PAGE, PATH, { method: "OPTIONS" }))).status, 405);
});

Deno.test("createHandler() refuses texts that are no origins", () => {
  const models = { square: square().f };
  for (
    const origin of [
      "",
      "page.example",
      `${PAGE}/`,
      `${PAGE}/path`,
      "null",
      "file:///a",
      "capacitor://",
      "HTTPS://a",
    ]
  ) {
    assertThrows(
      () => createHandler({ models, origins: [PAGE, origin] }),
      Error,
      "wanted an origin, as",
    );
  }
  for (const origins of ["*", [1], {}]) {
    assertThrows(
      () => createHandler({ models, origins: origins as unknown as string[] }),
      TypeError,
      "'origins' passed to 'createHandler' must be a list of strings",
    );
  }
});
