/** Functions of the caller that replace ops. */
import type { DType } from "../engine/core/dtype.ts";
import { ValueError } from "../engine/core/errors.ts";
import type { PartialShape } from "../engine/core/shape.ts";
import { Tensor } from "../engine/core/tensor.ts";
import { pyFunction } from "../engine/script/py_function.ts";
import type { NodeCall } from "./build/node_call.ts";
import type { Rule } from "./build/rule.ts";
import { allNodes, type OnnxGraph } from "./file/graph.ts";
import type { ValueType } from "./file/types.ts";

/**
 * A function in place of an op: it takes the node's inputs as tensors at each run, and returns its output, or a list of
 * its outputs. It may be async, may read tensors, and is differentiable.
 */
// deno-lint-ignore no-explicit-any
export type OnnxScript = (...inputs: any[]) => unknown;

/** Makes rules that call the functions, by op name. Throws `ValueError` for values that are no functions. */
export function scriptRules(
  scripts: Readonly<Record<string, OnnxScript>>,
  graph: OnnxGraph,
): Map<string, Rule> {
  const types = typesOf(graph);
  return new Map(
    Object.entries(scripts).map(([name, fn]) => {
      if (typeof fn !== "function") {
        throw new ValueError(`Cannot run a script for ${name}: wanted a function`);
      }
      return [name.replace(/^ai\.onnx:/, ""), (n: NodeCall) => callScript(n, fn, types)];
    }),
  );
}

function callScript(
  n: NodeCall,
  fn: OnnxScript,
  types: ReadonlyMap<string, ValueType>,
): (Tensor | null)[] {
  const inputs = n.inputs.flatMap((value, i) => value === null ? [] : [n.x(i)]);
  const wanted = n.node.outputs;
  const dtypes = wanted.map((name): DType => {
    const type = types.get(name);
    return type?.kind === "tensor" ? type.dtype : inputs[0]?.dtype ?? "float32";
  });
  // A list of one unknown rank would be a shape of one unknown extent.
  const shapes = wanted.map((output) => rankOf(types.get(output)));
  const name = n.node.name.replaceAll(/[^A-Za-z0-9_.\\/-]/g, "_").replace(/^[^A-Za-z0-9.]/, "n$&");
  const results = pyFunction(
    fn as never,
    inputs,
    dtypes.length === 1 ? dtypes[0] : dtypes,
    { name, shapeFn: () => shapes.length === 1 ? shapes[0] : shapes },
  ) as unknown as Tensor | Tensor[];
  const list = results instanceof Tensor ? [results] : results;
  return wanted.map((_, i) => list[i] ?? null);
}

/** Returns a shape of unknown extents: those of files are hints, and edited models may have wrong ones. */
function rankOf(type: ValueType | undefined): PartialShape {
  return type?.kind === "tensor" ? type.shape?.map(() => null) ?? null : null;
}

function typesOf(graph: OnnxGraph): Map<string, ValueType> {
  const types = new Map(graph.types);
  for (const node of allNodes(graph)) {
    for (const inner of Object.values(node.graphs)) {
      for (const [name, type] of inner.types) types.set(name, type);
    }
  }
  return types;
}
