/** Calls over gRPC and in memory: what arrives, what is refused, what goes wrong. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  grpcTransport,
  type Handler,
  MemoryTransport,
  type Transport,
} from "@weft/weft/distribute";

const HOST = { host: "127.0.0.1", port: 0 };
const { errors } = tf;

function onTransports(name: string, fn: (transport: Transport) => Promise<void>): void {
  Deno.test(`${name}, over gRPC`, () => fn(grpcTransport));
  Deno.test(`${name}, in memory`, () => fn(new MemoryTransport()));
}

const echo: Handler = (path, request) => Promise.resolve([new TextEncoder().encode(path), request]);
const failing = (error: unknown): Handler => () => Promise.reject(error);

async function serving(
  transport: Transport,
  handler: Handler,
  use: (channel: ReturnType<Transport["connect"]>, address: string) => Promise<void>,
): Promise<void> {
  const listener = await transport.listen(HOST, handler);
  const channel = transport.connect(listener.address);
  try {
    await use(channel, listener.address);
  } finally {
    channel.close();
    await listener.close();
  }
}

onTransports(
  "a call carries bytes there and back",
  (transport) =>
    serving(transport, echo, async (channel) => {
      for (const size of [0, 1, 70_000, 10_000_000]) {
        const request = new Uint8Array(size).fill(7);
        const answer = await channel.call("/a/b", request);
        assertEquals(new TextDecoder().decode(answer.subarray(0, 4)), "/a/b");
        assertEquals(answer.length, size + 4);
        assertEquals(answer.subarray(4).every((b) => b === 7), true);
      }
    }),
);

onTransports("many calls go at once", (transport) =>
  serving(transport, echo, async (channel) => {
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, i) => channel.call("/n", new Uint8Array([i]))),
    );
    assertEquals(all.map((a) => a[2]), Array.from({ length: 100 }, (_, i) => i));
  }));

const ERRORS: readonly (readonly [string, unknown, new (m: string) => Error, string])[] = [
  [
    "an OpError",
    new errors.DataLossError("lost: ü 100%\nnext line"),
    errors.DataLossError,
    "lost: ü 100%\nnext line",
  ],
  ["a RangeError", new RangeError("too far"), errors.InvalidArgumentError, "too far"],
  ["another error", new Error("so"), errors.UnknownError, "so"],
  [
    "a long text",
    new errors.AbortedError("x".repeat(50_000)),
    errors.AbortedError,
    "x".repeat(100),
  ],
];
for (const [name, error, Class, text] of ERRORS) {
  onTransports(
    `a call fails with the class and text of ${name}`,
    (transport) =>
      serving(transport, failing(error), async (channel) => {
        const seen = await assertRejects(() => channel.call("/a", new Uint8Array()), Class);
        assertStringIncludes(seen.message, text);
      }),
  );
}

onTransports("a call to nobody is unavailable", async (transport) => {
  const listener = await transport.listen(HOST, echo);
  await listener.close();
  const channel = transport.connect(listener.address);
  await assertRejects(
    () => channel.call("/a", new Uint8Array()),
    errors.UnavailableError,
    listener.address,
  );
  channel.close();
});

onTransports("a call is unavailable when the server goes", async (transport) => {
  const started = Promise.withResolvers<void>();
  const listener = await transport.listen(HOST, () => {
    started.resolve();
    return new Promise(() => {});
  });
  const channel = transport.connect(listener.address);
  const call = channel.call("/a", new Uint8Array());
  await started.promise;
  await Promise.all([assertRejects(() => call, errors.UnavailableError), listener.close()]);
  channel.close();
});

onTransports("a channel finds a server that was started anew", async (transport) => {
  const first = await transport.listen(HOST, echo);
  const [host, port] = first.address.split(":");
  const channel = transport.connect(first.address);
  await channel.call("/a", new Uint8Array());
  await first.close();
  const second = await transport.listen({ host, port: Number(port) }, echo);
  // The loss of the connection may be noticed by the first call only.
  const again = () => channel.call("/b", new Uint8Array());
  assertEquals(new TextDecoder().decode(await again().catch(again)), "/b");
  channel.close();
  await second.close();
});

onTransports(
  "a call is left when its signal aborts",
  (transport) =>
    serving(transport, () => new Promise(() => {}), async (channel) => {
      const stop = new AbortController();
      const call = channel.call("/a", new Uint8Array(), { signal: stop.signal });
      stop.abort(new TypeError("no more"));
      await assertRejects(() => call, TypeError, "no more");
    }),
);

onTransports("a secret is asked for", async (transport) => {
  const listener = await transport.listen(HOST, echo, { secret: "söd" });
  for (const secret of [undefined, "sö", "sött"]) {
    const channel = transport.connect(listener.address, secret === undefined ? {} : { secret });
    await assertRejects(() => channel.call("/a", new Uint8Array()), errors.UnauthenticatedError);
    channel.close();
  }
  const channel = transport.connect(listener.address, { secret: "söd" });
  assertEquals((await channel.call("/a", new Uint8Array())).length, 2);
  channel.close();
  await listener.close();
});

onTransports("a refusal costs no stack: its text is not read", async (transport) => {
  let read = 0;
  const listener = await transport.listen(HOST, (path) => {
    const error = path === "/ours" ? new errors.NotFoundError("gone") : new TypeError("gone");
    Object.defineProperty(error, "stack", { get: () => `${read++}` });
    return Promise.reject(error);
  });
  const channel = transport.connect(listener.address);
  await assertRejects(() => channel.call("/ours", new Uint8Array()), errors.NotFoundError, "gone");
  await assertRejects(
    () => channel.call("/a", new Uint8Array()),
    errors.InvalidArgumentError,
    "gone",
  );
  assertEquals(read, 0);
  channel.close();
  await listener.close();
});

Deno.test("messages that are too long are refused by both ends", async () => {
  const listener = await grpcTransport.listen(HOST, echo, { maxMessageBytes: 1000 });
  const channel = grpcTransport.connect(listener.address, { maxMessageBytes: 500 });
  await assertRejects(
    () => channel.call("/a", new Uint8Array(2000)),
    errors.ResourceExhaustedError,
    "at most 1000",
  );
  await assertRejects(
    () => channel.call("/a", new Uint8Array(700)),
    errors.ResourceExhaustedError,
    "at most 500",
  );
  assertEquals((await channel.call("/a", new Uint8Array(100))).length, 102);
  channel.close();
  await listener.close();
});
