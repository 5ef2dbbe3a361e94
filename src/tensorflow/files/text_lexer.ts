/** Tokens of protobuf's text format. */
import { DataLossError } from "../../engine/core/errors.ts";

/** A token: a word or number, a string literal's bytes, or one sign of punctuation. */
export type Token =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "string"; readonly bytes: Uint8Array }
  | { readonly kind: "sign"; readonly text: string }
  | { readonly kind: "end" };

const BLANK = /(?:\s|#[^\n]*)*/y;
const WORD = /[-+]?\s*[A-Za-z0-9_.][A-Za-z0-9_.+]*(?:(?<=[eE])-[0-9]+)?/y;
const SIGN = /[{}<>[\]:;,/]/y;
const QUOTED = /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y;
const ESCAPE = /\\(?:[0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^])|[^\\]+/g;
const NAMED: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
};

export class Lexer {
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #next: Token;

  /** Creates the lexer of a text, whose file errors name. */
  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#next = this.#read();
  }

  /** The token that {@linkcode take} returns next. */
  get next(): Token {
    return this.#next;
  }

  /** Returns the next token and advances. */
  take(): Token {
    const token = this.#next;
    this.#next = this.#read();
    return token;
  }

  /** Takes a sign if it is next. */
  skip(sign: string): boolean {
    if (this.#next.kind !== "sign" || this.#next.text !== sign) return false;
    this.take();
    return true;
  }

  /** Makes an error at this place of the text. */
  error(problem: string): DataLossError {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new DataLossError(`Cannot read ${this.#file}: ${problem} at line ${line}`);
  }

  #read(): Token {
    this.#match(BLANK);
    if (this.#at === this.#text.length) return { kind: "end" };
    const quoted = this.#match(QUOTED);
    if (quoted !== null) return { kind: "string", bytes: unescape(quoted.slice(1, -1)) };
    const word = this.#match(WORD);
    if (word !== null) return { kind: "word", text: word.replace(/\s/g, "") };
    const sign = this.#match(SIGN);
    if (sign !== null) return { kind: "sign", text: sign };
    throw this.error(`there is ${JSON.stringify(this.#text[this.#at])}`);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return null;
    this.#at = pattern.lastIndex;
    return found[0];
  }
}

/** Decodes a literal: text as UTF-8, escapes as the bytes they name. */
function unescape(literal: string): Uint8Array {
  const encoder = new TextEncoder();
  if (!literal.includes("\\")) return encoder.encode(literal);
  const out: number[] = [];
  for (const [piece] of literal.matchAll(ESCAPE)) {
    if (piece[0] !== "\\") { for (const b of encoder.encode(piece)) out.push(b); }
    else if (/[0-7]/.test(piece[1])) out.push(parseInt(piece.slice(1), 8) & 255);
    else if (/^[xX][0-9a-fA-F]/.test(piece.slice(1))) out.push(parseInt(piece.slice(2), 16));
    else if (/^[uU]./.test(piece.slice(1))) {
      out.push(...encoder.encode(String.fromCodePoint(parseInt(piece.slice(2), 16))));
    } else out.push(NAMED[piece[1]] ?? piece.charCodeAt(1));
  }
  return Uint8Array.from(out);
}
