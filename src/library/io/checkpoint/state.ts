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

/** The form of state files, which is loaded when one is read or written. */
const stateText = (): Promise<typeof import("./state_text.ts")> => import("./state_text.ts");

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
  const state = (await stateText()).readState(text, base);
  if (state !== null) return state;
  throw new DataLossError(`Cannot read ${base}${file}: it has no model_checkpoint_path`);
}

/**
 * Returns the latest prefix in a folder's state file, or null where there is none or no such checkpoint. Follows
 * TensorFlow `tf.train.latest_checkpoint`. Rejects with `UnimplementedError` in browsers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const folder = await Deno.makeTempDir();
 * console.log(await tf.train.latestCheckpoint(folder)); // null
 * await Deno.remove(folder, { recursive: true });
 * ```
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
  state: CheckpointState,
  { relative = false }: { readonly relative?: boolean } = {},
): Promise<void> {
  const text = (await stateText()).writtenState(folderOf(path), state, relative);
  const { writeBytes } = await fileWriter();
  await writeBytes(path, new TextEncoder().encode(text), { makeFolder: true });
}

/** Ends of saves, in the order in which these began: the state of a folder names as its latest the one that began last. */
export class SaveOrder {
  #before: Promise<unknown> = Promise.resolve();

  /** Calls `end` with the prefix that is being written, behind the ends of those that began before, even where these fail. */
  async end(written: Promise<string>, end: (prefix: string) => Promise<void>): Promise<string> {
    const done = Promise.all([written, this.#before]).then(async ([prefix]) => {
      await end(prefix);
      return prefix;
    });
    // Without their values, which would hold those before them.
    this.#before = Promise.allSettled([this.#before, done]).then(() => {});
    return await done;
  }
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
