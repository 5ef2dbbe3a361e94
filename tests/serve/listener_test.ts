/** The socket of the command: it speaks HTTP/1.1 alone, reads no more of a body than is asked for, and ends with its clients. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { PREFACE } from "../../src/cluster/wire/http2_frames.ts";
import { type AskedRequest, listen } from "../../src/serve/listener.ts";

const HOST = "127.0.0.1";

/** Sends a text, and returns all that comes until the other end closes. */
async function say(port: number, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  using socket = await Deno.connect({ hostname: HOST, port });
  for (const part of parts) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
    for (let at = 0; at < bytes.length;) at += await socket.write(bytes.subarray(at));
  }
  let said = "";
  const buffer = new Uint8Array(65_536), text = new TextDecoder();
  for (let n; (n = await socket.read(buffer).catch(() => null)) !== null;) {
    said += text.decode(buffer.subarray(0, n), { stream: true });
  }
  return said;
}

/** Answers what was asked. */
const echo = async (request: AskedRequest): Promise<Response> => {
  const body = request.method === "POST" ? await request.arrayBuffer() : new ArrayBuffer(0);
  return Response.json({
    url: request.url,
    method: request.method,
    bytes: body.byteLength,
    x: request.headers.get("x"),
  });
};

Deno.test("a listener answers requests of HTTP/1.1, many on one connection", async () => {
  const from = new Set<string>();
  const listener = await listen({ hostname: HOST, port: 0 }, (request, connection) => {
    from.add(connection);
    return echo(request);
  });
  const url = `http://${HOST}:${listener.port}`;
  for (let i = 0; i < 3; i++) {
    const answer = await fetch(`${url}/a?b=${i}`, {
      method: "POST",
      body: "12345",
      headers: { x: "é" },
    });
    assertEquals(await answer.json(), { url: `${url}/a?b=${i}`, method: "POST", bytes: 5, x: "é" });
  }
  assertEquals(from.size, 1);
  const head = await fetch(url, { method: "HEAD" });
  assertEquals([head.status, await head.text()], [200, ""]);
  const two = await say(
    listener.port,
    "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
  );
  assert(
    two.indexOf("http://h/1") > 0 && two.indexOf("http://h/2") > two.indexOf("http://h/1"),
    two,
  );
  await listener.close();
});

Deno.test("a listener refuses HTTP/2 and what is no HTTP, and asks for no answer to it", async () => {
  let asked = 0;
  const listener = await listen({ hostname: HOST, port: 0 }, (request) => {
    asked++;
    return echo(request);
  });
  for (
    const bytes of [
      PREFACE,
      "nonsense\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      `GET / HTTP/1.1\r\na: ${"b".repeat(1 << 20)}`,
    ]
  ) {
    const said = await say(listener.port, bytes);
    assert(said === "" || /^HTTP\/1\.1 4\d\d /.test(said), said.slice(0, 100));
  }
  assertEquals(asked, 0);
  // A host that is none is for the handler, which answers 400.
  assertStringIncludes(
    await say(listener.port, "GET /x HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n"),
    '"url":"http://[/x"',
  );
  await listener.close();
});

Deno.test("a body is read as it is asked for, and a request that is answered before it ends its connection", async () => {
  const sent = 64 << 20;
  let read = 0;
  const listener = await listen({ hostname: HOST, port: 0 }, async (request) => {
    if (request.url.endsWith("/refused")) return new Response("no", { status: 413 });
    const reader = request.body!.getReader();
    read += (await reader.read()).value!.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    await reader.cancel();
    return new Response("enough");
  });
  const head = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${sent}\r\n\r\n`;
  const body = new Uint8Array(1 << 20);
  for (const [path, wanted] of [["/refused", "413"], ["/some", "enough"]] as const) {
    const said = await say(listener.port, head(path), body);
    assertStringIncludes(said, wanted);
    assertStringIncludes(said.toLowerCase(), "connection: close");
  }
  assert(read > 0 && read <= 1 << 17, `${read}`);
  await listener.close();
});

Deno.test("a client that goes away aborts its request, and breaks nothing", async () => {
  const gone = Promise.withResolvers<void>(), lost: string[] = [];
  const listener = await listen({ hostname: HOST, port: 0 }, async (request) => {
    if (request.url.endsWith("/wait")) {
      request.signal.addEventListener("abort", () => gone.resolve());
      await gone.promise;
      return new Response("late");
    }
    const read = request.url.endsWith("/all")
      ? request.arrayBuffer()
      : request.body!.pipeTo(new WritableStream());
    await read.catch((error) => lost.push(error.message));
    return new Response("never read");
  });
  const leave = async (text: string): Promise<void> => {
    const socket = await Deno.connect({ hostname: HOST, port: listener.port });
    await socket.write(new TextEncoder().encode(text));
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.close();
  };
  await leave("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  await gone.promise;
  for (const path of ["/all", "/parts"]) {
    await leave(`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12`);
  }
  while (lost.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  assertEquals(lost, Array(2).fill("The client went away"));
  await listener.close();
});

Deno.test("an answer whose body breaks is an error of its request, and the listener answers on", async () => {
  let isBroken = true;
  const broken = (): Response =>
    new Response(new ReadableStream({ start: (c) => c.error(new Error("no body")) }));
  const listener = await listen(
    { hostname: HOST, port: 0 },
    (request) => isBroken ? Promise.resolve(broken()) : echo(request),
  );
  const url = `http://${HOST}:${listener.port}/a`;
  const first = await fetch(url);
  assertEquals(first.status, 500);
  await first.text();
  isBroken = false;
  assertEquals((await (await fetch(url)).json()).method, "GET");
  await listener.close();
});
