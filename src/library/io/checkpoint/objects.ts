/** The objects that a checkpoint saves: found in a nest, with the keys of their values. */
import { describe } from "../../../engine/core/convert.ts";
import { isPlainObject, type Nest, NestWalk } from "../../../engine/core/nest.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import {
  isTrackable,
  Tensor,
  type Trackable,
  type VariableLike,
} from "../../../engine/core/tensor.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import { isStateful, type Stateful } from "./stateful.ts";
import { heldValue } from "../variables.ts";

/** Values that checkpoints save: variables, optimizers, metrics, generators, tables, iterators, modules, checkpoints and averages. */
export type Trackables = Nest<VariableLike | Stateful | Trackable>;

export const VARIABLE_VALUE = "VARIABLE_VALUE", SAVE_COUNTER = "save_counter";
const ATTRIBUTES = ".ATTRIBUTES/";
export const VALUE: string = ATTRIBUTES + VARIABLE_VALUE;

/** An object of a checkpoint that is to be written or was read. */
export interface ObjectNode {
  readonly children: Map<string, ObjectNode>;
  /** Name of the attribute with its values. */
  readonly attribute: string;
  /** Key of its value, for a variable; that of the attribute, where endings follow. */
  readonly key: string | null;
  /** The values to write, by their keys. */
  values: Record<string, Tensor | NdArray>;
  /** The object that it stands for. */
  readonly target: VariableLike | Stateful | Trackable | null;
  /** Slots of an optimizer. */
  readonly slots: { readonly of: ObjectNode; readonly name: string; readonly node: ObjectNode }[];
}

/** Escapes a name as a part of a key. */
export function escaped(name: string): string {
  return name.replaceAll(".", "..").replaceAll("/", ".S");
}

export function objectNode(more: Partial<ObjectNode> = {}): ObjectNode {
  return {
    children: new Map(),
    attribute: VARIABLE_VALUE,
    key: null,
    values: {},
    target: null,
    slots: [],
    ...more,
  };
}

/** The object of one value. */
export function valueNode(path: string, value: Tensor | NdArray): ObjectNode {
  return objectNode({ key: path + VALUE, values: { [path + VALUE]: value } });
}

function refused(received: string): TypeError {
  return new TypeError(
    `Cannot save a checkpoint: wanted variables, optimizers and other objects with a state, in arrays and objects, received ${received}`,
  );
}

/**
 * Builds the objects of a nest, without the optimizers' slots and the values of other objects than variables. Throws `TypeError` for
 * what has no state.
 */
export function objectsOf(nest: Trackables): ObjectNode {
  const walk = new NestWalk();
  const known = new Map<unknown, ObjectNode>();
  const visit = (value: unknown, path: string, depth: number): ObjectNode => {
    walk.enter(depth, known.size);
    const before = known.get(value);
    if (before !== undefined) return before;
    const keep = (node: ObjectNode): ObjectNode => {
      known.set(value, node);
      return node;
    };
    if (value instanceof Tensor) {
      if (!("assign" in value)) throw refused("a tensor, which never changes");
      const key = path + VALUE;
      return keep(objectNode({ key, values: { [key]: value }, target: value as VariableLike }));
    }
    const parts = isTrackable(value) ? value.trackedParts() : null;
    if (parts === null && isStateful(value)) return keep(objectNode({ target: value }));
    if (parts === null && !Array.isArray(value) && !isPlainObject(value)) {
      throw refused(describe(value));
    }
    const { children = parts === null ? value : {}, values } = parts ?? {};
    const attribute = values?.attribute ?? VARIABLE_VALUE;
    const node = keep(objectNode({
      attribute,
      key: values === undefined ? null : `${path}${ATTRIBUTES}${attribute}`,
      target: parts === null ? null : value as Trackable,
    }));
    for (const [name, inner] of Object.entries(children as object)) {
      node.children.set(name, visit(inner, `${path}${escaped(name)}/`, depth + 1));
    }
    return node;
  };
  return visit(nest, "", 0);
}

/** Lists all objects that are reachable from one, itself first, with their paths. */
export function allObjects(root: ObjectNode): Map<ObjectNode, string> {
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
 * Adds the state of objects that are no variables: the step count of optimizers, and slots beside their variables. Values become
 * handles on what they are now, which `held` gets.
 */
export async function addState(root: ObjectNode, held: Tensor[]): Promise<void> {
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
  for (const { values } of all.keys()) {
    for (const [key, value] of Object.entries(values)) {
      if (value instanceof Tensor) values[key] = hold(value);
    }
  }
  for (const [node, path] of all) {
    const { target } = node;
    if (isTrackable(target) || !isStateful(target)) continue;
    for (const { name, tensor } of target.weightsNow?.() ?? await target.getWeights()) {
      const end = name.lastIndexOf("/"), of = byName.get(name.slice(0, end));
      // Slots are the optimizer's own, the count was made for this call.
      if (!name.includes("/")) held.push(tensor);
      const value = hold(tensor);
      if (end < 0 || of === undefined) {
        node.children.set(name, valueNode(`${path}${escaped(name)}/`, value));
      } else {
        const slot = name.slice(end + 1);
        const at = `${of.path}.OPTIMIZER_SLOT/${path}${escaped(slot)}/`;
        node.slots.push({ of: of.node, name: slot, node: valueNode(at, value) });
      }
    }
  }
  await Promise.all([...all.keys()].map(async ({ target, key, values }) => {
    const own = isTrackable(target) ? target.trackedParts().values : undefined;
    const now = await own?.save() ?? [];
    now.forEach((value, i) => values[key! + own!.endings[i]] = value);
  }));
}
