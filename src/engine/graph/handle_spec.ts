/**
 * Finds the spec of a handle's variable in a graph. For an argument, as in functions read from a GraphDef, the uses in
 * the body tell it.
 */
import { resourceOf } from "../core/graph_node.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import type { FuncGraph } from "./func_graph.ts";
import type { Operation, SymbolicTensor } from "./operation.ts";

/** A function in an attribute: alone, or with the places of its captures among the inputs. */
interface FunctionAttr {
  readonly f?: { readonly graph: FuncGraph };
  readonly from?: readonly number[];
  readonly graph?: FuncGraph;
}

/** Returns dtype and shape of a handle's variable; null if nothing reads it. */
export function variableSpec(handle: Tensor): Spec | null {
  const resource = resourceOf(handle);
  if (resource) return resource;
  return handle.isSymbolic ? specOfArgument(handle as SymbolicTensor) : null;
}

function specOfArgument(handle: SymbolicTensor): Spec | null {
  for (const op of handle.consumers()) {
    if (op.type === "ReadVariableOp") {
      const [{ dtype, staticShape: shape }] = op.outputs;
      return { dtype, shape };
    }
    for (const inner of argumentsFor(op, op.inputs.indexOf(handle))) {
      const found = specOfArgument(inner);
      if (found) return found;
    }
  }
  return null;
}

/** Returns the placeholders that stand for an operation's input in the functions it calls. */
function argumentsFor(op: Operation, input: number): SymbolicTensor[] {
  return Object.values(op.attrs).flatMap((attr) => {
    const { f, from, graph } = (attr ?? {}) as FunctionAttr;
    const body = graph ?? f?.graph;
    if (!body?.captures) return [];
    const all = [...body.inputs, ...body.captures.map((c) => c.inner)];
    // A call passes all its inputs.
    if (!from) return all.slice(input, input + 1);
    // The predicate of a branch is no argument.
    const at = op.type.endsWith("If") ? input - 1 : input;
    const own = all.length - from.length;
    if (at < own) return [all[at]];
    return from.includes(at) ? [all[own + from.indexOf(at)]] : [];
  });
}
