/**
 * JSON of requests, read from bytes in slices and in time that grows with their number. Integers that a double would round become
 * `bigint`; `NaN`, `Infinity` and `-Infinity` may stand, as TensorFlow's servers read and write them.
 */
import { HttpError } from "./http_error.ts";
import type { Slices } from "./slices.ts";

/** Values between two looks at the clock. */
const VALUES = 4096;
/** Deepest nesting: no tensor has so many axes. */
const MOST_DEPTH = 512;
/** Longest number: no double needs so many digits. */
const MOST_CHARACTERS = 1100;
/** Digits beyond which no integer fits 64 bits: such numbers are read as doubles. */
const MOST_DIGITS = 40;
/** Powers of ten that doubles hold exactly. */
const TENS = Float64Array.from({ length: 23 }, (_, i) => 10 ** i);

const QUOTE = 0x22, BACKSLASH = 0x5c, COMMA = 0x2c, COLON = 0x3a, MINUS = 0x2d, DOT = 0x2e;
const OPEN = 0x5b, CLOSE = 0x5d, BEGIN = 0x7b, END = 0x7d, ZERO = 0x30;

/** The texts that are values of their own. */
const WORDS: readonly (readonly [string, unknown])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
];

const utf8 = new TextDecoder();

/** A list or an object that is being read; the key whose value comes next. */
interface Container {
  readonly list: unknown[] | null;
  readonly object: Record<string, unknown>;
  key: string;
}

/** Parses a request's JSON. Rejects with `HttpError` 400 where it is none. */
export async function readJson(bytes: Uint8Array, slices: Slices): Promise<unknown> {
  const reader = new Reader(bytes);
  while (!reader.read(VALUES)) await slices.turn();
  return reader.value;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #open: Container[] = [];
  #at = 0;
  #isValueNext = true;
  /** Place of the next backslash: strings before it need no unescaping. */
  #escape = -1;
  value: unknown;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads so many values. Returns true at the end of the text. */
  read(values: number): boolean {
    for (let k = 0; k < values; k++) {
      if (this.#isValueNext) this.#value();
      while (!this.#isValueNext) {
        const last = this.#open.at(-1), byte = this.#peek();
        if (last === undefined) {
          if (byte !== undefined) this.#refuse();
          return true;
        }
        this.#at++;
        if (byte === COMMA) {
          if (last.list === null) this.#key(last);
          this.#isValueNext = true;
        } else if (byte === (last.list === null ? END : CLOSE)) {
          this.#open.pop();
          this.#put(last.list ?? last.object);
        } else this.#refuse(this.#at - 1);
      }
    }
    return false;
  }

  #value(): void {
    const byte = this.#peek();
    if (byte === OPEN || byte === BEGIN) return this.#begin(byte);
    if (byte === QUOTE) return this.#put(this.#string());
    if (byte !== undefined && (byte === MINUS || isDigit(byte))) {
      const number = this.#number();
      if (number !== undefined) return this.#put(number);
    }
    for (const [word, value] of WORDS) {
      if (byte === word.charCodeAt(0) && this.#is(word)) {
        this.#at += word.length;
        return this.#put(value);
      }
    }
    this.#refuse();
  }

  #begin(byte: number): void {
    this.#at++;
    const next: Container = { list: byte === OPEN ? [] : null, object: {}, key: "" };
    if (this.#open.length >= MOST_DEPTH) this.#refuse();
    if (this.#peek() === (byte === OPEN ? CLOSE : END)) {
      this.#at++;
      return this.#put(next.list ?? next.object);
    }
    this.#open.push(next);
    if (next.list === null) this.#key(next);
  }

  #key(container: Container): void {
    if (this.#peek() !== QUOTE) this.#refuse();
    container.key = this.#string();
    if (this.#peek() !== COLON) this.#refuse();
    this.#at++;
  }

  /** Stores a value that is whole. */
  #put(value: unknown): void {
    this.#isValueNext = false;
    const last = this.#open.at(-1);
    if (last === undefined) this.value = value;
    else if (last.list !== null) last.list.push(value);
    else if (last.key !== "__proto__") last.object[last.key] = value;
    else {
      const own = { value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(last.object, last.key, own);
    }
  }

  /** Reads a number; undefined where the text is none. */
  #number(): number | bigint | undefined {
    const bytes = this.#bytes, from = this.#at;
    let at = from;
    const isNegative = bytes[at] === MINUS;
    if (isNegative) at++;
    const first = at;
    let whole = 0;
    for (; isDigit(bytes[at]); at++) whole = whole * 10 + (bytes[at] - ZERO);
    const digits = at - first;
    if (digits === 0 || digits > 1 && bytes[first] === ZERO) return undefined;
    let places = 0, isWhole = true;
    if (bytes[at] === DOT) {
      isWhole = false;
      const dot = at++;
      for (; isDigit(bytes[at]); at++) whole = whole * 10 + (bytes[at] - ZERO);
      places = at - dot - 1;
      if (places === 0) return undefined;
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      isWhole = false;
      places = -1;
      at++;
      if (bytes[at] === MINUS || bytes[at] === 0x2b) at++;
      const begin = at;
      while (isDigit(bytes[at])) at++;
      if (at === begin) return undefined;
    }
    if (at - from > MOST_CHARACTERS) this.#refuse(from);
    this.#at = at;
    // Both are exact, and so is one rounding of their quotient.
    if (places >= 0 && places < TENS.length && whole <= Number.MAX_SAFE_INTEGER) {
      return (isNegative ? -whole : whole) / TENS[places];
    }
    const text = utf8.decode(bytes.subarray(from, at));
    return isWhole && digits <= MOST_DIGITS ? BigInt(text) : Number(text);
  }

  /** Reads a string from its quote on. */
  #string(): string {
    const bytes = this.#bytes, from = this.#at;
    let end = bytes.indexOf(QUOTE, from + 1);
    if (this.#escape < from) this.#escape = placeOf(bytes, BACKSLASH, from);
    const isPlain = this.#escape > end;
    while (end >= 0 && !isPlain && backslashesBefore(bytes, end) % 2 === 1) {
      end = bytes.indexOf(QUOTE, end + 1);
    }
    if (end < 0) this.#refuse(bytes.length);
    this.#at = end + 1;
    const text = utf8.decode(bytes.subarray(from + 1, end));
    // deno-lint-ignore no-control-regex
    if (isPlain && !/[\u0000-\u001f]/.test(text)) return text;
    try {
      return JSON.parse(`"${text}"`);
    } catch {
      return this.#refuse(from);
    }
  }

  #is(word: string): boolean {
    for (let i = 1; i < word.length; i++) {
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) return false;
    }
    return true;
  }

  /** Skips spaces, and returns the byte after them; undefined at the end. */
  #peek(): number | undefined {
    const bytes = this.#bytes;
    let byte = bytes[this.#at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      byte = bytes[++this.#at];
    }
    return byte;
  }

  #refuse(at: number = this.#at): never {
    const rest = utf8.decode(this.#bytes.subarray(at, at + 20));
    const what = at >= this.#bytes.length
      ? "it ends too early"
      : `there is ${JSON.stringify(rest)}`;
    throw new HttpError(400, `Cannot read the request's JSON: ${what} at byte ${at}`);
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39;
}

function placeOf(bytes: Uint8Array, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? Infinity : at;
}

function backslashesBefore(bytes: Uint8Array, at: number): number {
  let count = 0;
  while (bytes[at - 1 - count] === BACKSLASH) count++;
  return count;
}
