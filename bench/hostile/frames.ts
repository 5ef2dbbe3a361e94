// Attacks by frames of HTTP/2, on all servers.

import { writeHeaders } from "../../src/cluster/wire/hpack.ts";
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  type FrameHead,
  frameHead,
  HEADERS,
  INITIAL_WINDOW,
  PING,
  PREFACE,
  RESET,
  SETTINGS,
  settingsBody,
  WINDOW_UPDATE,
  words,
} from "../../src/cluster/wire/http2_frames.ts";
import { concatBytes } from "../../src/library/io/bytes.ts";
import { type Attack, send, sendFromMany, type Targets, utf8 } from "./attack.ts";

const framed = (head: FrameHead, body: Uint8Array = new Uint8Array()): Uint8Array =>
  concatBytes([frameHead(head, body.length), body]);

const HEAD = writeHeaders([
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/tensorflow.WorkerService/GetStatus"],
  [":authority", "a"],
  ["content-type", "application/grpc"],
]);
const HELLO = concatBytes([PREFACE, framed({ kind: SETTINGS, flags: 0, id: 0 })]);

/** Frames of many calls, each by its number. */
function calls(count: number, frames: (id: number) => readonly Uint8Array[]): Uint8Array {
  const all = Array.from({ length: count }, (_, i) => frames(2 * i + 1));
  return concatBytes([HELLO, ...all.flat()]);
}

const begun = (id: number, flags = 0): Uint8Array =>
  framed({ kind: HEADERS, flags: END_HEADERS | flags, id }, HEAD);
const repeated = (count: number, frame: Uint8Array): Uint8Array =>
  concatBytes([HELLO, ...Array(count).fill(frame)]);

/** The head of a message of gRPC: its length. */
const declared = (bytes: number): Uint8Array => concatBytes([Uint8Array.of(0), words(bytes)]);

const SENT: Readonly<Record<string, readonly Uint8Array[]>> = {
  "pings": [repeated(15_000, framed({ kind: PING, flags: 0, id: 0 }, new Uint8Array(8)))],
  "settings": [
    repeated(
      10_000,
      framed({ kind: SETTINGS, flags: 0, id: 0 }, settingsBody([[INITIAL_WINDOW, 9]])),
    ),
  ],
  "windows": [repeated(10_000, framed({ kind: WINDOW_UPDATE, flags: 0, id: 0 }, words(1)))],
  "resets of calls": [
    calls(4000, (id) => [
      begun(id),
      framed({ kind: DATA, flags: END_STREAM, id }, new Uint8Array(5)),
      framed({ kind: RESET, flags: 0, id }, words(8)),
    ]),
  ],
  "resets of nothing": [repeated(15_000, framed({ kind: RESET, flags: 0, id: 1 }, words(8)))],
  "calls without end": [calls(2000, (id) => [begun(id)])],
  "empty frames": [
    calls(1, (id) => [begun(id), ...Array(15_000).fill(framed({ kind: DATA, flags: 0, id }))]),
  ],
  "headers without end": [
    concatBytes([
      HELLO,
      framed({ kind: HEADERS, flags: 0, id: 1 }, HEAD),
      ...Array(10_000).fill(framed({ kind: CONTINUATION, flags: 0, id: 1 }, Uint8Array.of(0x82))),
    ]),
  ],
  "headers of one byte": [
    calls(
      100,
      (
        id,
      ) => [framed({ kind: HEADERS, flags: END_HEADERS, id }, new Uint8Array(16_000).fill(0x82))],
    ),
  ],
  "declared lengths": [
    calls(
      1000,
      (
        id,
      ) => [
        begun(id),
        framed({ kind: DATA, flags: 0, id }, concatBytes([declared(1 << 30), new Uint8Array(1)])),
      ],
    ),
  ],
  "frames of wrong lengths": [
    repeated(1, framed({ kind: PING, flags: 0, id: 0 }, new Uint8Array(7))),
  ],
  "frames that are too long": [
    HELLO,
    utf8("\xff\xff\xff\x00\x00\x00\x00\x00\x01"),
    new Uint8Array(1 << 20),
  ],
  "bytes that are no frames": [crypto.getRandomValues(new Uint8Array(50_000))],
};

/** Messages of which a byte comes at a time. */
const slowly: Uint8Array[] = [
  HELLO,
  begun(1),
  framed({ kind: DATA, flags: 0, id: 1 }, declared(1000)),
  ...Array(50).fill(framed({ kind: DATA, flags: 0, id: 1 }, new Uint8Array(1))),
];

const everywhere =
  (one: (port: number, signal: AbortSignal) => Promise<void>): Attack =>
  (targets: Targets, signal) => {
    const ports = Object.values(targets) as number[];
    return Promise.allSettled(ports.map((port) => one(port, signal)));
  };

export const FRAMES: Readonly<Record<string, Attack>> = {
  ...Object.fromEntries(
    Object.entries(SENT).map(([name, parts]) => [
      `${name}, by HTTP/2`,
      everywhere((port, signal) => send(port, parts, { signal })),
    ]),
  ),
  "messages that come byte by byte, by HTTP/2": everywhere((port, signal) =>
    sendFromMany(10, () => send(port, slowly, { signal, pauseMs: 100 }))
  ),
  "open connections, by HTTP/2": everywhere((port, signal) =>
    sendFromMany(100, () => send(port, [HELLO], { signal, stayMs: 5000 }))
  ),
};
