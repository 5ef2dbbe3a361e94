/**
 * The state file beside checkpoints, which lists the latest and the kept ones, and the deletion of the others. Follows
 * TensorFlow `checkpoint_management.py`.
 */
import { wantString } from "../../../engine/core/arguments.ts";
import { DataLossError, NotFoundError, ValueError } from "../../../engine/core/errors.ts";
import { checkpointFormat } from "./format.ts";
import { readBytes } from "../files.ts";
import { fileWriter } from "../file_system.ts";

/** Contents of a state file. Paths can be opened as they are. */
export interface CheckpointState {
  readonly latest: string;
  /** All kept checkpoints, oldest first. */
  readonly all: readonly string[];
  /** Times of their saves, in seconds since 1970; empty where the file has none. */
  readonly times: readonly number[];
  /** Time of the last save that is kept for good. */
  readonly preserved?: number | undefined;
}

/** Returns the folder of a path with its slash; empty for the current one. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

function isAbsolute(path: string): boolean {
  return /^([\\/]|[A-Za-z]:)/.test(path);
}

/** Returns the current time in seconds since 1970. */
export function secondsNow(): number {
  return (performance.timeOrigin + performance.now()) / 1000;
}

/**
 * Reads the state file of a folder; null where there is none. Rejects with `DataLossError` for one that names no
 * checkpoint.
 */
export async function readCheckpointState(
  folder: string,
  file = "checkpoint",
): Promise<CheckpointState | null> {
  wantString(folder, "folder", "latestCheckpoint");
  wantString(file, "latestFilename", "latestCheckpoint");
  const base = folder === "" || /[\\/]$/.test(folder) ? folder : `${folder}/`;
  let text: string;
  try {
    text = new TextDecoder().decode(await readBytes(base + file));
  } catch (e) {
    if (e instanceof NotFoundError) return null;
    throw e;
  }
  const paths = (key: string): string[] =>
    [...text.matchAll(
      new RegExp(`^\\s*${key}:\\s*("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')`, "gm"),
    )]
      .map(([, quoted]) => unquoted(quoted)).map((p) => isAbsolute(p) ? p : base + p);
  const numbers = (key: string): number[] =>
    [...text.matchAll(new RegExp(`^\\s*${key}:\\s*([-+.\\deE]+)`, "gm"))].map(([, n]) => Number(n));
  const [latest] = paths("model_checkpoint_path");
  if (latest === undefined) {
    throw new DataLossError(`Cannot read ${base}${file}: it has no model_checkpoint_path`);
  }
  const all = paths("all_model_checkpoint_paths");
  return {
    latest,
    all: all.at(-1) === latest ? all : [...all, latest],
    times: numbers("all_model_checkpoint_timestamps"),
    preserved: numbers("last_preserved_timestamp")[0],
  };
}

/**
 * Returns the latest prefix in a folder's state file, or null where there is none or no such checkpoint. Follows
 * TensorFlow `tf.train.latest_checkpoint`. Rejects with `UnimplementedError` in browsers.
 */
export async function latestCheckpoint(
  folder: string,
  latestFilename = "checkpoint",
): Promise<string | null> {
  const state = await readCheckpointState(folder, latestFilename);
  if (state === null) return null;
  try {
    await readBytes(`${state.latest}.index`);
    return state.latest;
  } catch (e) {
    if (e instanceof NotFoundError) return null;
    throw e;
  }
}

/** Writes a state file, with paths as given, or relative to its folder. */
export async function writeCheckpointState(
  path: string,
  { latest, all, times, preserved }: CheckpointState,
  { relative = false }: { readonly relative?: boolean } = {},
): Promise<void> {
  const folder = folderOf(path);
  const line = (key: string, p: string): string => {
    const isBeside = folderOf(p) === folder && (relative || !isAbsolute(p));
    return `${key}: ${quoted(isBeside ? p.slice(folder.length) : p)}\n`;
  };
  const text = [
    line("model_checkpoint_path", latest),
    ...all.map((p) => line("all_model_checkpoint_paths", p)),
    ...times.map((t) => `all_model_checkpoint_timestamps: ${t}\n`),
    preserved === undefined ? "" : `last_preserved_timestamp: ${preserved}\n`,
  ].join("");
  const { writeBytes } = await fileWriter();
  await writeBytes(path, new TextEncoder().encode(text), { makeFolder: true });
}

/** Quotes a text for protobuf's text form: bytes beyond ASCII in octal. */
function quoted(text: string): string {
  let out = "";
  for (const byte of new TextEncoder().encode(text)) {
    if (byte === 0x22 || byte === 0x5c) out += `\\${String.fromCharCode(byte)}`;
    else if (byte >= 32 && byte < 127) out += String.fromCharCode(byte);
    else out += `\\${byte.toString(8).padStart(3, "0")}`;
  }
  return `"${out}"`;
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9 };

function unquoted(text: string): string {
  const bytes: number[] = [];
  const inside = text.slice(1, -1);
  for (const [, escape, plain] of inside.matchAll(/\\([0-7]{1,3}|x[\da-fA-F]{1,2}|.)|([^\\]+)/gs)) {
    if (plain !== undefined) bytes.push(...new TextEncoder().encode(plain));
    else if (/^[0-7]/.test(escape)) bytes.push(parseInt(escape, 8));
    else if (/^x./.test(escape)) bytes.push(parseInt(escape.slice(1), 16));
    else bytes.push(ESCAPES[escape] ?? escape.charCodeAt(0));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

export interface KeepOptions {
  /** Number of kept checkpoints; 0 for all. */
  readonly most: number;
  /** Hours after which one more is kept for good; Infinity for never. */
  readonly everyNHours: number;
}

interface Kept {
  readonly path: string;
  readonly time: number;
}

/** The kept checkpoints of a saver, oldest first. */
export class KeptCheckpoints {
  readonly #options: KeepOptions;
  #kept: Kept[] = [];
  /** Time of the last save that is kept for good, at first the time of creation. */
  preserved: number = secondsNow();

  /** Creates an empty list. Throws `ValueError` for invalid numbers. */
  constructor(options: KeepOptions) {
    const { most, everyNHours } = options;
    if (!(Number.isInteger(most) && most >= 0)) {
      throw new ValueError(`Cannot keep ${most} checkpoints: wanted a whole number`);
    }
    if (!(everyNHours > 0)) {
      throw new ValueError(
        `Cannot keep a checkpoint every ${everyNHours} hours: wanted more than 0`,
      );
    }
    this.#options = options;
  }

  get paths(): string[] {
    return this.#kept.map(({ path }) => path);
  }
  /** Times of their saves, in seconds since 1970. */
  get times(): number[] {
    return this.#kept.map(({ time }) => time);
  }

  /** Takes over earlier checkpoints that still exist. */
  async recover(paths: readonly string[], times: readonly number[] = []): Promise<void> {
    const format = checkpointFormat.to("look for checkpoints"), found: Kept[] = [];
    for (const [i, path] of paths.entries()) {
      const modified = await format.modified(path);
      if (modified !== null) found.push({ path, time: times[i] ?? modified });
    }
    this.#kept = found;
  }

  /** Adds a checkpoint. Returns those to delete once the state file does not name them. */
  add(path: string, time: number = secondsNow()): string[] {
    const { most, everyNHours } = this.#options;
    this.#kept = [...this.#kept.filter((k) => k.path !== path), { path, time }];
    if (most === 0) return [];
    const old = this.#kept.splice(0, Math.max(0, this.#kept.length - most));
    return old.filter(({ time }) => {
      if (time - 3600 * everyNHours < this.preserved) return true;
      this.preserved = time;
      return false;
    }).map((k) => k.path);
  }
}
