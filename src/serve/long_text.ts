/** Long strings of requests in parts: none of them is ever one piece of memory, whose pages cost more than the reading. */
import { concatInSlices, type Slices } from "./slices.ts";

const utf8 = new TextDecoder();
/** Bytes that a message shows at most. */
const SHOWN = 100;

/** A string of many thousand characters, as its bytes in UTF-8. */
export class LongText {
  readonly #parts: readonly Uint8Array[];

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts;
  }

  /** Its bytes in UTF-8. */
  bytes(slices: Slices): Promise<Uint8Array<ArrayBuffer>> {
    return concatInSlices(this.#parts, slices);
  }

  /** The bytes that it tells in base64; null where it does not. */
  async fromBase64(slices: Slices): Promise<Uint8Array<ArrayBuffer> | null> {
    const decoded: Uint8Array[] = [];
    let rest = "", isOver = false;
    for (const part of [...this.#parts, null]) {
      const text = part === null ? rest : rest + utf8.decode(part).replace(/[\t\n\f\r ]/g, "");
      // Four characters are three bytes; what fills up the last four ends the text.
      const now = part === null ? text : text.slice(0, text.length - text.length % 4);
      rest = text.slice(now.length);
      if (isOver && now !== "") return null;
      isOver ||= now.includes("=");
      try {
        decoded.push(Uint8Array.from(atob(now), (c) => c.charCodeAt(0)));
      } catch {
        return null;
      }
      await slices.turn();
    }
    return await concatInSlices(decoded, slices);
  }

  /** The beginning, for messages. */
  toJSON(): string {
    return utf8.decode(this.#parts[0].subarray(0, SHOWN));
  }
}
