/**
 * tf.train.Checkpoint: variables and optimizers in TensorFlow's object checkpoints, under the attributes that lead to
 * them. Follows TensorFlow `checkpoint/checkpoint.py` and `trackable_object_graph.proto`.
 */
import { counted, showAs } from "../../../engine/core/arrays/shown.ts";
import { NotFoundError, RuntimeError, ValueError } from "../../../engine/core/errors.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import { compatible, shapeText } from "../../../engine/core/shape.ts";
import {
  isTrackable,
  Tensor,
  type TrackedParts,
  type TrackedValues,
  type VariableLike,
} from "../../../engine/core/tensor.ts";
import { giveWeights, isStateful, type Stateful } from "../variables.ts";
import {
  type CheckpointFormat,
  checkpointFormat,
  type OpenCheckpoint,
  type SavedObjectNode,
} from "./format.ts";
import {
  addState,
  allObjects,
  type ObjectNode,
  objectsOf,
  type Trackables,
  valueNode,
  VARIABLE_VALUE,
} from "./objects.ts";
import { savedWeights } from "./optimizer_state.ts";
import { folderOf, writeCheckpointState } from "./state.ts";

const SAVE_COUNTER = "save_counter";

/** The result of restoring. */
export interface RestoreStatus {
  /** Throws `RuntimeError` where the checkpoint has unused values, or an object found none. */
  assertConsumed(): RestoreStatus;
  /** Throws `RuntimeError` where an object found no value. */
  assertExistingObjectsMatched(): RestoreStatus;
  /** Does nothing: declares that unused values are expected. */
  expectPartial(): RestoreStatus;
}

/**
 * Variables, optimizers and other objects with a state, in arrays and objects, saved and restored as TensorFlow does it: values go by the keys that
 * lead to them, so a checkpoint of `new tf.train.Checkpoint({ model: { w } })` and one of Python's
 * `tf.train.Checkpoint(model=m)`, where `m.w` is a variable, are the same. Such objects are generators, lookup tables, metrics, moving averages, modules and other checkpoints, too, and iterators of datasets,
 * whose states only this library reads. Optimizers are restored from Keras 2's and Keras 3's checkpoints as well, but for the learning rate.
 * The files are TensorFlow's, which `import "@weft/weft/tf"` reads and writes. Follows TensorFlow `tf.train.Checkpoint`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/tf";
 * import { assertEquals } from "@std/assert";
 * using w = tf.variable([1, 2]);
 * const checkpoint = new tf.train.Checkpoint({ model: { w } });
 * const path = await checkpoint.save(`${await Deno.makeTempDir()}/ckpt`);
 * w.assign([0, 0]);
 * (await checkpoint.restore(path)).assertConsumed();
 * assertEquals(w.arraySync(), [1, 2]);
 * ```
 */
export class Checkpoint {
  readonly #objects: Readonly<Record<string, Trackables>>;
  #saves = 0;

  /** Creates a checkpoint of named objects. Throws `TypeError` for a value without a state. */
  constructor(objects: Readonly<Record<string, Trackables>> = {}) {
    objectsOf(objects);
    this.#objects = objects;
  }

  /** Number of saves, which restoring takes over. */
  get saveCounter(): number {
    return this.#saves;
  }

  /**
   * Writes a checkpoint of the values of the call, whatever steps run while it is written; returns the prefix. Rejects with
   * `UnimplementedError` where the format is not loaded.
   */
  async write(prefix: string): Promise<string> {
    const format = checkpointFormat.to("save a checkpoint");
    const root = objectsOf(this.#objects);
    const counter = new NdArray("int64", [], BigInt64Array.of(BigInt(this.#saves)));
    root.children.set(SAVE_COUNTER, valueNode(`${SAVE_COUNTER}/`, counter));
    const held: Tensor[] = [];
    try {
      await addState(root, held);
      await this.#write(prefix, root, format);
    } finally {
      for (const t of held) t.dispose();
    }
    return prefix;
  }

  async #write(prefix: string, root: ObjectNode, format: CheckpointFormat): Promise<void> {
    const all = [...allObjects(root).keys()], ids = new Map(all.map((node, id) => [node, id]));
    const values: Record<string, Tensor | NdArray> = {};
    for (const node of all) Object.assign(values, node.values);
    const nodes = all.map(({ children, attribute, key, slots }): SavedObjectNode => ({
      attribute,
      key,
      children: [...children].map(([name, child]) => ({ name, id: ids.get(child)! })),
      slots: slots.map(({ of, name, node }) => ({ of: ids.get(of)!, name, id: ids.get(node)! })),
    }));
    await format.writeObjects(prefix, values, nodes);
  }

  /** Writes a checkpoint under the prefix and a number: that of this save, or the given one. */
  async writeNumbered(prefix: string, number?: number): Promise<string> {
    this.#saves++;
    return await this.write(`${prefix}-${number ?? this.#saves}`);
  }

  /** Writes a checkpoint under the prefix and a number, and the state file of its folder; returns its prefix. */
  async save(prefix: string): Promise<string> {
    const latest = await this.writeNumbered(prefix);
    const state = { latest, all: [latest], times: [] };
    await writeCheckpointState(`${folderOf(latest)}checkpoint`, state, { relative: true });
    return latest;
  }

  /**
   * Restores the objects' values from a checkpoint. Rejects with `NotFoundError` where there is none, `ValueError` for
   * another shape or dtype; nothing is changed then. Values and objects without a counterpart are ignored, unless the
   * status is asked.
   */
  async restore(prefix: string): Promise<RestoreStatus> {
    const format = checkpointFormat.to("restore a checkpoint"), file = await format.read(prefix);
    try {
      const nodes = await format.objects(prefix, file);
      if (nodes === null) {
        throw new NotFoundError(`Cannot restore ${prefix}: it is no checkpoint of objects`);
      }
      return await this.#take({ file, nodes, prefix });
    } finally {
      await file.close();
    }
  }

  async #take({ file, nodes, prefix }: Opened): Promise<RestoreStatus> {
    const root = objectsOf(this.#objects), used = new Set<string>(), missing: string[] = [];
    const assigned: [VariableLike, NdArray][] = [];
    const setters: (() => void | Promise<void>)[] = [];
    const found: { target: Stateful; id: number; path: string }[] = [];
    const names = new Map<number, string>();
    const readKey = async (key: string): Promise<NdArray | null> => {
      if (!file.has(key)) return null;
      used.add(key);
      return await file.read(key);
    };
    const read = async (id: number): Promise<NdArray | null> => {
      const { key = null, attribute } = nodes[id] ?? {};
      return key === null || attribute !== VARIABLE_VALUE ? null : await readKey(key);
    };
    const takeValues = async (values: TrackedValues, id: number, path: string): Promise<void> => {
      const { key = null, attribute } = nodes[id] ?? {};
      const given = key === null || attribute !== values.attribute
        ? []
        : await Promise.all(values.endings.map((ending) => readKey(key + ending)));
      if (key !== null) used.add(key);
      if (given.length === 0 || given.includes(null)) missing.push(path);
      else setters.push(values.take(given as NdArray[]));
    };
    const seen = new Set<ObjectNode>();
    const pair = async (node: ObjectNode, id: number, path: string): Promise<void> => {
      if (seen.has(node)) return;
      seen.add(node);
      const { target } = node;
      if (target instanceof Tensor) {
        const value = await read(id);
        names.set(id, target.name);
        if (value === null) missing.push(path);
        else assigned.push([checkedFor(target, value, `${path} of ${prefix}`), value]);
      } else if (isTrackable(target)) {
        const { values } = target.trackedParts();
        if (values !== undefined) await takeValues(values, id, path);
      } else if (isStateful(target)) found.push({ target, id, path });
      for (const [name, child] of node.children) {
        const there = nodes[id]?.children.find((c) => c.name === name);
        await pair(child, there?.id ?? -1, path === "" ? name : `${path}.${name}`);
      }
    };
    await pair(root, 0, "");
    // Slots name variables, all of which are known now.
    for (const { target, id, path } of found) {
      const weights = await savedWeights(nodes, id, { names, read });
      if (weights.size === 0) missing.push(path);
      else {setters.push(() =>
          giveWeights(target, [...weights].map(([name, v]) => [name, () => v]))
        );}
    }
    const counter = nodes[0]?.children.find(({ name }) => name === SAVE_COUNTER);
    const saves = counter === undefined ? null : await read(counter.id);
    for (const [variable, value] of assigned) variable.assign(value as unknown as Tensor);
    for (const set of setters) await set();
    if (saves !== null) this.#saves = Number((saves.data as ArrayLike<number | bigint>)[0]);
    const unused = nodes.flatMap(({ key }) => key === null || used.has(key) ? [] : [key]);
    return statusOf(prefix, missing, unused);
  }

  /** @internal */
  trackedParts(): TrackedParts {
    return { children: this.#objects };
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const names = Object.keys(this.#objects).join(", ");
    return `<tf.train.Checkpoint of ${names}: ${counted(this.#saves, "save")}>`;
  }
}
showAs(Checkpoint);

/** A checkpoint and the objects in it. */
interface Opened {
  readonly file: OpenCheckpoint;
  readonly nodes: readonly SavedObjectNode[];
  readonly prefix: string;
}

function checkedFor(variable: VariableLike, value: NdArray, what: string): VariableLike {
  const { dtype, staticShape } = variable;
  if (dtype === value.dtype && compatible(staticShape, value.shape)) return variable;
  throw new ValueError(
    `Cannot restore ${what}: the checkpoint has ${value.dtype}${
      shapeText(value.shape)
    }, the variable is ${dtype}${shapeText(staticShape)}`,
  );
}

function statusOf(
  prefix: string,
  missing: readonly string[],
  unused: readonly string[],
): RestoreStatus {
  const refuse = (list: readonly string[], what: string): void => {
    if (list.length > 0) throw new RuntimeError(`Restoring ${prefix}: ${what} ${list.join(", ")}`);
  };
  const status: RestoreStatus = {
    assertConsumed() {
      status.assertExistingObjectsMatched();
      refuse(unused, "nobody took the checkpoint's values");
      return status;
    },
    assertExistingObjectsMatched() {
      refuse(missing, "the checkpoint has no values for");
      return status;
    },
    expectPartial: () => status,
  };
  return status;
}
