/**
 * Journal of events, one line each, from which a restarted process rebuilds its state. A line is written before any
 * answer depends on it, in whole or not at all.
 */
import fs from "node:fs";
import { DataLossError } from "../../engine/core/errors.ts";
import { fileError } from "../../library/io/files.ts";
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
  /** True where the file may end in a part of a line. */
  #isTorn = false;

  /** Creates the folder where it is missing. Writes nothing before `rewrite`. */
  constructor(folder: string) {
    fs.mkdirSync(folder, { recursive: true });
    this.#path = `${folder}/journal.jsonl`;
  }

  /** Number of entries since the file was last written as a whole. */
  get written(): number {
    return this.#written;
  }

  /**
   * Hands all entries to `take`; none where there is no file. Lines that are damaged, or at which `take` throws, are set aside in
   * `journal.aside.jsonl`, and a warning says so. Throws `DataLossError` for a file that is no journal.
   */
  read(take: (entry: E) => void): void {
    let text: string;
    try {
      text = fs.readFileSync(this.#path, "utf8");
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return;
      throw error;
    }
    // A last line without an end was being written when the process died; no answer depended on it.
    const [head, ...lines] = text.split("\n").slice(0, -1);
    if (head !== undefined && head !== JSON.stringify(HEAD)) {
      throw new DataLossError(`Cannot read ${this.#path}: it is no journal of this version`);
    }
    const aside: string[] = [];
    let first = "";
    for (const [i, text] of lines.entries()) {
      if (text === "") continue;
      try {
        take(JSON.parse(text, revive));
      } catch (error) {
        first ||= `line ${i + 2}: ${(error as Error).message.split("\n")[0].slice(0, 300)}`;
        aside.push(`${text}\n`);
      }
    }
    if (aside.length === 0) return;
    const path = this.#path.replace(/jsonl$/, "aside.jsonl");
    try {
      fs.appendFileSync(path, aside.join(""));
    } catch (cause) {
      throw fileError(cause, `write ${path}`, "folder");
    }
    console.warn(`${this.#path}: ${aside.length} lines are set aside in ${path}; ${first}`);
  }

  /** Writes entries, all or none. Throws `FailedPreconditionError` where the disk does not take them. */
  append(entries: readonly E[]): void {
    const file = this.#file!, size = fs.fstatSync(file).size;
    try {
      writeAll(file, (this.#isTorn ? "\n" : "") + entries.map(line).join(""), size);
      this.#isTorn = false;
    } catch (cause) {
      try {
        fs.ftruncateSync(file, size);
      } catch {
        this.#isTorn = true;
      }
      throw fileError(cause, `write ${this.#path}`, "folder");
    }
    this.#written += entries.length;
  }

  /**
   * Replaces the file by these entries, in one step. Where the disk does not take them, the earlier file goes on; throws
   * `FailedPreconditionError` where there is none.
   */
  rewrite(entries: readonly E[]): void {
    const next = `${this.#path}.next`;
    this.#written = 0;
    let file: number | null = null;
    try {
      file = fs.openSync(next, "w");
      writeAll(file, [HEAD, ...entries].map(line).join(""), 0);
      fs.fsyncSync(file);
      fs.renameSync(next, this.#path);
    } catch (cause) {
      if (file !== null) fs.closeSync(file);
      fs.rmSync(next, { force: true });
      if (this.#file !== null) return;
      file = fs.openSync(this.#path, "a");
      if (fs.fstatSync(file).size === 0) {
        fs.closeSync(file);
        fs.rmSync(this.#path, { force: true });
        throw fileError(cause, `write ${this.#path}`, "folder");
      }
      this.#isTorn = true;
    }
    this.close();
    this.#file = file;
  }

  close(): void {
    if (this.#file !== null) fs.closeSync(this.#file);
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

/** Writes at a position, as a write that was cut off leaves that of the file behind its end. */
function writeAll(file: number, text: string, position: number): void {
  const data = new TextEncoder().encode(text);
  for (let at = 0; at < data.length;) {
    at += fs.writeSync(file, data, at, data.length - at, position + at);
  }
}
