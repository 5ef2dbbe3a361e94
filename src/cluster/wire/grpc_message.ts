/** Messages and status texts of gRPC in HTTP/2. */
import { ResourceExhaustedError, UnimplementedError } from "../../engine/core/errors.ts";
import type { ByteBudget } from "../../library/io/bytes.ts";
import { MAX_MESSAGE_BYTES, type Parts, type TransportOptions } from "./transport.ts";

/** Bytes of a message's head: the compression flag and the length. */
const HEAD = 5;
/** gRPC's clients refuse trailers of more than 8 KiB, and percent-encoding takes up to three bytes for one. */
const MAX_STATUS_TEXT = 2000;

export function headOf(parts: Parts): Uint8Array {
  const head = new Uint8Array(HEAD);
  new DataView(head.buffer).setUint32(1, parts.reduce((n, p) => n + p.length, 0));
  return head;
}

/** Collects the one message of a stream. Keeps nothing of a message that is too long, and takes memory as its bytes come. */
export class Message {
  readonly #most: number;
  readonly #held: ByteBudget;
  readonly #head = new Uint8Array(HEAD);
  #seen = 0;
  #length = 0;
  #body: Uint8Array | null = null;
  #isReleased = false;

  constructor({ maxMessageBytes = MAX_MESSAGE_BYTES }: TransportOptions, held: ByteBudget) {
    this.#most = maxMessageBytes;
    this.#held = held;
  }

  /**
   * Throws `ResourceExhaustedError` for a message that is too long or finds no room, `UnimplementedError` for one that is compressed.
   */
  add(chunk: Uint8Array): void {
    if (this.#isReleased) return;
    let at = 0;
    while (this.#seen < HEAD && at < chunk.length) this.#head[this.#seen++] = chunk[at++];
    if (this.#seen < HEAD) return;
    if (this.#body === null) this.#begin();
    const from = this.#seen - HEAD, rest = chunk.subarray(at, at + this.#length - from);
    this.#grow(from + rest.length);
    this.#body!.set(rest, from);
    this.#seen += rest.length;
  }

  #begin(): void {
    const length = new DataView(this.#head.buffer).getUint32(1);
    if (this.#head[0] !== 0) {
      throw new UnimplementedError("Cannot read a message: it is compressed, wanted a plain one");
    }
    if (length > this.#most) {
      throw new ResourceExhaustedError(
        `Cannot read a message of ${length} bytes: at most ${this.#most} are taken`,
      );
    }
    this.#length = length;
    this.#body = new Uint8Array();
  }

  /** Makes room for the first `bytes`: twice as much as before, up to the declared length. */
  #grow(bytes: number): void {
    const had = this.#body!.length;
    if (bytes <= had) return;
    const room = Math.min(this.#length, Math.max(bytes, 2 * had));
    this.#held.take(room - had);
    const body = new Uint8Array(room);
    body.set(this.#body!);
    this.#body = body;
  }

  /** The message, or null where it is incomplete. */
  get whole(): Uint8Array | null {
    return this.#body !== null && this.#seen - HEAD === this.#length ? this.#body : null;
  }

  /** Gives up what was read: its room is free for others. */
  release(): void {
    this.#held.release(this.#body?.length ?? 0);
    this.#body = null;
    this.#isReleased = true;
  }
}

/** Encodes a text for `grpc-message`: percent-encoded, and shortened to the limit of clients. */
export function encodeStatus(message: string): string {
  const short = message.length > MAX_STATUS_TEXT
    ? `${message.slice(0, MAX_STATUS_TEXT)}…`
    : message;
  const text = new TextEncoder().encode(short);
  return Array.from(
    text,
    (b) =>
      b >= 0x20 && b <= 0x7e && b !== 0x25
        ? String.fromCharCode(b)
        : `%${b.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

/** Decodes a text of {@linkcode encodeStatus}; undecodable text is returned as it is. */
export function decodeStatus(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
