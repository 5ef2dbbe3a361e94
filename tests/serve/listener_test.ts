/** The socket of the command: it speaks HTTP/1.1 alone, reads no more of a body than is asked for, and ends with its clients. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { UnavailableError } from "../../src/engine/core/errors.ts";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { PREFACE } from "../../src/cluster/wire/http2_frames.ts";
import { listen } from "../../src/serve/listener.ts";
import type { ReadableRequest } from "../../src/serve/asked_request.ts";
import { HOST, say } from "./sockets.ts";

/** Answers what was asked. */
const echo = async (request: ReadableRequest): Promise<Response> => {
  const body = request.method === "POST" ? await request.arrayBuffer() : new ArrayBuffer(0);
  return Response.json({
    url: request.url,
    method: request.method,
    bytes: body.byteLength,
    x: request.headers.get("x"),
  });
};

Deno.test("a listener answers requests of HTTP/1.1, many on one connection", async () => {
  const from = new Set<AbortSignal>();
  const listener = await listen({ hostname: HOST, port: 0 }, (request) => {
    from.add(request.signal);
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

Deno.test("a connection that sends thousands of requests at once is read as it is answered, and others have their turns", async () => {
  let open = 0, most = 0, begun = 0;
  const held = Promise.withResolvers<void>();
  const listener = await listen({ hostname: HOST, port: 0 }, async (request) => {
    if (request.url.endsWith("/other")) {
      held.resolve();
      return new Response(`${begun}`);
    }
    begun++;
    most = Math.max(most, ++open);
    await held.promise;
    open--;
    return new Response(request.url);
  });
  const count = 5000;
  const many = Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: h\r\n`);
  const said = say(listener.port, many.join("\r\n") + "Connection: close\r\n\r\n");
  const other = await fetch(`http://${HOST}:${listener.port}/other`);
  assert(Number(await other.text()) < 400);
  const urls = [...(await said).matchAll(/http:\/\/h\/(\d+)/g)].map(([, i]) => Number(i));
  assertEquals(urls, Array.from({ length: count }, (_, i) => i));
  assert(most < 400, `${most}`);
  await listener.close();
});

Deno.test("an answer that its client does not take ends the connection, and its request is told", async () => {
  const left = Promise.withResolvers<void>();
  const listener = await listen({ hostname: HOST, port: 0, takingMs: 20 }, ({ signal }) => {
    signal.addEventListener("abort", () => left.resolve());
    return Promise.resolve(new Response(new Uint8Array(64 << 20)));
  });
  using never = await Deno.connect({ hostname: HOST, port: listener.port });
  await never.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  await left.promise;
  await listener.close();
});

Deno.test("an answer that is taken makes no error", async () => {
  const listener = await listen({ hostname: HOST, port: 0 }, echo);
  const { captureStackTrace } = Error;
  let made = 0;
  Error.captureStackTrace = (...args) => {
    if (args[0].constructor === Object) made++;
    captureStackTrace(...args);
  };
  try {
    for (let i = 0; i < 5; i++) {
      await (await fetch(`http://${HOST}:${listener.port}`, { method: "POST", body: "a" })).text();
    }
    await listener.close();
    assertEquals(made, 0);
    // The library's errors come by here.
    new UnavailableError("x");
    assertEquals(made, 1);
  } finally {
    Error.captureStackTrace = captureStackTrace;
  }
});

Deno.test("a long answer comes whole, and the next one after it", async () => {
  const bytes = Uint8Array.from({ length: (1 << 20) + 7 }, (_, i) => i % 251);
  const listener = await listen(
    { hostname: HOST, port: 0 },
    ({ url }) => Promise.resolve(new Response(url.endsWith("/long") ? bytes : "short")),
  );
  const url = `http://${HOST}:${listener.port}`;
  for (let i = 0; i < 2; i++) {
    assertEquals(new Uint8Array(await (await fetch(`${url}/long`)).arrayBuffer()), bytes);
    assertEquals(await (await fetch(`${url}/short`)).text(), "short");
  }
  await listener.close();
});

Deno.test("requests that wait for those before them on a connection are aborted when it ends", async () => {
  const begun = Promise.withResolvers<void>(), gone: string[] = [];
  const all = Promise.withResolvers<void>();
  const listener = await listen({ hostname: HOST, port: 0 }, async ({ url, signal }) => {
    if (url.endsWith("/2")) begun.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (gone.push(url) === 2) all.resolve();
    return new Response("late");
  });
  const socket = await Deno.connect({ hostname: HOST, port: listener.port });
  await socket.write(
    new TextEncoder().encode(
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
    ),
  );
  await begun.promise;
  socket.close();
  await all.promise;
  assertEquals(gone, ["http://h/1", "http://h/2"]);
  await listener.close();
});

Deno.test("a connection by TLS is read in pieces as well", async () => {
  const tls = new URL("../distribute/fixtures/tls/", import.meta.url);
  const pem = (name: string): Promise<string> => Deno.readTextFile(new URL(name, tls));
  let most = 0, open = 0;
  const listener = await listen(
    { hostname: HOST, port: 0, cert: await pem("server.pem"), key: await pem("server.key") },
    async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve));
      open--;
      return new Response("x");
    },
  );
  using socket = await Deno.connectTls({
    hostname: "localhost",
    port: listener.port,
    caCerts: [await pem("ca.pem")],
  });
  const bytes = new TextEncoder().encode(
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(2000) +
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
  );
  void (async () => {
    for (let at = 0; at < bytes.length;) at += await socket.write(bytes.subarray(at));
  })();
  let said = "";
  const buffer = new Uint8Array(65_536), text = new TextDecoder();
  for (let n; (n = await socket.read(buffer).catch(() => null)) !== null;) {
    said += text.decode(buffer.subarray(0, n));
  }
  assertEquals(said.split("HTTP/1.1 200").length - 1, 2001);
  assert(most < 400, `${most}`);
  await listener.close();
});

Deno.test("a listener takes requests of a hundred header fields, and refuses more before it reads them", async () => {
  const listener = await listen({ hostname: HOST, port: 0 }, echo);
  for (const [fields, status] of [[98, 200], [99, 431], [1500, 431]] as const) {
    const more = Array.from({ length: fields }, (_, i) => `a${i}: b\r\n`).join("");
    const said = await say(
      listener.port,
      `GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${more}\r\n`,
    );
    assertStringIncludes(said, `HTTP/1.1 ${status} `);
  }
  await listener.close();
});

for (
  const [hosts, wanted] of [
    [["h"], "http://h/a"],
    [["h:80"], "http://h:80/a"],
    [["[::1]:8501"], "http://[::1]:8501/a"],
    [["h", "other"], ""],
    [["h/v2/health/live?"], ""],
    [["h?"], ""],
    [["h#"], ""],
    [["h\\x"], ""],
    [["user:word@h"], ""],
    [[""], ""],
  ] as const
) {
  Deno.test(`a request whose host is ${JSON.stringify(hosts)} has the URL ${JSON.stringify(wanted)}`, async () => {
    const listener = await listen({ hostname: HOST, port: 0 }, echo);
    const said = await say(
      listener.port,
      `GET /a HTTP/1.1\r\nConnection: close\r\n${
        hosts.map((host) => `Host: ${host}\r\n`).join("")
      }\r\n`,
    );
    assertStringIncludes(said, `"url":"${wanted}"`);
    await listener.close();
  });
}

Deno.test("chunks of a byte are one part of the body where nobody asked meanwhile", async () => {
  const listener = await listen({ hostname: HOST, port: 0 }, async (request) => {
    let parts = 0, text = "";
    for await (const part of request.body!) {
      parts++;
      text += new TextDecoder().decode(part);
      await new Promise((resolve) => setTimeout(resolve));
    }
    return Response.json({ parts, isWhole: text === "ab".repeat(5000) });
  });
  const said = await say(
    listener.port,
    "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
    "1\r\na\r\n1\r\nb\r\n".repeat(5000) + "0\r\n\r\n",
  );
  const { parts, isWhole } = JSON.parse(said.slice(said.indexOf("{")));
  assert(isWhole && parts < 200, said);
  await listener.close();
});

Deno.test("what no request is ends its connection alone", async () => {
  const listener = await listen({ hostname: HOST, port: 0 }, echo);
  const post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (
    const bytes of [
      "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n",
      `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`,
      `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n`,
      `${post}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
      `${post}Content-Length: -1\r\n\r\n`,
      `${post}Content-Length : 1\r\n\r\na`,
      `${post}Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n`,
      `${post}Transfer-Encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(10_000)}\r\n`,
      "GET / HTTP/1.1\r\nHost: h\r\na: b\r\n c\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\na: \0\r\n\r\n",
    ]
  ) {
    const said = await say(listener.port, bytes);
    assert(said === "" || /^HTTP\/1\.1 4\d\d /.test(said), said.slice(0, 100));
  }
  assertEquals((await (await fetch(`http://${HOST}:${listener.port}/a`)).json()).method, "GET");
  await listener.close();
});

Deno.test("a request that asks for another protocol is answered by this one, and ends its connection", async () => {
  const listener = await listen({ hostname: HOST, port: 0 }, echo);
  for (const upgrade of ["websocket\r\nSec-WebSocket-Key: AA", "h2c\r\nHTTP2-Settings: AAMAAABk"]) {
    const said = await say(
      listener.port,
      `GET /1 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`,
    );
    assertStringIncludes(said, "http://h/1");
    assertStringIncludes(said.toLowerCase(), "connection: close");
  }
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
      "nonsense\r\n\r\n".repeat(5000),
      "nonsense\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      `GET / HTTP/1.1\r\na: ${"b".repeat(1 << 20)}`,
    ]
  ) {
    const said = await say(listener.port, bytes);
    assert(said === "" || /^HTTP\/1\.1 4\d\d /.test(said), said.slice(0, 100));
    assert(said.split("HTTP/1.1").length <= 2, said);
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
  let begun = Promise.withResolvers<void>();
  const listener = await listen({ hostname: HOST, port: 0 }, async (request) => {
    begun.resolve();
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
    begun = Promise.withResolvers();
    const socket = await Deno.connect({ hostname: HOST, port: listener.port });
    await socket.write(new TextEncoder().encode(text));
    await begun.promise;
    socket.close();
  };
  await leave("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  await gone.promise;
  for (const path of ["/all", "/parts"]) {
    await leave(`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12`);
  }
  while (lost.length < 2) await nextTask();
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
