/** Nodes in JSON form: their inputs, the functions they call, and constants. */
import { DTYPES } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { FunctionDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { tensorToJson } from "./values.ts";

/** True for a control input, which has no value. */
export function isControl(input: string): boolean {
  return input.startsWith("^");
}

export function dataInputs({ input = [] }: NodeDefJson): string[] {
  return input.filter((i) => !isControl(i));
}

/** Returns the control inputs, each with its `^`. */
export function controlInputs({ input = [] }: NodeDefJson): string[] {
  return input.filter(isControl);
}

/** Returns the name of an input's node. */
export function sourceOf(input: string): string {
  return input.replace(/^\^/, "").split(":")[0];
}

/** True for While, stateless or not. */
export function isLoop(op: string): boolean {
  return /^(Stateless)?While$/.test(op);
}

export function constantAttrs(value: NdArray): NonNullable<NodeDefJson["attr"]> {
  return { dtype: { type: DTYPES[value.dtype].tfEnum }, value: { tensor: tensorToJson(value) } };
}

/** Returns the functions that nodes call directly or indirectly, in the library's order. */
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
