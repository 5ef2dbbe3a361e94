/**
 * JSON of requests, read from bytes in slices and in time that grows with their number. Integers that a double would round become
 * `bigint`; `NaN`, `Infinity` and `-Infinity` may stand, as TensorFlow's servers read and write them.
 */
import { encodeString } from "../engine/core/text.ts";
import { HttpError } from "./http_error.ts";
import { longer, type LongList, LongText } from "./long_text.ts";
import { GridBuilder } from "./number_grid.ts";
import type { Slices } from "./slices.ts";

/** Values between two looks at the clock. */
const VALUES = 4096;
/** Deepest nesting: no tensor has so many axes. */
const MOST_DEPTH = 512;
/** Longest number: no double needs so many digits. */
const MOST_CHARACTERS = 1100;
/** Digits beyond which no integer fits 64 bits: such numbers are read as doubles. */
const MOST_DIGITS = 40;
/** Most names of an object: inputs have names, and values have none. */
const MOST_NAMES = 4096;
/** Bytes that engines take for a list or an object, for a string beside its characters, and for a name. */
const CONTAINER_COST = 64, STRING_COST = 32, NAME_COST = 16;
/** Bytes for one without elements, which is the same everywhere. */
const EMPTY_COST = 8;
const EMPTY_LIST: readonly unknown[] = Object.freeze([]);
const EMPTY_OBJECT: Readonly<Record<string, unknown>> = Object.freeze({});
/** Powers of ten that doubles hold exactly. */
const TENS = Float64Array.from({ length: 23 }, (_, i) => 10 ** i);

const QUOTE = 0x22, BACKSLASH = 0x5c, COMMA = 0x2c, COLON = 0x3a, MINUS = 0x2d, DOT = 0x2e;
const OPEN = 0x5b, CLOSE = 0x5d, BEGIN = 0x7b, END = 0x7d, ZERO = 0x30, LETTER_U = 0x75;

/** The texts that are values of their own. */
const WORDS: readonly (readonly [string, unknown])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
];

/** Bytes of a text beyond which lists of numbers are read as grids. */
const LONG_BYTES = 1 << 16;
/** Bytes of a string that are read between two looks at the clock. */
const PART_BYTES = 1 << 16;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** A list or an object that is being read; the key whose value comes next. */
interface Container {
  list: unknown[] | LongList | null;
  readonly object: Record<string, unknown>;
  key: string;
  names: number;
}

/** Parts of a string so far, in UTF-8, and where it begins. */
interface Text {
  readonly from: number;
  readonly parts: Uint8Array[];
}

/**
 * Parses a request's JSON: long lists of numbers become a `NumberGrid`, other long lists a `LongList`, and long strings a `LongText`. Rejects with `HttpError` 400
 * where it is none, and with the error of `slices` where its values take too many bytes.
 */
export async function readJson(bytes: Uint8Array, slices: Slices): Promise<unknown> {
  const reader = new Reader(bytes);
  for (let cost = 0; !reader.read(VALUES); cost = reader.cost) {
    slices.took(reader.cost - cost);
    await slices.turn();
  }
  return reader.value;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #open: Container[] = [];
  #at = 0;
  #isValueNext = true;
  /** Place of the next backslash: strings before it need no unescaping. */
  #escape = -1;
  /** Lists of numbers that are being read, and where they begin. */
  #grid: { readonly from: number; readonly builder: GridBuilder } | null = null;
  /** Containers around lists that are no grid: none within is tried again. */
  #plainDepth = Infinity;
  /** Parts of a long string that is being read. */
  #text: Text | null = null;
  /** Bytes that its lists, objects and strings take. */
  cost = 0;
  value: unknown;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads so many values. Returns true at the end of the text. */
  read(values: number): boolean {
    for (let k = 0; k < values; k++) {
      if (this.#isValueNext) this.#value();
      if (this.#grid !== null && !this.#readGrid(this.#grid, values)) return false;
      if (this.#text !== null && !this.#readText(this.#text)) return false;
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
          if (this.#open.length <= this.#plainDepth) this.#plainDepth = Infinity;
          this.#put(last.list ?? last.object);
        } else this.#refuse(this.#at - 1);
      }
    }
    return false;
  }

  #value(): void {
    // It goes on with one that is not whole yet.
    if (this.#grid !== null || this.#text !== null) return;
    const byte = this.#peek();
    if (byte === OPEN && this.#plainDepth === Infinity && this.#bytes.length > LONG_BYTES) {
      this.#grid = { from: this.#at, builder: new GridBuilder() };
      return;
    }
    if (byte === OPEN || byte === BEGIN) return this.#begin(byte);
    if (byte === QUOTE) return this.#beginString();
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
    if (this.#open.length >= MOST_DEPTH) this.#refuse();
    if (this.#peek() === (byte === OPEN ? CLOSE : END)) {
      this.#at++;
      this.cost += EMPTY_COST;
      return this.#put(byte === OPEN ? EMPTY_LIST : EMPTY_OBJECT);
    }
    const next: Container = { list: byte === OPEN ? [] : null, object: {}, key: "", names: 0 };
    this.cost += CONTAINER_COST;
    this.#open.push(next);
    if (next.list === null) this.#key(next);
  }

  #key(container: Container): void {
    if (this.#peek() !== QUOTE) this.#refuse();
    // No name is long.
    container.key = this.#shortString() ?? this.#refuse();
    this.cost += NAME_COST;
    if (++container.names > MOST_NAMES) this.#refuse();
    if (this.#peek() !== COLON) this.#refuse();
    this.#at++;
  }

  /** Stores a value that is whole. */
  #put(value: unknown): void {
    this.#isValueNext = false;
    const last = this.#open.at(-1);
    if (last === undefined) this.value = value;
    else if (last.list !== null) (last.list = longer(last.list)).push(value);
    else if (last.key !== "__proto__") last.object[last.key] = value;
    else {
      const own = { value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(last.object, last.key, own);
    }
  }

  /** Reads a number; undefined where the text is none. */
  #number(): number | bigint | undefined {
    const bytes = this.#bytes, from = this.#at, end = from + MOST_CHARACTERS + 1;
    let at = from;
    const isNegative = bytes[at] === MINUS;
    if (isNegative) at++;
    const first = at;
    let whole = 0;
    for (; isDigit(bytes[at]) && at < end; at++) whole = whole * 10 + (bytes[at] - ZERO);
    const digits = at - first;
    if (digits === 0 || digits > 1 && bytes[first] === ZERO) return undefined;
    let places = 0, isWhole = true;
    if (bytes[at] === DOT) {
      isWhole = false;
      const dot = at++;
      for (; isDigit(bytes[at]) && at < end; at++) whole = whole * 10 + (bytes[at] - ZERO);
      places = at - dot - 1;
      if (places === 0) return undefined;
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      isWhole = false;
      places = -1;
      at++;
      if (bytes[at] === MINUS || bytes[at] === 0x2b) at++;
      const begin = at;
      while (isDigit(bytes[at]) && at < end) at++;
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

  /** Reads so many numbers and lists of a grid. Returns true when it is stored, or is none and is read anew as any list. */
  #readGrid({ from, builder }: { from: number; builder: GridBuilder }, values: number): boolean {
    for (let k = 0; k < values; k++) {
      const byte = this.#peek();
      let isGrid: boolean;
      if (byte === OPEN) {
        this.#at++;
        isGrid = builder.open();
        // The next one is a number or a list.
        if (isGrid) continue;
      } else {
        const number = byte === MINUS || isDigit(byte) ? this.#number() : undefined;
        isGrid = typeof number === "number" && builder.number(number);
      }
      // Lists that end here, up to the next element.
      for (let next = this.#peek(); isGrid && next !== COMMA; next = this.#peek()) {
        isGrid = next === CLOSE && builder.close();
        if (!isGrid) break;
        this.#at++;
        if (!builder.isWhole) continue;
        this.#grid = null;
        this.#put(builder.grid.plain);
        return true;
      }
      if (!isGrid) {
        this.#grid = null;
        this.#at = from;
        this.#plainDepth = this.#open.length;
        this.#begin(OPEN);
        return true;
      }
      this.#at++;
    }
    return false;
  }

  /** Stores the string at the next quote, or begins with it where it is long. */
  #beginString(): void {
    const short = this.#shortString();
    if (short !== undefined) {
      this.cost += STRING_COST + short.length;
      return this.#put(short);
    }
    this.#text = { from: this.#at, parts: [] };
    this.#at++;
  }

  /** Reads the next part of a string. Returns true when it is stored. */
  #readText({ from: begin, parts }: Text): boolean {
    const bytes = this.#bytes, from = this.#at, most = Math.min(bytes.length, from + PART_BYTES);
    let at = from, isAscii = true;
    while (at < most && bytes[at] !== QUOTE) {
      if (bytes[at] < 0x20) this.#refuse(begin);
      if (bytes[at] === BACKSLASH) {
        isAscii = false;
        const isHigh = isHighSurrogate(bytes, at);
        at += bytes[at + 1] === LETTER_U ? 6 : 2;
        // Both halves of a character are in one part.
        if (isHigh && bytes[at] === BACKSLASH && bytes[at + 1] === LETTER_U) at += 6;
      } else if (bytes[at++] > 0x7f) isAscii = false;
    }
    // A part ends between two characters.
    while (isContinued(bytes[at])) at++;
    if (at >= bytes.length) this.#refuse(bytes.length);
    const part = bytes.subarray(from, at);
    parts.push(isAscii ? part : encodeString(this.#unescaped(utf8.decode(part), begin)));
    this.#at = at;
    if (bytes[at] !== QUOTE) return false;
    this.#at++;
    this.#text = null;
    this.#put(new LongText(parts));
    return true;
  }

  /** Reads a string from its quote on; undefined for a long one, and for one that does not end. */
  #shortString(): string | undefined {
    const bytes = this.#bytes, from = this.#at;
    let end = bytes.indexOf(QUOTE, from + 1);
    if (this.#escape < from) this.#escape = placeOf(bytes, BACKSLASH, from);
    const isPlain = this.#escape > end;
    while (
      end >= 0 && end - from <= PART_BYTES && !isPlain && backslashesBefore(bytes, end) % 2 === 1
    ) {
      end = bytes.indexOf(QUOTE, end + 1);
    }
    if (end < 0 || end - from > PART_BYTES) return undefined;
    this.#at = end + 1;
    const text = utf8.decode(bytes.subarray(from + 1, end));
    // deno-lint-ignore no-control-regex
    return isPlain && !/[\u0000-\u001f]/.test(text) ? text : this.#unescaped(text, from);
  }

  #unescaped(text: string, from: number): string {
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

/** True for a byte of UTF-8 that goes on with a character. */
const isContinued = (byte: number | undefined): boolean => byte !== undefined && byte >> 6 === 2;

/** True for an escape of a character's first half, as `\\ud83d`. */
function isHighSurrogate(bytes: Uint8Array, at: number): boolean {
  const isD = bytes[at + 2] === 0x64 || bytes[at + 2] === 0x44;
  return bytes[at + 1] === LETTER_U && isD && /[89ab]/i.test(String.fromCharCode(bytes[at + 3]));
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
