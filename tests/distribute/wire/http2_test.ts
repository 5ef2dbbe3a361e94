/** HTTP/2 by itself: headers as RFC 7541 has them, connections that are cut, and what is no HTTP/2. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { grpcTransport, type Listener, MemoryTransport } from "@weft/weft/distribute";
import { Message } from "../../../src/cluster/wire/grpc_message.ts";
import { HeaderReader, type Headers, writeHeaders } from "../../../src/cluster/wire/hpack.ts";
import { heldBytes } from "../../../src/cluster/wire/http2_limits.ts";

const { errors } = tf;
const HOST = { host: "127.0.0.1", port: 0 };

function hex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g)!, (byte) => parseInt(byte, 16));
}

/** Blocks of one connection each, from RFC 7541, C.4 and C.6. */
const BLOCKS: readonly (readonly (readonly [string, Headers])[])[] = [
  [
    ["828684418cf1e3c2e5f23a6ba0ab90f4ff", [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
    ]],
    ["828684be5886a8eb10649cbf", [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
      ["cache-control", "no-cache"],
    ]],
    ["828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", [
      [":method", "GET"],
      [":scheme", "https"],
      [":path", "/index.html"],
      [":authority", "www.example.com"],
      ["custom-key", "custom-value"],
    ]],
  ],
  [[
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
    [
      [":status", "302"],
      ["cache-control", "private"],
      ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
      ["location", "https://www.example.com"],
    ],
  ]],
];

Deno.test("headers are read as the RFC has them, tables included", () => {
  for (const blocks of BLOCKS) {
    const reader = new HeaderReader();
    for (const [block, headers] of blocks) assertEquals([...reader.read(hex(block))], headers);
  }
});

Deno.test("headers are read as they are written", () => {
  const headers: Headers = [[":path", "/a"], ["empty", ""], ["long", "x".repeat(10_000)]];
  assertEquals([...new HeaderReader().read(writeHeaders(headers))], headers);
});

const DAMAGED: Readonly<Record<string, string>> = {
  "a text that is cut off": "0085aabb",
  "an entry that nobody has": "ff80",
  "entry 0": "80",
  "a table that is too large": "3fe1ff03",
  "a number without an end": "ffffffffffffffff",
  "the code of the end in a text": "0084ffffffff00",
  "a padding that is too long": "0082f8ff00",
  // Each byte names an entry of 42.
  "more bytes of headers than a block may have": "82".repeat(1561),
};
for (const [name, block] of Object.entries(DAMAGED)) {
  Deno.test(`headers are refused: ${name}`, () => {
    assertThrows(() => new HeaderReader().read(hex(block)), errors.DataLossError);
  });
}

Deno.test("random bytes are headers or refused, whatever they are", () => {
  let seed = 1;
  const random = (): number => (seed = Math.imul(seed, 1_103_515_245) + 12_345 >>> 0) >>> 16 & 255;
  let refused = 0;
  for (let i = 0; i < 3000; i++) {
    try {
      new HeaderReader().read(Uint8Array.from({ length: 1 + random() % 40 }, random));
    } catch (error) {
      assert(error instanceof errors.DataLossError, String(error));
      refused++;
    }
  }
  assert(refused > 1000);
});

function echoing(): Promise<Listener> {
  return grpcTransport.listen(HOST, (_, request) => Promise.resolve([request]));
}

function portOf({ address }: Listener): number {
  return Number(address.split(":")[1]);
}

const PREFACE = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const frame = (length: string, rest: string): Uint8Array => hex(length + rest);
/** More frames than a second may have, also where they take ten of them to read. */
function flood(...parts: readonly Uint8Array[]): Uint8Array[] {
  const size = parts.reduce((n, p) => n + p.length, 0), all = new Uint8Array(size * 250_000);
  let at = 0;
  while (at < all.length) {
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
  }
  return [PREFACE, all];
}
const NOT_HTTP2: Readonly<Record<string, readonly Uint8Array[]>> = {
  "HTTP/1": [new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n")],
  "bytes of zero": [new Uint8Array(1000)],
  "a frame that is too long": [PREFACE, frame("ffffff", "010400000001"), new Uint8Array(1000)],
  "headers that go on in another stream": [
    PREFACE,
    frame("000001", "01000000000182"),
    frame("000001", "09040000000382"),
  ],
  "headers without an end": [
    PREFACE,
    frame("000001", "01000000000182"),
    ...Array.from({ length: 40 }, () => [frame("004000", "090000000001"), new Uint8Array(0x4000)])
      .flat(),
  ],
  "headers of frames without bytes, without an end": [
    PREFACE,
    frame("000001", "01000000000182"),
    ...Array(10_000).fill(frame("000000", "090000000001")),
  ],
  "headers that cannot be read": [PREFACE, frame("000002", "010500000001ff80")],
  "a promise": [PREFACE, frame("000004", "05040000000100000002")],
  "pings without end": flood(frame("000008", "060000000000"), new Uint8Array(8)),
  "settings without end": flood(frame("000000", "040000000000")),
  "resets without end": flood(frame("000004", "030000000001"), new Uint8Array(4)),
  "bytes that are none, without end": flood(frame("000000", "000000000001")),
  "a padded frame of bytes that is too long": [PREFACE, frame("020000", "000800000001")],
  "a window that is too large": [PREFACE, frame("000006", "040000000000"), hex("0004ffffffff")],
  "windows without end": [PREFACE, ...Array(3).fill(frame("000004", "0800000000007fffffff"))],
};
for (const [name, bytes] of Object.entries(NOT_HTTP2)) {
  Deno.test(`a server leaves who sends ${name}, and goes on`, async () => {
    const listener = await echoing();
    const guest = await Deno.connect({ hostname: "127.0.0.1", port: portOf(listener) });
    const sent = (async () => {
      for (const part of bytes) await guest.write(part);
      // A machine that is slow enough reads a flood at the rate that is allowed.
      await guest.closeWrite();
    })().catch(() => {});
    // The end of what the server has to say.
    const rest = new Uint8Array(4096);
    while (await guest.read(rest).catch(() => null) !== null);
    await sent;
    guest.close();
    const channel = grpcTransport.connect(listener.address);
    assertEquals((await channel.call("/a", new Uint8Array(3))).length, 3);
    channel.close();
    await listener.close();
  });
}

/** Between a caller and a server: what goes through can be cut off at any moment. */
class Proxy implements Disposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open: Deno.Conn[] = [];

  constructor(port: number) {
    void this.#serve(port);
  }

  get target(): string {
    return `127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  async #serve(port: number): Promise<void> {
    for await (const near of this.#listener) {
      const far = await Deno.connect({ hostname: "127.0.0.1", port });
      this.#open.push(near, far);
      near.readable.pipeTo(far.writable).catch(() => {});
      far.readable.pipeTo(near.writable).catch(() => {});
    }
  }

  /** Cuts what is open; later connections go through. */
  cut(): void {
    for (const connection of this.#open.splice(0)) {
      try {
        connection.close();
      } catch {
        // It has ended by itself.
      }
    }
  }

  [Symbol.dispose](): void {
    this.cut();
    this.#listener.close();
  }
}

Deno.test("calls of a connection that is cut are unavailable, and the next one connects anew", async () => {
  let begun = Promise.withResolvers<void>(), wanted = "";
  const listener = await grpcTransport.listen(HOST, (path, request) => {
    if (path === "/answer") return Promise.resolve([request]);
    // Calls of the connection before may begin after it was cut.
    if (path === wanted) begun.resolve();
    return new Promise(() => {});
  });
  using proxy = new Proxy(portOf(listener));
  const channel = grpcTransport.connect(proxy.target);
  for (let turn = 0; turn < 5; turn++) {
    begun = Promise.withResolvers();
    wanted = `/turn${turn}`;
    const calls = Array.from({ length: 4 }, () => channel.call(wanted, new Uint8Array(100_000)));
    await begun.promise;
    proxy.cut();
    for (const call of calls) await assertRejects(() => call, errors.UnavailableError);
  }
  assertEquals((await channel.call("/answer", new Uint8Array(7))).length, 7);
  channel.close();
  await listener.close();
});

Deno.test("a client has 1024 calls at a time, and more are refused", async () => {
  const gate = Promise.withResolvers<void>();
  const listener = await grpcTransport.listen(HOST, async (_, request) => {
    await gate.promise;
    return [request];
  });
  const channel = grpcTransport.connect(listener.address);
  let refused = 0;
  const calls = Array.from(
    { length: 1030 },
    () =>
      channel.call("/a", new Uint8Array(1)).catch((error) => {
        assert(error instanceof errors.UnavailableError, String(error));
        if (++refused === 6) gate.resolve();
        return null;
      }),
  );
  const answers = await Promise.all(calls);
  assertEquals(answers.filter((a) => a?.length === 1).length, 1024);
  channel.close();
  await listener.close();
});

Deno.test("a handler hears that its caller is gone", async () => {
  const begun = Promise.withResolvers<void>(), left = Promise.withResolvers<void>();
  const listener = await grpcTransport.listen(HOST, (_, _request, { signal }) => {
    signal.addEventListener("abort", () => left.resolve());
    begun.resolve();
    return new Promise(() => {});
  });
  using proxy = new Proxy(portOf(listener));
  const channel = grpcTransport.connect(proxy.target);
  const call = channel.call("/a", new Uint8Array());
  await begun.promise;
  proxy.cut();
  await assertRejects(() => call, errors.UnavailableError);
  await left.promise;
  channel.close();
  await listener.close();
});

Deno.test("a call is given up when its time is over, and the connection goes on", async () => {
  const listener = await grpcTransport.listen(
    HOST,
    (path, request) => path === "/never" ? new Promise(() => {}) : Promise.resolve([request]),
  );
  const channel = grpcTransport.connect(listener.address);
  await assertRejects(
    () => channel.call("/never", new Uint8Array(), { timeoutMs: 1 }),
    errors.DeadlineExceededError,
    "more than 1 ms",
  );
  assertEquals((await channel.call("/a", new Uint8Array(5))).length, 5);
  channel.close();
  await listener.close();
});

Deno.test("a server that goes ends the calls on its way first", async () => {
  const begun = Promise.withResolvers<void>(), done = Promise.withResolvers<void>();
  const listener = await grpcTransport.listen(HOST, async (_, request) => {
    begun.resolve();
    await done.promise;
    return [request];
  });
  const channel = grpcTransport.connect(listener.address);
  const call = channel.call("/a", new Uint8Array(9));
  await begun.promise;
  const closed = listener.close({ graceMs: 60_000 });
  done.resolve();
  assertEquals((await call).length, 9);
  await closed;
  await assertRejects(() => channel.call("/b", new Uint8Array()), errors.UnavailableError);
  channel.close();
});

Deno.test("large messages go both ways at once, as the other end takes them", async () => {
  const listener = await echoing();
  const channel = grpcTransport.connect(listener.address);
  const sizes = [40_000_000, 1, 16 << 20, 20_000_000];
  const answers = await Promise.all(
    sizes.map((n, i) => channel.call("/a", new Uint8Array(n).fill(i + 1))),
  );
  assertEquals(answers.map((a) => a.length), sizes);
  assert(answers.every((a, i) => a.every((byte) => byte === i + 1)));
  channel.close();
  await listener.close();
});

Deno.test("messages take memory as their bytes come, and together no more than four of the longest", () => {
  const most = 1 << 20, held = heldBytes(4 * most);
  const head = new Uint8Array(5);
  new DataView(head.buffer).setUint32(1, most);
  const open = Array.from({ length: 50 }, () => {
    const message = new Message({ maxMessageBytes: most }, held);
    message.add(head);
    message.add(new Uint8Array(1));
    return message;
  });
  const full = new Message({ maxMessageBytes: most }, held);
  full.add(head);
  assertThrows(
    () => {
      for (const message of open) {
        for (let k = 0; k < 4; k++) message.add(new Uint8Array(most / 16));
      }
    },
    errors.ResourceExhaustedError,
    "together",
  );
  full.release();
  for (const message of open) message.release();
  for (let k = 0; k < 8; k++) {
    const message = new Message({ maxMessageBytes: most }, held);
    message.add(head);
    const bytes = crypto.getRandomValues(new Uint8Array(1 << 16));
    for (let n = 0; n < 16; n++) message.add(bytes);
    message.add(bytes);
    assertEquals(message.whole?.length, most);
    assertEquals(message.whole!.subarray(-(1 << 16)), bytes);
    message.release();
    message.add(bytes);
    assertEquals(message.whole, null);
  }
});

Deno.test("the last of many settings counts, for open streams and for later ones", async () => {
  const answer = new Uint8Array(100);
  const listener = await grpcTransport.listen(HOST, () => Promise.resolve([answer]));
  const guest = await Deno.connect({ hostname: "127.0.0.1", port: portOf(listener) });
  const settings = new Uint8Array(6 * 10_000);
  for (let at = 0; at < settings.length; at += 6) settings.set(hex("000400000000"), at);
  settings.set(hex("0004000000ff"), settings.length - 6);
  const block = writeHeaders([[":method", "POST"], [":path", "/a"]]);
  const length = settings.length.toString(16).padStart(6, "0");
  for (
    const part of [
      PREFACE,
      frame(length, "040000000000"),
      settings,
      frame(block.length.toString(16).padStart(6, "0"), "010400000001"),
      block,
      frame("000005", "000100000001"),
      new Uint8Array(5),
    ]
  ) for (let at = 0; at < part.length;) at += await guest.write(part.subarray(at));
  // The answer of 105 bytes fits the window of 255, and comes whole.
  const seen: number[] = [], buffer = new Uint8Array(4096);
  while (!String(seen).includes(String([0, 0, 105, 0, 0]))) {
    const n = await guest.read(buffer);
    assert(n !== null, "the server answers");
    seen.push(...buffer.subarray(0, n));
  }
  guest.close();
  await listener.close();
});

for (
  const [name, transport] of [["gRPC", grpcTransport], ["memory", new MemoryTransport()]] as const
) {
  Deno.test(`an empty secret is an error, over ${name}`, async () => {
    await assertRejects(
      async () => await transport.listen(HOST, () => Promise.resolve([]), { secret: "" }),
      errors.ValueError,
      "empty secret",
    );
    assertThrows(() => transport.connect("a:1", { secret: "" }), errors.ValueError, "empty secret");
  });
}
