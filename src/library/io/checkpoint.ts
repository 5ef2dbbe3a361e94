/**
 * tf.train.Checkpoint: variables and optimizers in TensorFlow's object checkpoints, under the attributes that lead to
 * them. Follows TensorFlow `checkpoint/checkpoint.py` and `trackable_object_graph.proto`.
 */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { NotFoundError, RuntimeError, ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject, NestWalk } from "../../engine/core/nest.ts";
import { compatible, shapeText } from "../../engine/core/shape.ts";
import { Tensor, type VariableLike } from "../../engine/core/tensor.ts";
import {
  type CheckpointFormat,
  checkpointFormat,
  type OpenCheckpoint,
  type SavedObjectNode,
} from "./checkpoint_format.ts";
import { folderOf, writeCheckpointState } from "./checkpoint_state.ts";
import { giveWeights, heldValue, isStateful, type Stateful, type Variables } from "./variables.ts";

const VALUE = ".ATTRIBUTES/VARIABLE_VALUE", SAVE_COUNTER = "save_counter";

/** An object of a checkpoint that is to be written or was read. */
interface ObjectNode {
  readonly children: Map<string, ObjectNode>;
  /** Key of its value, for a variable. */
  readonly key: string | null;
  /** The value to write, or null. */
  value: Tensor | NdArray | null;
  /** The variable or optimizer that it stands for. */
  readonly target: VariableLike | Stateful | null;
  /** Slots of an optimizer. */
  readonly slots: { readonly of: ObjectNode; readonly name: string; readonly node: ObjectNode }[];
}

/** Escapes a name as a part of a key. */
function escaped(name: string): string {
  return name.replaceAll(".", "..").replaceAll("/", ".S");
}

function objectNode(key: string | null = null, more: Partial<ObjectNode> = {}): ObjectNode {
  return { children: new Map(), key, value: null, target: null, slots: [], ...more };
}

/** Builds the objects of a nest, without the optimizers' slots. */
function objectsOf(nest: Variables): ObjectNode {
  const walk = new NestWalk();
  const known = new Map<unknown, ObjectNode>();
  const visit = (value: unknown, path: string, depth: number): ObjectNode => {
    walk.enter(depth, known.size);
    const before = known.get(value);
    if (before !== undefined) return before;
    if (value instanceof Tensor) {
      const variable = value as VariableLike;
      const node = objectNode(`${path}${VALUE}`, { value, target: variable });
      known.set(value, node);
      return node;
    }
    if (isStateful(value)) return objectNode(null, { target: value });
    if (!Array.isArray(value) && !isPlainObject(value)) {
      throw new TypeError(
        `Cannot save a checkpoint: wanted variables and optimizers in arrays and objects, received ${typeof value}`,
      );
    }
    const node = objectNode();
    known.set(value, node);
    for (const [name, inner] of Object.entries(value)) {
      node.children.set(name, visit(inner, `${path}${escaped(name)}/`, depth + 1));
    }
    return node;
  };
  return visit(nest, "", 0);
}

/** Lists all objects that are reachable from one, itself first, with their paths. */
function allObjects(root: ObjectNode): Map<ObjectNode, string> {
  const found = new Map([[root, ""]]);
  for (const [node, path] of found) {
    for (const [name, child] of node.children) {
      if (!found.has(child)) found.set(child, `${path}${escaped(name)}/`);
    }
    for (const { node: slot } of node.slots) if (!found.has(slot)) found.set(slot, "");
  }
  return found;
}

/**
 * Adds the optimizers' state: the step count, and slots beside their variables. Values become handles on what they are now, which
 * `held` gets.
 */
async function addOptimizers(root: ObjectNode, held: Tensor[]): Promise<void> {
  const all = allObjects(root);
  const hold = (value: Tensor): Tensor => {
    held.push(heldValue(value));
    return held.at(-1)!;
  };
  const byName = new Map(
    [...all].flatMap(([node, path]) =>
      node.target instanceof Tensor ? [[node.target.name, { node, path }]] as const : []
    ),
  );
  for (const node of all.keys()) if (node.value instanceof Tensor) node.value = hold(node.value);
  for (const [node, path] of all) {
    const { target } = node;
    if (!isStateful(target)) continue;
    for (const { name, tensor } of target.weightsNow?.() ?? await target.getWeights()) {
      const end = name.lastIndexOf("/"), of = byName.get(name.slice(0, end));
      // Slots are the optimizer's own, the count was made for this call.
      if (!name.includes("/")) held.push(tensor);
      const value = hold(tensor);
      if (end < 0 || of === undefined) {
        node.children.set(name, objectNode(`${path}${escaped(name)}/${VALUE}`, { value }));
      } else {
        const slot = name.slice(end + 1);
        const key = `${of.path}.OPTIMIZER_SLOT/${path}${escaped(slot)}/${VALUE}`;
        node.slots.push({ of: of.node, name: slot, node: objectNode(key, { value }) });
      }
    }
  }
}

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
 * Variables and optimizers, in arrays and objects, saved and restored as TensorFlow does it: values go by the keys that
 * lead to them, so a checkpoint of `new tf.train.Checkpoint({ model: { w } })` and one of Python's
 * `tf.train.Checkpoint(model=m)`, where `m.w` is a variable, are the same. The files are TensorFlow's, which
 * `import "@weft/weft/tf"` reads and writes. Follows TensorFlow `tf.train.Checkpoint`.
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
  readonly #objects: Variables;
  #saves = 0;

  /** Creates a checkpoint of named objects. Throws `TypeError` for a value that is no variable or optimizer. */
  constructor(objects: Readonly<Record<string, Variables>> = {}) {
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
    const named = objectNode(`${SAVE_COUNTER}/${VALUE}`, { value: counter });
    root.children.set(SAVE_COUNTER, named);
    const held: Tensor[] = [];
    try {
      await addOptimizers(root, held);
      await this.#write(prefix, root, format);
    } finally {
      for (const t of held) t.dispose();
    }
    return prefix;
  }

  async #write(prefix: string, root: ObjectNode, format: CheckpointFormat): Promise<void> {
    const all = [...allObjects(root).keys()], ids = new Map(all.map((node, id) => [node, id]));
    const values: Record<string, Tensor | NdArray> = {};
    for (const { key, value } of all) if (key !== null && value !== null) values[key] = value;
    const nodes = all.map(({ children, key, slots }): SavedObjectNode => ({
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
    const optimizers: [Stateful, Map<string, NdArray>][] = [];
    const found: { target: Stateful; id: number; path: string }[] = [];
    const names = new Map<number, string>();
    const read = async (id: number): Promise<NdArray | null> => {
      const key = nodes[id]?.key ?? null;
      if (key === null || !file.has(key)) return null;
      used.add(key);
      return await file.read(key);
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
      } else if (isStateful(target)) found.push({ target, id, path });
      for (const [name, child] of node.children) {
        const there = nodes[id]?.children.find((c) => c.name === name);
        await pair(child, there?.id ?? -1, path === "" ? name : `${path}.${name}`);
      }
    };
    await pair(root, 0, "");
    // Slots name variables, all of which are known now.
    for (const { target, id, path } of found) {
      const weights = new Map<string, NdArray>();
      for (const { name, id: child } of nodes[id]?.children ?? []) {
        const value = await read(child);
        if (value !== null) weights.set(name, value);
      }
      for (const { of, name, id: slot } of nodes[id]?.slots ?? []) {
        const value = await read(slot), variable = names.get(of);
        if (value !== null && variable !== undefined) weights.set(`${variable}/${name}`, value);
      }
      if (weights.size === 0) missing.push(path);
      else optimizers.push([target, weights]);
    }
    const counter = nodes[0]?.children.find(({ name }) => name === SAVE_COUNTER);
    const saves = counter === undefined ? null : await read(counter.id);
    for (const [variable, value] of assigned) variable.assign(value as unknown as Tensor);
    for (const [optimizer, weights] of optimizers) {
      await giveWeights(optimizer, [...weights].map(([name, value]) => [name, () => value]));
    }
    if (saves !== null) this.#saves = Number((saves.data as ArrayLike<number | bigint>)[0]);
    const unused = nodes.flatMap(({ key }) => key === null || used.has(key) ? [] : [key]);
    return statusOf(prefix, missing, unused);
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
