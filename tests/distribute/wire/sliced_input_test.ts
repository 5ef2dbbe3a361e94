/** One connection of HTTP/2 gives others a turn after a bounded number of frames, however many came at once. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { writeHeaders } from "../../../src/cluster/wire/hpack.ts";
import { Http2Connection } from "../../../src/cluster/wire/http2.ts";
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  type FrameHead,
  frameHead,
  HEADERS,
  PING,
  PREFACE,
  RESET,
  words,
} from "../../../src/cluster/wire/http2_frames.ts";
import { FrameRate } from "../../../src/cluster/wire/http2_limits.ts";
import { InputTurns, SLICE_FRAMES } from "../../../src/cluster/wire/sliced_input.ts";
import { errors } from "@weft/weft";
import { stub } from "@std/testing/mock";
import { concatBytes } from "../../../src/library/io/bytes.ts";
import { grpcTransport } from "../../../src/cluster/wire/grpc_transport.ts";

type Listener = (...args: never[]) => void;

/** A socket of which the test is the other end: it keeps chunks while it is paused, as Node's do. */
class Socket {
  readonly #listeners = new Map<string, Listener>();
  readonly #kept: Uint8Array[] = [];
  readonly writableLength = 0;
  isPaused = false;
  destroyed = false;
  /** Answers to pings. */
  answers = 0;

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, listener);
  }
  setNoDelay(): void {}
  setKeepAlive(): void {}
  write(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length;) {
      const [a, b, c, kind] = bytes.subarray(at);
      if (kind === PING) this.answers++;
      at += 9 + (a! << 16 | b! << 8 | c!);
    }
    return true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
    this.send(...this.#kept.splice(0));
  }
  send(...chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) {
      if (this.isPaused) this.#kept.push(chunk);
      else this.#listeners.get("data")!(chunk as never);
    }
  }
}

const framed = (head: FrameHead, body: Uint8Array): Uint8Array =>
  concatBytes([frameHead(head, body.length), body]);

/** A server's connection, and the numbers of calls that have begun and of those that were lost. */
function serve(turns = new InputTurns()) {
  const socket = new Socket(), calls = { begun: 0, lost: 0, whole: 0 };
  new Http2Connection(socket as never, {
    turns,
    accept() {
      calls.begun++;
      return {
        headers: () => {},
        data: () => {},
        end: () => void calls.whole++,
        lost: () => void calls.lost++,
      };
    },
    gone: () => {},
  });
  socket.send(PREFACE);
  return { socket, calls };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const ping = framed({ kind: PING, flags: 0, id: 0 }, new Uint8Array(8));

Deno.test("a chunk of very many frames is read in slices, between which other connections are", async () => {
  const turns = new InputTurns(), count = 20 * SLICE_FRAMES + 7;
  const { socket: busy } = serve(turns), { socket: other } = serve(turns);
  busy.send(concatBytes(Array(count).fill(ping)));
  // It waits its turn: what comes meanwhile is kept for later.
  busy.send(ping);
  for (let slices = 1; slices < 5; slices++) {
    other.send(ping);
    await turn();
    await turn();
    assertEquals([other.answers, other.isPaused, busy.isPaused], [slices, false, true]);
    assert(
      busy.answers <= (2 * slices + 1) * SLICE_FRAMES,
      `${busy.answers} after ${slices} turns`,
    );
  }
  for (let turns = 0; busy.answers <= count && turns < 1000; turns++) await turn();
  assertEquals([busy.answers, busy.isPaused, busy.destroyed], [count + 1, false, false]);
});

Deno.test("connections that send frames without end wait for each other, and none of them holds a small one", async () => {
  // Each slice seems to take a twentieth of a millisecond, so that all twenty and the small one fit a turn.
  let clock = 0;
  using _ = stub(performance, "now", () => clock += 0.05);
  const turns = new InputTurns(), { socket: small } = serve(turns);
  const busy = Array.from({ length: 20 }, () => serve(turns).socket);
  for (const socket of busy) socket.send(concatBytes(Array(20 * SLICE_FRAMES).fill(ping)));
  for (let k = 1; k <= 3; k++) {
    const before = busy.reduce((n, b) => n + b.answers, 0);
    small.send(ping);
    await turn();
    await turn();
    assertEquals(small.answers, k);
    const read = busy.reduce((n, b) => n + b.answers, 0) - before;
    assert(read <= 3 * SLICE_FRAMES + 20 * SLICE_FRAMES * Number(k === 1), `${read} in two turns`);
  }
  for (let turns = 0; busy.some((b) => b.isPaused) && turns < 5000; turns++) await turn();
  assertEquals(busy.map((b) => b.answers), Array(20).fill(20 * SLICE_FRAMES));
});

Deno.test("calls that begin and end in one chunk do so in slices", async () => {
  const { socket, calls } = serve(), headers = writeHeaders([[":path", "/a"]]);
  const count = 2 * SLICE_FRAMES;
  const frames = Array.from({ length: count }, (_, i) => {
    const id = 2 * i + 1;
    return [
      framed({ kind: HEADERS, flags: END_HEADERS, id }, headers),
      framed({ kind: DATA, flags: END_STREAM, id }, new Uint8Array(5)),
      framed({ kind: RESET, flags: 0, id }, words(8)),
    ];
  });
  socket.send(concatBytes(frames.flat()));
  let most = calls.begun;
  for (let turns = 0; calls.lost < count && turns < 1000; turns++) {
    const before = calls.begun;
    await turn();
    most = Math.max(most, calls.begun - before);
  }
  assertEquals(calls, { begun: count, whole: count, lost: count });
  assert(most <= SLICE_FRAMES / 2, `${most} calls began in one turn`);
});

Deno.test("the rest of a chunk is dropped where a connection ends within it", async () => {
  const { socket, calls } = serve(),
    bad = framed({ kind: PING, flags: 0, id: 0 }, new Uint8Array(7));
  const call = framed({ kind: HEADERS, flags: END_HEADERS, id: 1 }, writeHeaders([[":path", "/"]]));
  socket.send(concatBytes([...Array(2 * SLICE_FRAMES).fill(ping), bad, call]));
  for (let turns = 0; !socket.destroyed && turns < 100; turns++) await turn();
  await turn();
  assertEquals([socket.destroyed, calls.begun], [true, 0]);
});

Deno.test("calls of one connection go on while another sends frames without end", async () => {
  const listener = await grpcTransport.listen(
    { host: "127.0.0.1", port: 0 },
    (_, request) => Promise.resolve([request]),
  );
  const port = Number(listener.address.split(":")[1]);
  const guest = await Deno.connect({ hostname: "127.0.0.1", port });
  await guest.write(PREFACE);
  const reading = guest.readable.pipeTo(new WritableStream()).catch(() => {});
  const writer = guest.writable.getWriter(), many = concatBytes(Array(2000).fill(ping));
  const channel = grpcTransport.connect(listener.address);
  for (let i = 0; i < 5; i++) {
    await writer.write(many);
    assertEquals(await channel.call("/a", new Uint8Array(3)), new Uint8Array(3));
  }
  await writer.close().catch(() => {});
  channel.close();
  await listener.close();
  await reading;
});

Deno.test("20,000 frames a second without a call's bytes are taken, and no more", () => {
  const clock = { now: 1e12 };
  using _ = stub(Date, "now", () => clock.now);
  const rate = new FrameRate(),
    add = (n: number): void => {
      for (let i = 0; i < n; i++) rate.add();
    };
  for (let second = 0; second < 3; second++) {
    add(20_000);
    clock.now += 1000;
  }
  add(20_000);
  clock.now += 999;
  assertThrows(() => rate.add(), errors.DataLossError, "Too many frames");
});
