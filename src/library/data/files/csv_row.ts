/** The fields of a row of CSV. */

/** The separator that is any run of spaces and tabs. */
export const WHITESPACE: unique symbol = Symbol("whitespace");

/** The separator of fields: a character, or any run of spaces and tabs. */
export type Delimiter = string | typeof WHITESPACE;

/** Splits a row without quotes. */
export function plainFields(text: string, delimiter: Delimiter): string[] {
  return delimiter === WHITESPACE
    ? text.replace(/^[ \t]+|[ \t]+$/g, "").split(/[ \t]+/)
    : text.split(delimiter);
}

function isSpace(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

/** Finds the separator from a place on; -1 where there is none. */
function endOfField(text: string, delimiter: Delimiter, from: number): number {
  if (delimiter !== WHITESPACE) return text.indexOf(delimiter, from);
  let at = from;
  while (at < text.length && !isSpace(text[at])) at++;
  return at < text.length ? at : -1;
}

/** A row with quotes, split line by line: each line is read once, however many a field spans. */
export class QuotedRow {
  readonly fields: string[] = [];
  readonly #delim: Delimiter;
  /** Parts of a quoted field that goes on in the next line; null where none does. */
  #open: string[] | null = null;

  constructor(delim: Delimiter) {
    this.#delim = delim;
  }

  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** Splits a line. Returns what is wrong with it, or null. */
  add(text: string): string | null {
    this.#open?.push("\n");
    for (let at = 0;;) {
      if (this.#open === null && this.#delim === WHITESPACE) {
        while (isSpace(text[at])) at++;
        if (at === text.length) return null;
      }
      if (this.#open === null && text[at] !== '"') {
        const end = endOfField(text, this.#delim, at);
        const field = end < 0 ? text.slice(at) : text.slice(at, end);
        if (field.includes('"')) return "Unquoted fields cannot have quotes inside";
        this.fields.push(field);
        if (end < 0) return null;
        at = end + 1;
        continue;
      }
      if (this.#open === null) at++;
      const parts: string[] = this.#open ??= [];
      for (;;) {
        const end = text.indexOf('"', at);
        parts.push(end < 0 ? text.slice(at) : text.slice(at, end));
        if (end < 0) return null;
        at = end + 1;
        if (text[at] !== '"') break;
        parts.push('"');
        at++;
      }
      this.fields.push(parts.join(""));
      this.#open = null;
      if (at === text.length) return null;
      if (this.#delim === WHITESPACE ? !isSpace(text[at]) : text[at] !== this.#delim) {
        return "Quote inside a string has to be escaped by another quote";
      }
      at++;
    }
  }
}
