/**
 * Bytes with random mutations that come over the network or out of a file of others: images, archives, requests, frames of HTTP/2,
 * elements of the data service. Whatever they hold, there comes a value or an error of ours, in little time, and no tensor is left.
 */
import process from "node:process";
import { fromBinary } from "@bufbuild/protobuf";
import { assert } from "@std/assert";
import * as tf from "@weft/weft";
import { decodeImage, encodeJpeg } from "@weft/weft/image";
import { elementOf, elementParts } from "../../src/cluster/wire/element_wire.ts";
import { writeHeaders } from "../../src/cluster/wire/hpack.ts";
import { Http2Connection } from "../../src/cluster/wire/http2.ts";
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frameHead,
  GOAWAY,
  HEADERS,
  INITIAL_WINDOW,
  PADDED,
  PING,
  PREFACE,
  PRIORITY,
  RESET,
  SETTINGS,
  settingsBody,
  WINDOW_UPDATE,
  words,
} from "../../src/cluster/wire/http2_frames.ts";
import type { InputTurns } from "../../src/cluster/wire/sliced_input.ts";
import { GetElementResponseSchema } from "../../src/tensorflow/proto/data_service_pb.ts";
import { crc32, soundFiles, zip } from "./files.ts";
import { join, type Kind } from "./message_kind.ts";
import { mutateBytes, Random } from "./mutate.ts";
import { isOurs, outcome } from "./outcome.ts";
import { REQUESTS } from "./requests.ts";
import { STORED } from "./stored.ts";

/** Milliseconds of processor time for one message of some kilobytes. */
const LIMIT_MS = 5000;

/** Parts of a PNG, of which one is mutated; their checksums are right. */
function mutatePng(sound: readonly Uint8Array[], random: Random): Uint8Array {
  const bytes = random.of(sound), view = new DataView(bytes.buffer, bytes.byteOffset);
  const parts: Uint8Array[] = [];
  for (let at = 8; at < bytes.length;) {
    const end = at + 8 + view.getUint32(at);
    parts.push(bytes.subarray(at + 4, end));
    at = end + 4;
  }
  const k = random.below(parts.length), changed = mutateBytes(parts[k]!, random, parts);
  const all = parts.flatMap((part, i) => {
    const own = i === k ? changed : part;
    return [words(Math.max(0, own.length - 4)), own, words(crc32(own))];
  });
  return join([bytes.subarray(0, 8), ...all]);
}

/** A zip of arrays, of which one is mutated; its checksums are right. */
async function mutateZip(sound: readonly Uint8Array[], random: Random): Promise<Uint8Array> {
  const entries = sound.map((data, i) => ({
    name: `x${i}.npy`,
    data: random.below(3) === 0 ? mutateBytes(data, random, sound) : data,
    deflated: random.below(2) === 0,
    wide: random.below(4) === 0,
  }));
  return await zip(entries);
}

/** A frame of HTTP/2. */
interface Frame {
  readonly kind: number;
  readonly flags: number;
  readonly id: number;
  readonly body: Uint8Array;
}

const FRAMES: readonly Frame[] = [
  { kind: SETTINGS, flags: 0, id: 0, body: settingsBody([[INITIAL_WINDOW, 1000]]) },
  { kind: SETTINGS, flags: ACK, id: 0, body: new Uint8Array() },
  { kind: HEADERS, flags: END_HEADERS, id: 1, body: writeHeaders([[":path", "/a"], ["te", "x"]]) },
  { kind: DATA, flags: 0, id: 1, body: new Uint8Array(20) },
  { kind: DATA, flags: END_STREAM | PADDED, id: 1, body: Uint8Array.of(2, 7, 7, 0, 0) },
  { kind: HEADERS, flags: PRIORITY, id: 3, body: new Uint8Array(5) },
  { kind: CONTINUATION, flags: END_HEADERS, id: 3, body: writeHeaders([[":path", "/b"]]) },
  { kind: WINDOW_UPDATE, flags: 0, id: 3, body: words(100) },
  { kind: WINDOW_UPDATE, flags: 0, id: 0, body: words(100) },
  { kind: PING, flags: 0, id: 0, body: new Uint8Array(8) },
  { kind: RESET, flags: 0, id: 3, body: words(8) },
  { kind: HEADERS, flags: END_HEADERS | END_STREAM, id: 5, body: writeHeaders([[":path", "/c"]]) },
  { kind: GOAWAY, flags: 0, id: 0, body: words(0, 0) },
];

const framesOf = (frames: readonly Frame[]): Uint8Array =>
  join([PREFACE, ...frames.flatMap((f) => [frameHead(f, f.body.length), f.body])]);

/** Frames that are changed, lost, doubled and moved; or any bytes of them. */
function mutateFrames(sound: readonly Uint8Array[], random: Random): Uint8Array {
  if (random.below(3) === 0) return mutateBytes(random.of(sound), random, sound);
  const frames = [...FRAMES];
  for (let n = 1 + random.below(4); n > 0; n--) {
    const at = random.below(frames.length), frame = frames[at]!;
    const changes: Partial<Frame>[] = [
      { kind: random.below(12) },
      { flags: random.below(256) },
      { id: random.of([0, 1, 2, 3, 5, 7, 2 ** 31 - 1]) },
      { body: mutateBytes(frame.body, random, FRAMES.map((f) => f.body)) },
    ];
    const which = random.below(changes.length + 2);
    if (which < changes.length) frames[at] = { ...frame, ...changes[which] };
    else if (which === changes.length) frames.splice(at, 1);
    else frames.splice(random.below(frames.length), 0, frame);
  }
  return framesOf(frames);
}

type Listener = (...args: never[]) => void;

/** A socket of which a test is the other end. */
class Socket {
  readonly #listeners = new Map<string, Listener>();
  destroyed = false;
  readonly writableLength = 0;

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, listener);
  }
  emit(event: string, ...args: readonly unknown[]): void {
    this.#listeners.get(event)?.(...args as never[]);
  }
  setNoDelay(): void {}
  setKeepAlive(): void {}
  write(): boolean {
    return true;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

/** Turns that come at once: a message is read before the next. */
const AT_ONCE: Pick<InputTurns, "take"> = {
  take: (socket, read) =>
    void socket.on("data", (chunk: Uint8Array) => {
      for (let at = 0; at < chunk.length;) at = read(chunk, at);
    }),
};

/** Sends frames to a server, and cuts the connection. An error that comes out of it is one too many, whatever it is. */
function serveFrames(bytes: Uint8Array): void {
  const socket = new Socket();
  let ended = 0, open = 0, why: Error | null = null;
  try {
    new Http2Connection(socket as never, {
      turns: AT_ONCE as InputTurns,
      accept(stream) {
        open++;
        return {
          headers: () => {},
          data: () => {},
          end: () => void stream.sendHeaders([[":status", "200"]], true),
          lost: () => void ended++,
        };
      },
      gone: (reason) => why = reason,
    });
    for (let at = 0; at < bytes.length; at += 50) {
      socket.emit("data", bytes.subarray(at, at + 50));
    }
    const wasRefused = socket.destroyed;
    socket.emit("close");
    // It tells what was wrong by the message of whatever was thrown.
    if (why === null || !isOurs(why)) throw new Error(`it went because of ${why}`);
    if (ended > open) throw new Error(`${ended} of ${open} streams ended`);
    if (wasRefused) throw new tf.errors.DataLossError("refused");
  } catch (error) {
    if (error instanceof tf.errors.DataLossError && error.message === "refused") throw error;
    throw new Error(`A connection threw: ${(error as Error).stack}`);
  }
}

const element = [
  new tf.NdArray("float32", [2, 2], Float32Array.of(1, 2, 3, 4)),
  new tf.NdArray("string", [2], [Uint8Array.of(97, 98), Uint8Array.of(99)]),
  new tf.NdArray("int64", [], BigInt64Array.of(7n)),
];
/** The kinds of messages, by name. */
export const MESSAGES: Readonly<Record<string, Kind>> = {
  "a PNG, its checksums right": {
    sound: () =>
      Promise.resolve([1, 2, 3, 4].map((channels) => {
        const data = Uint8Array.from({ length: 5 * 7 * channels }, (_, i) => i * i);
        const image = new tf.NdArray("uint8", [5, 7, channels], data);
        return tf.tidy(() => tf.io.encodePng(image).ndarraySync().data[0] as Uint8Array);
      })),
    mutate: mutatePng,
    take: (bytes) => decodeImage(bytes),
  },
  "a JPEG": {
    sound: () => {
      const data = Uint8Array.from({ length: 16 * 24 * 3 }, (_, i) => i * 7);
      return Promise.resolve([encodeJpeg(new tf.NdArray("uint8", [16, 24, 3], data))]);
    },
    take: (bytes) => decodeImage(bytes),
  },
  "a zip, its checksums right": {
    sound: async () => (await soundFiles()).npy,
    mutate: mutateZip,
    take: (bytes) => tf.io.readNpz(bytes),
  },
  "an element of the data service": {
    sound: () =>
      Promise.resolve(
        [false, true].map((compressed) => join(elementParts(element, { index: 3, compressed }))),
      ),
    take: (bytes) => {
      let message;
      try {
        message = fromBinary(GetElementResponseSchema, bytes);
      } catch {
        throw new tf.errors.DataLossError("no message of protobuf");
      }
      return elementOf(message);
    },
  },
  "frames of HTTP/2": {
    sound: () => Promise.resolve([framesOf(FRAMES)]),
    mutate: mutateFrames,
    take: serveFrames,
  },
  ...REQUESTS,
  ...STORED,
};

/** Messages of one kind, mutated by seeds. */
export class MutatedMessages {
  readonly #kind: Kind;
  readonly #sound: readonly Uint8Array[];

  private constructor(kind: Kind, sound: readonly Uint8Array[]) {
    this.#kind = kind;
    this.#sound = sound;
  }

  /** Sound messages of a kind, which must be taken unless they are parts of one. */
  static async create(name: string): Promise<MutatedMessages> {
    const kind = MESSAGES[name]!, sound = await kind.sound();
    if (kind.mutate !== mutateZip) { for (const message of sound) await kind.take(message); }
    return new MutatedMessages(kind, sound);
  }

  /** Takes the mutation of a seed: true where it was taken, false where it was refused. Throws `AssertionError` for anything else. */
  async read(seed: number): Promise<boolean> {
    const random = new Random(seed), { mutate } = this.#kind;
    const message = await (mutate?.(this.#sound, random) ??
      mutateBytes(random.of(this.#sound), random, this.#sound));
    return await takeMessage(this.#kind, message, `seed ${seed}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** Takes a message of a kind as {@linkcode MutatedMessages} does. */
export async function takeMessage(
  kind: Kind,
  message: Uint8Array,
  what: string,
): Promise<boolean> {
  const tensors = tf.memory().numTensors, before = process.cpuUsage();
  const taken = await outcome(async () => {
    await kind.take(message);
    return true;
  }, () => `${what}: ${message.toHex()}`);
  // A busy machine takes longer, and no more of this.
  const { user, system } = process.cpuUsage(before), ms = (user + system) / 1000;
  const left = tf.memory().numTensors - tensors;
  assert(ms <= LIMIT_MS, `${what}: ${ms} ms for ${message.length} bytes`);
  assert(left === 0, `${what}: ${left} tensors are left`);
  return taken !== null;
}
