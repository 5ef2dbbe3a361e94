/** The objects of a checkpoint, given to those of a program. */
import { RuntimeError, ValueError } from "../../../engine/core/errors.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import { compatible, shapeText } from "../../../engine/core/shape.ts";
import {
  isTrackable,
  Tensor,
  type TrackedValues,
  type VariableLike,
} from "../../../engine/core/tensor.ts";
import { fitted, isStateful, type Stateful } from "./stateful.ts";
import type { OpenCheckpoint, SavedObjectNode } from "./format.ts";
import { type ObjectNode, SAVE_COUNTER, VARIABLE_VALUE } from "./objects.ts";

/** The result of restoring. */
export interface RestoreStatus {
  /** Throws `RuntimeError` where the checkpoint has unused values, or an object found none. */
  assertConsumed(): RestoreStatus;
  /** Throws `RuntimeError` where an object found no value. */
  assertExistingObjectsMatched(): RestoreStatus;
  /** Does nothing: declares that unused values are expected. */
  expectPartial(): RestoreStatus;
}

/** A checkpoint and the objects in it. */
interface Opened {
  readonly file: OpenCheckpoint;
  readonly nodes: readonly SavedObjectNode[];
  readonly prefix: string;
}

/**
 * Restores the objects from a checkpoint, all of them or none. Returns also how often it was saved; null where it does not say. Rejects
 * with `ValueError` for another shape or dtype.
 */
export async function takeObjects(
  root: ObjectNode,
  { file, nodes, prefix }: Opened,
): Promise<{ readonly status: RestoreStatus; readonly saves: number | null }> {
  const used = new Set<string>(), missing: string[] = [];
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
  const { savedWeights } = await import("./optimizer_state.ts");
  for (const { target, id, path } of found) {
    const weights = await savedWeights(nodes, id, { names, read });
    if (weights.size === 0) missing.push(path);
    else {
      const saved = [...weights].map(([name, value]) => ({ name, value, isNamed: true }));
      setters.push(fitted(target, saved, true));
    }
  }
  const counter = nodes[0]?.children.find(({ name }) => name === SAVE_COUNTER);
  const saves = counter === undefined ? null : await read(counter.id);
  for (const [variable, value] of assigned) variable.assign(value as unknown as Tensor);
  for (const set of setters) await set();
  const unused = nodes.flatMap(({ key }) => key === null || used.has(key) ? [] : [key]);
  const status = statusOf(prefix, missing, unused);
  return { status, saves: saves === null ? null : Number(saves.data[0]) };
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
      refuse(unused, "no variable took the checkpoint's values");
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
