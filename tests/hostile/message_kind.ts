/** Messages of a kind that `messages.ts` mutates. */
import type { Random } from "./mutate.ts";

/** A kind of message that is mutated. */
export interface Kind {
  /** Messages as they should be. */
  sound(): Promise<readonly Uint8Array[]>;
  /** A mutation of one of them. Default: of its bytes. */
  mutate?(sound: readonly Uint8Array[], random: Random): Uint8Array | Promise<Uint8Array>;
  /** Uses a message. Throws an error of ours where it refuses it, and any other where something is wrong. */
  take(message: Uint8Array): unknown;
}

/** Bytes one after the other. */
export const join = (parts: Iterable<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const all = [...parts], out = new Uint8Array(all.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of all) {
    out.set(part, at);
    at += part.length;
  }
  return out;
};
