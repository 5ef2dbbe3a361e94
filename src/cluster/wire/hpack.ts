/** HPACK, the header compression of HTTP/2: all of it is read, and headers are written without a table. RFC 7541. */
import { DataLossError } from "../../engine/core/errors.ts";

export type Headers = readonly (readonly [name: string, value: string])[];

/** Most bytes of the dynamic table: HTTP/2's default. */
const TABLE_BYTES = 4096;
/** Bytes that an entry counts beside its texts. */
const ENTRY_BYTES = 32;
/** Most bytes of a block's headers, counted as the table counts them: a byte of a block may name a long one. */
const MOST_BYTES = 1 << 16;

/** The static table, whose entries are numbered from 1. */
const STATIC: Headers =
  `:authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|
:status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|accept-language|accept-ranges|
accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|content-encoding|content-language|
content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|
if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|
refresh|retry-after|server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate`
    .replaceAll("\n", "").split("|").map((entry) => {
      const [name, value = ""] = entry.split("=");
      return [name, value];
    });

/** The length of each byte's code, and of the end's, as digits of base 36. The codes are canonical. */
const LENGTHS =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f5656566657766" +
  "6567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqq" +
  "srrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu";

/** The codes as a tree: two children for each inner node; those below 0 are bytes, counted from -1. */
const TREE: readonly [number, number][] = huffmanTree();

function huffmanTree(): [number, number][] {
  const tree: [number, number][] = [[0, 0]];
  const symbols = Array.from(LENGTHS, (digit, symbol) => ({ symbol, length: parseInt(digit, 36) }))
    .sort((a, b) => a.length - b.length || a.symbol - b.symbol);
  let code = 0, last = 0;
  for (const { symbol, length } of symbols) {
    code <<= length - last;
    last = length;
    let at = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const side = code >> bit & 1;
      if (tree[at][side] === 0) tree[at][side] = tree.push([0, 0]) - 1;
      at = tree[at][side];
    }
    tree[at][code & 1] = -1 - symbol;
    code++;
  }
  return tree;
}

/** Most bits that fill the last byte of a text: they begin the code of the end. */
const MOST_PADDING = 7;

function unhuffman(bytes: Uint8Array): Uint8Array {
  const out: number[] = [];
  let at = 0, depth = 0, ones = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const side = byte >> bit & 1, next = TREE[at][side];
      depth++;
      ones &&= side === 1;
      if (next >= 0) {
        at = next;
        continue;
      }
      if (next === -257) broken("a text holds the code of its end");
      out.push(-1 - next);
      at = depth = 0;
      ones = true;
    }
  }
  if (depth > MOST_PADDING || !ones) broken("a text ends within a code");
  return Uint8Array.from(out);
}

function broken(why: string): never {
  throw new DataLossError(`Cannot read headers: ${why}`);
}

/** Reads the headers of one connection, each block after the one before. */
export class HeaderReader {
  readonly #table: (readonly [string, string])[] = [];
  #bytes = 0;
  #most = TABLE_BYTES;
  #block: Uint8Array = new Uint8Array();
  #at = 0;

  /** Decodes a block. Throws `DataLossError` for an invalid one; the connection is of no use then. */
  read(block: Uint8Array): Map<string, string> {
    const headers = new Map<string, string>();
    this.#block = block;
    this.#at = 0;
    for (let bytes = 0; this.#at < block.length;) {
      const first = block[this.#at];
      if ((first & 0xe0) === 0x20) {
        this.#resize(this.#number(5));
        continue;
      }
      const entry = first & 0x80
        ? this.#entry(this.#number(7))
        : this.#literal(first & 0x40 ? 6 : 4);
      if ((first & 0xc0) === 0x40) this.#add(entry);
      bytes += sizeOf(entry);
      if (bytes > MOST_BYTES) broken(`they take more than ${MOST_BYTES} bytes`);
      headers.set(...entry);
    }
    return headers;
  }

  #literal(prefix: number): readonly [string, string] {
    const index = this.#number(prefix);
    const name = index === 0 ? this.#text() : this.#entry(index)[0];
    return [name, this.#text()];
  }

  #entry(index: number): readonly [string, string] {
    return (index <= STATIC.length ? STATIC[index - 1] : this.#table[index - STATIC.length - 1]) ??
      broken(`there is no entry ${index}`);
  }

  #add(entry: readonly [string, string]): void {
    this.#table.unshift(entry);
    this.#bytes += sizeOf(entry);
    this.#evict();
  }

  #resize(bytes: number): void {
    if (bytes > TABLE_BYTES) broken(`a table of ${bytes} bytes`);
    this.#most = bytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#most) this.#bytes -= sizeOf(this.#table.pop()!);
  }

  #byte(): number {
    return this.#block[this.#at++] ?? broken("they are cut off");
  }

  #number(prefix: number): number {
    const most = (1 << prefix) - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let shift = 0;; shift += 7) {
      const byte = this.#byte();
      value += (byte & 127) << shift;
      if (byte < 128) return value;
      if (shift > 14) broken("a number is too large");
    }
  }

  #text(): string {
    const isCoded = (this.#block[this.#at] & 0x80) !== 0, length = this.#number(7);
    const bytes = this.#block.subarray(this.#at, this.#at += length);
    if (bytes.length < length) broken("they are cut off");
    return String.fromCharCode(...(isCoded ? unhuffman(bytes) : bytes));
  }
}

function sizeOf([name, value]: readonly [string, string]): number {
  return name.length + value.length + ENTRY_BYTES;
}

/** Encodes headers, whose texts have one byte a character. */
export function writeHeaders(headers: Headers): Uint8Array {
  const out: number[] = [];
  const text = (s: string): void => {
    let length = s.length;
    if (length < 127) out.push(length);
    else {
      out.push(127);
      for (length -= 127; length > 127; length >>= 7) out.push(length & 127 | 128);
      out.push(length);
    }
    for (let i = 0; i < s.length; i++) out.push(s.charCodeAt(i) & 255);
  };
  for (const [name, value] of headers) {
    // A literal that is never indexed.
    out.push(0);
    text(name);
    text(value);
  }
  return Uint8Array.from(out);
}
