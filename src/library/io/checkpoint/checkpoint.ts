/**
 * tf.train.Checkpoint: variables and optimizers in TensorFlow's object checkpoints, under the attributes that lead to
 * them. Follows TensorFlow `checkpoint/checkpoint.py` and `trackable_object_graph.proto`.
 */
import { wantNumber, wantString } from "../../../engine/core/arguments.ts";
import { counted, showAs } from "../../../engine/core/arrays/shown.ts";
import { NotFoundError } from "../../../engine/core/errors.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor, TrackedParts } from "../../../engine/core/tensor.ts";
import { type CheckpointFormat, checkpointFormat, type SavedObjectNode } from "./format.ts";
import {
  addState,
  allObjects,
  type ObjectNode,
  objectsOf,
  SAVE_COUNTER,
  type Trackables,
  valueNode,
} from "./objects.ts";
import { type RestoreStatus, takeObjects } from "./restore.ts";
import { folderOf, SaveOrder, writeCheckpointState } from "./state.ts";

/**
 * Variables, optimizers and other objects with a state, in arrays and objects, saved and restored as TensorFlow does it: values go by the
 * keys that lead to them, so a checkpoint of `new tf.train.Checkpoint({ model: { w } })` and one of Python's
 * `tf.train.Checkpoint(model=m)`, where `m.w` is a variable, are the same. Such objects are also generators, lookup tables, metrics, moving
 * averages, modules, other checkpoints, and iterators of datasets, whose states only this library reads. Optimizers are restored from
 * Keras 2's and Keras 3's checkpoints as well, but for the learning rate.
 * The files are TensorFlow's, which `import "@weft/weft/tf"` reads and writes. Follows TensorFlow `tf.train.Checkpoint`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import "@weft/weft/tf";
 * using w = tf.variable([1, 2]);
 * const checkpoint = new tf.train.Checkpoint({ model: { w } });
 * const path = await checkpoint.save(`${await Deno.makeTempDir()}/ckpt`);
 * w.assign([0, 0]);
 * (await checkpoint.restore(path)).assertConsumed();
 * console.log(w.arraySync()); // [1, 2]
 * ```
 */
export class Checkpoint {
  readonly #objects: Readonly<Record<string, Trackables>>;
  readonly #order = new SaveOrder();
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
    wantString(prefix, "prefix", "Checkpoint.write");
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
    wantString(prefix, "prefix", "Checkpoint.save");
    if (number !== undefined) wantNumber(number, "number", "Checkpoint.save");
    this.#saves++;
    return await this.write(`${prefix}-${number ?? this.#saves}`);
  }

  /** Writes a checkpoint under the prefix and a number, and the state file of its folder; returns its prefix. */
  async save(prefix: string): Promise<string> {
    return await this.#order.end(this.writeNumbered(prefix), async (latest) => {
      const state = { latest, all: [latest], times: [] };
      await writeCheckpointState(`${folderOf(latest)}checkpoint`, state, { relative: true });
    });
  }

  /**
   * Restores the objects' values from a checkpoint. Rejects with `NotFoundError` where there is none, `ValueError` for
   * another shape or dtype; nothing is changed then. Values and objects without a counterpart are ignored, unless the
   * status is asked.
   */
  async restore(prefix: string): Promise<RestoreStatus> {
    wantString(prefix, "prefix", "Checkpoint.restore");
    const format = checkpointFormat.to("restore a checkpoint"), file = await format.read(prefix);
    try {
      const nodes = await format.objects(prefix, file);
      if (nodes === null) {
        throw new NotFoundError(`Cannot restore ${prefix}: it is no checkpoint of objects`);
      }
      const root = objectsOf(this.#objects);
      const { status, saves } = await takeObjects(root, { file, nodes, prefix });
      this.#saves = saves ?? this.#saves;
      return status;
    } finally {
      await file.close();
    }
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
