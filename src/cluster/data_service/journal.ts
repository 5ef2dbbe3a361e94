/**
 * Journal of events, one line each, from which a restarted process rebuilds its state. A line is written before any
 * answer depends on it.
 */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { DataLossError } from "../../engine/core/errors.ts";
import { base64, bytes } from "../../tensorflow/graph_def/values.ts";

/** The first line, which identifies the format of the others. */
const HEAD = { journal: "weft data service", version: 1 };
/** The key that marks an object as encoded bytes. */
const BYTES = "$bytes";

/** A journal in a file of a folder. */
export class Journal<E extends object> {
  readonly #path: string;
  #file: number | null = null;
  #written = 0;

  /** Creates the folder where it is missing. Writes nothing before `rewrite`. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#path = `${folder}/journal.jsonl`;
  }

  /** Number of entries since the file was last written as a whole. */
  get written(): number {
    return this.#written;
  }

  /**
   * Reads all entries; none where there is no file. Throws `DataLossError` for a file that is no journal or is damaged.
   */
  read(): E[] {
    let text: string;
    try {
      text = readFileSync(this.#path, "utf8");
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return [];
      throw error;
    }
    // A last line without an end was being written when the process died; no answer depended on it.
    const lines = text.split("\n").slice(0, -1);
    const entries = lines.map((line, i): unknown => {
      try {
        return JSON.parse(line, revive);
      } catch (cause) {
        throw new DataLossError(`Cannot read ${this.#path}: line ${i + 1} is damaged`, { cause });
      }
    });
    const head = entries.shift();
    if (head !== undefined && JSON.stringify(head) !== JSON.stringify(HEAD)) {
      throw new DataLossError(`Cannot read ${this.#path}: it is no journal of this version`);
    }
    return entries as E[];
  }

  append(entry: E): void {
    writeSync(this.#file!, line(entry));
    this.#written++;
  }

  /** Replaces the file by these entries. */
  rewrite(entries: readonly E[]): void {
    const next = `${this.#path}.next`, file = openSync(next, "w");
    writeAll(file, [HEAD, ...entries].map(line).join(""));
    renameSync(next, this.#path);
    this.close();
    this.#file = file;
    this.#written = 0;
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}

function line(entry: object): string {
  return `${JSON.stringify(entry, replace)}\n`;
}

function replace(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { [BYTES]: base64(value) } : value;
}

function revive(_: string, value: unknown): unknown {
  const text = (value as { readonly [BYTES]?: string } | null)?.[BYTES];
  return text === undefined ? value : bytes(text);
}

function writeAll(file: number, text: string): void {
  const data = new TextEncoder().encode(text);
  for (let at = 0; at < data.length;) at += writeSync(file, data, at);
}
