/**
 * tf.train.CheckpointManager: checkpoints with numbers in a folder, of which the last are kept.
 *  Follows TensorFlow `checkpoint_management.py`.
 */
import { counted, showAs } from "../../../engine/core/arrays/shown.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import { optionCheck, wantString } from "../../../engine/core/arguments.ts";
import type { VariableLike } from "../../../engine/core/tensor.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { checkpointFormat } from "./format.ts";
import { KeptCheckpoints, readCheckpointState, SaveOrder, writeCheckpointState } from "./state.ts";

/** Options of {@linkcode CheckpointManager.create}. */
export interface CheckpointManagerOptions {
  /** Number of checkpoints that are kept: older files are deleted. Null for all. Default 5. */
  readonly maxToKeep?: number | null;
  /** Hours after which a checkpoint is kept for good instead of deleted. */
  readonly keepCheckpointEveryNHours?: number;
  /** Beginning of the files' names. Default `"ckpt"`. */
  readonly checkpointName?: string;
  /** The variable that counts steps, for `checkpointInterval`. */
  readonly stepCounter?: VariableLike;
  /** Steps between two saves; an earlier `save()` does nothing. */
  readonly checkpointInterval?: number;
}

const checkOptions = optionCheck<CheckpointManagerOptions>("CheckpointManager", {
  maxToKeep: true,
  keepCheckpointEveryNHours: true,
  checkpointName: true,
  stepCounter: true,
  checkpointInterval: true,
});

/**
 * Saves numbered checkpoints in a folder, and deletes old ones. It continues with a folder that has some. Follows
 * TensorFlow `tf.train.CheckpointManager`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/tf";
 * using w = tf.variable(0);
 * const folder = await Deno.makeTempDir();
 * const checkpoint = new tf.train.Checkpoint({ w });
 * const manager = await tf.train.CheckpointManager.create(checkpoint, folder, { maxToKeep: 2 });
 * for (const value of [1, 2, 3]) {
 *   w.assign(value);
 *   await manager.save();
 * }
 * w.assign(0);
 * await manager.restoreOrInitialize();
 * console.log([w.item(), manager.checkpoints.length]); // [3, 2]
 * ```
 */
export class CheckpointManager {
  /** The checkpoint that it saves. */
  readonly checkpoint: Checkpoint;
  /** The folder. */
  readonly directory: string;
  readonly #options: CheckpointManagerOptions;
  readonly #kept: KeptCheckpoints;
  readonly #order = new SaveOrder();
  #latest: string | null = null;
  #lastStep: number | null = null;

  private constructor(
    checkpoint: Checkpoint,
    directory: string,
    options: CheckpointManagerOptions = {},
  ) {
    checkOptions(options);
    wantString(directory, "directory", "CheckpointManager");
    const { maxToKeep, keepCheckpointEveryNHours: hours, stepCounter, checkpointInterval } =
      options;
    if (maxToKeep === 0) {
      throw new ValueError("Cannot keep 0 checkpoints: wanted a positive number, or null for all");
    }
    if (checkpointInterval !== undefined && stepCounter === undefined) {
      throw new ValueError("stepCounter should be passed if checkpointInterval is given");
    }
    this.checkpoint = checkpoint;
    this.directory = directory.replace(/[\\/]$/, "");
    this.#options = options;
    const most = maxToKeep === undefined ? 5 : maxToKeep ?? 0;
    this.#kept = new KeptCheckpoints({ most, everyNHours: hours ?? Infinity });
  }

  /**
   * Creates the manager of a folder, and reads the checkpoints of its state file. Rejects with `ValueError` for options
   * that do not fit, `UnimplementedError` where the format is not loaded.
   */
  static async create(
    checkpoint: Checkpoint,
    directory: string,
    options: CheckpointManagerOptions = {},
  ): Promise<CheckpointManager> {
    const made = new CheckpointManager(checkpoint, directory, options);
    const state = await readCheckpointState(made.directory);
    if (state === null) return made;
    await made.#kept.recover(state.all, state.times);
    made.#latest = made.#kept.paths.at(-1) ?? null;
    if (state.preserved !== undefined) made.#kept.preserved = state.preserved;
    return made;
  }

  /** The kept checkpoints, oldest first. */
  get checkpoints(): string[] {
    return this.#kept.paths;
  }
  /** The latest checkpoint; null where there is none. */
  get latestCheckpoint(): string | null {
    return this.#latest;
  }

  /**
   * Saves under the next number, or the given one; returns the prefix, or null where it is too early for
   * `checkpointInterval`.
   */
  async save(checkpointNumber?: number): Promise<string | null> {
    const { checkpointName = "ckpt", stepCounter, checkpointInterval } = this.#options;
    if (stepCounter !== undefined && checkpointInterval !== undefined) {
      const step = Number((await stepCounter.data())[0]);
      if (this.#lastStep !== null && step - this.#lastStep < checkpointInterval) return null;
      this.#lastStep = step;
    }
    const prefix = `${this.directory}/${checkpointName}`;
    return await this.#order.end(
      this.checkpoint.writeNumbered(prefix, checkpointNumber),
      (latest) => this.#keep(latest),
    );
  }

  async #keep(latest: string): Promise<void> {
    const old = this.#kept.add(latest);
    this.#latest = latest;
    const { paths: all, times, preserved } = this.#kept;
    const state = { latest, all, times, preserved };
    await writeCheckpointState(`${this.directory}/checkpoint`, state, { relative: true });
    const format = checkpointFormat.to("delete a checkpoint");
    for (const prefix of old) await format.remove(prefix);
  }

  /** Restores the latest checkpoint, where there is one; returns its prefix, or null. */
  async restoreOrInitialize(): Promise<string | null> {
    if (this.#latest === null) return null;
    await this.checkpoint.restore(this.#latest);
    return this.#latest;
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const count = counted(this.checkpoints.length, "checkpoint");
    return `<tf.train.CheckpointManager of ${JSON.stringify(this.directory)}: ${count}>`;
  }
}
showAs(CheckpointManager);
