/**
 * Nodes in JSON form: their inputs, the functions they call, and constants.
 */
import { DTYPES } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { FunctionDefJson, NodeDefJson } from "./types.ts";
import { tensorToJson } from "./values.ts";

/** True for an input that is waited for, and has no value. */
export function isControl(input: string): boolean {
  return input.startsWith("^");
}

/** Inputs that are tensors. */
export function dataInputs({ input = [] }: NodeDefJson): string[] {
  return input.filter((i) => !isControl(i));
}

/** Inputs that are waited for, each with its `^`. */
export function controlInputs({ input = [] }: NodeDefJson): string[] {
  return input.filter(isControl);
}

/** The node that an input names. */
export function sourceOf(input: string): string {
  return input.replace(/^\^/, "").split(":")[0];
}

/** True for While, stateless or not. */
export function isLoop(op: string): boolean {
  return /^(Stateless)?While$/.test(op);
}

/** Attributes of a constant. */
export function constantAttrs(value: NdArray): NonNullable<NodeDefJson["attr"]> {
  return { dtype: { type: DTYPES[value.dtype].tfEnum }, value: { tensor: tensorToJson(value) } };
}

/** Functions that nodes call, and those that these call, in the order of the library. */
export function calledFunctions(
  nodes: readonly NodeDefJson[],
  functions: readonly FunctionDefJson[],
): FunctionDefJson[] {
  const library = new Map(functions.map((f) => [f.signature.name, f]));
  const called = new Set<string>(), open = [...nodes];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const { func, list } of Object.values(node.attr ?? {})) {
      for (const { name } of [func ?? [], list?.func ?? []].flat()) {
        if (called.has(name)) continue;
        called.add(name);
        open.push(...library.get(name)?.nodeDef ?? []);
      }
    }
  }
  return functions.filter((f) => called.has(f.signature.name));
}
