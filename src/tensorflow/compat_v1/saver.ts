/** Saver: variables of a graph in TensorFlow's checkpoints. */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import { withInterpreter } from "../../engine/core/apply.ts";
import { NotFoundError, ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import {
  optionCheck,
  wantList,
  wantMade,
  wantString,
  wrongArgument,
} from "../../engine/core/arguments.ts";
import { checkpointFormat } from "../../library/io/checkpoint/format.ts";
import {
  folderOf,
  KeptCheckpoints,
  SaveOrder,
  writeCheckpointState,
} from "../../library/io/checkpoint/state.ts";
import { enterDefaultSession } from "../../engine/runtime/run/default_session.ts";
import type { Session } from "../../engine/runtime/session/session.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";
import { globalVariables } from "./variables.ts";

/** The variables to save: a list, under their own names, or a record of names. */
export type VarList = readonly Variable[] | Readonly<Record<string, Variable>>;

/** Options of {@linkcode Saver}. */
export interface SaverOptions {
  /** Number of checkpoints that are kept: older files are deleted. 0 for all. Default 5. */
  readonly maxToKeep?: number;
  /** Hours after which a checkpoint is kept for good instead of deleted. Default 10,000. */
  readonly keepCheckpointEveryNHours?: number;
  /** True: the state file names checkpoints relative to its folder, so that this may be moved. Default false. */
  readonly saveRelativePaths?: boolean;
}

/** Options of {@linkcode Saver.save}. */
export interface SaveOptions {
  /** A number that is appended to the prefix, or the variable that holds it. */
  readonly globalStep?: number | Variable;
  /** False: no state file is written. Default true. */
  readonly writeState?: boolean;
  /** Name of the state file. Default `"checkpoint"`. */
  readonly latestFilename?: string;
}

function wantPlace(session: Session, prefix: string, fn: string): void {
  wantMade(session, "run", { arg: "session", fn, wanted: "a session" });
  wantString(prefix, "prefix", fn);
}

const checkSaver = optionCheck<SaverOptions>("Saver", {
  maxToKeep: true,
  keepCheckpointEveryNHours: true,
  saveRelativePaths: true,
});
const checkSave = optionCheck<SaveOptions>("Saver.save", {
  globalStep: true,
  writeState: true,
  latestFilename: true,
});

/**
 * Saves and restores variables of a graph. Default all its global variables. Follows TensorFlow `tf.compat.v1.train.Saver`; the files are
 * TensorFlow's own, which `import "@weft/weft/tf"` reads and writes.
 * Throws `ValueError` where there is no variable, or two of one name.
 */
export class Saver {
  readonly #variables: ReadonlyMap<string, Variable>;
  readonly #keepsAll: boolean;
  readonly #relative: boolean;
  readonly #kept: KeptCheckpoints;
  readonly #order = new SaveOrder();

  /** Chooses the variables. */
  constructor(varList?: VarList | null, options: SaverOptions = {}) {
    checkSaver(options);
    const { maxToKeep = 5, keepCheckpointEveryNHours: everyNHours = 10_000 } = options;
    this.#keepsAll = maxToKeep === 0;
    this.#relative = options.saveRelativePaths ?? false;
    this.#kept = new KeptCheckpoints({ most: maxToKeep, everyNHours });
    this.#variables = byName(varList ?? globalVariables());
  }

  /** The kept checkpoints, oldest first; none where all are kept. */
  get lastCheckpoints(): string[] {
    return this.#keepsAll ? [] : this.#kept.paths;
  }

  /** Takes over existing checkpoints of another saver, oldest first, to be deleted in their turn. */
  async recoverLastCheckpoints(checkpointPaths: readonly string[]): Promise<void> {
    wantList(checkpointPaths, "checkpointPaths", "recoverLastCheckpoints", "paths");
    await this.#kept.recover(checkpointPaths);
  }

  /**
   * Writes the variables' values; returns the prefix of the files. Rejects with `FailedPreconditionError` where one has
   * none, `UnimplementedError` where the format is not loaded.
   */
  async save(session: Session, prefix: string, options: SaveOptions = {}): Promise<string> {
    checkSave(options);
    wantPlace(session, prefix, "Saver.save");
    const { globalStep, writeState = true, latestFilename = "checkpoint" } = options;
    const written = this.#write(session, prefix, globalStep);
    if (!writeState) return await written;
    return await this.#order.end(written, (path) => this.#writeState(path, latestFilename));
  }

  async #write(
    session: Session,
    prefix: string,
    globalStep: SaveOptions["globalStep"],
  ): Promise<string> {
    const format = checkpointFormat.to("save a checkpoint");
    const step = globalStep instanceof Variable ? await session.run(globalStep) : globalStep;
    const path = step === undefined ? prefix : `${prefix}-${step}`;
    const names = [...this.#variables.keys()];
    const values = await session.run([...this.#variables.values()]);
    await format.write(
      path,
      Object.fromEntries(names.map((name, i) => [name, values[i] as NdArray])),
    );
    return path;
  }

  async #writeState(path: string, file: string): Promise<void> {
    const old = this.#kept.add(path);
    const all = this.#keepsAll ? [path] : this.#kept.paths;
    const state = { latest: path, all, times: [] };
    await writeCheckpointState(folderOf(path) + file, state, { relative: this.#relative });
    const format = checkpointFormat.to("delete a checkpoint");
    for (const prefix of old) await format.remove(prefix);
  }

  /**
   * Restores the variables from a checkpoint; they need not have been initialised. Rejects with `NotFoundError` for a
   * variable that the checkpoint lacks, `ValueError` for another shape or dtype; no variable is changed then.
   */
  async restore(session: Session, prefix: string): Promise<void> {
    wantPlace(session, prefix, "Saver.restore");
    const checkpoint = await checkpointFormat.to("restore a checkpoint").read(prefix);
    try {
      const found: [Variable, NdArray][] = [];
      for (const [name, v] of this.#variables) {
        if (!checkpoint.has(name)) {
          throw new NotFoundError(`Key ${name} not found in checkpoint ${prefix}`);
        }
        const value = await checkpoint.read(name);
        if (!v.resource.takes(value.dtype, value.shape)) {
          throw new ValueError(
            `Cannot restore '${v.name}' from ${prefix}: the checkpoint has ${value.dtype}[${value.shape}], the variable is ${v.dtype}[${v.staticShape}]`,
          );
        }
        found.push([v, value]);
      }
      for (const [v, value] of found) {
        if (v.initializer === null) assignIn(session, v, value);
        else await session.run(v.initializer, { feeds: new Map([[v.initialValue!, value]]) });
      }
    } finally {
      await checkpoint.close();
    }
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.train.Saver of ${counted(this.#variables.size, "variable")}>`;
  }
}
showAs(Saver);

/** Assigns outside of any graph: to a session's own value where the variable belongs to its graph. */
function assignIn(session: Session, v: Variable, value: NdArray): void {
  const leave = enterDefaultSession(session);
  try {
    withInterpreter(null, () => v.assign(value));
  } finally {
    leave();
  }
}

function byName(list: VarList): Map<string, Variable> {
  const out = new Map<string, Variable>();
  if (!isPlainObject(list)) wantList(list, "varList", "Saver", "variables");
  const entries: [string, Variable][] = isPlainObject(list)
    ? Object.entries(list as Record<string, Variable>)
    : (list as readonly Variable[]).map((v) => [v?.name, v]);
  for (const [name, v] of entries) {
    if (!(v instanceof Variable)) throw wrongArgument(v, "varList", "Saver", "variables");
    if (out.has(name)) {
      throw new ValueError(`At least two variables have the same name: ${name}`);
    }
    out.set(name, v);
  }
  if (out.size === 0) throw new ValueError("No variables to save");
  return out;
}
