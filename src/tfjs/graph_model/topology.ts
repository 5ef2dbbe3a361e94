/**
 * The graph of a TensorFlow.js model, prepared for `importGraphDef`: weights are put into their constants, 64-bit types
 * become TensorFlow.js's narrower ones, and ops get the attribute of TensorFlow.js's behaviour where it differs.
 */
import type { NdArray } from "../../engine/core/nd_array.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { lookupOp } from "../../engine/core/op.ts";
import type {
  AttrValueJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { constantToJson } from "../../tensorflow/graph_def/values.ts";

/** The types by which TensorFlow.js reads 64-bit numbers, which it lacks. */
const NARROW: Readonly<Record<string, string>> = {
  DT_INT64: "DT_INT32",
  DT_DOUBLE: "DT_FLOAT",
  DT_UINT32: "DT_INT32",
  "9": "DT_INT32",
  "2": "DT_FLOAT",
};

/** Puts the weights into the graph. Throws `ValueError` for a constant without a value. */
export function withWeights(
  topology: GraphDefJson,
  weights: ReadonlyMap<string, NdArray>,
): GraphDefJson {
  const nodes = (defs: readonly NodeDefJson[]): NodeDefJson[] =>
    defs.map((n) => withoutDevice(n.op === "Const" ? constant(n, weights) : likeTfjs(narrowed(n))));
  return {
    node: nodes(topology.node),
    versions: topology.versions ?? { producer: 0 },
    ...(topology.library && {
      library: {
        function: (topology.library.function ?? []).map((f): FunctionDefJson => ({
          ...f,
          signature: {
            ...f.signature,
            inputArg: (f.signature.inputArg ?? []).map(narrowArg),
            outputArg: (f.signature.outputArg ?? []).map(narrowArg),
          },
          nodeDef: nodes(f.nodeDef ?? []),
        })),
      },
    }),
  };
}

/** Removes a node's device: TensorFlow's rewriting leaves its CPU there, and TensorFlow.js ignores devices. */
function withoutDevice({ device: _, ...node }: NodeDefJson): NodeDefJson {
  return node;
}

/** Sets the attribute of ops that know how TensorFlow.js differs from TensorFlow. */
function likeTfjs(node: NodeDefJson): NodeDefJson {
  const differs = lookupOp(node.op)?.signature.attrDefs.some(({ name }) => name === "tfjs");
  return differs ? { ...node, attr: { ...node.attr, tfjs: { b: true } } } : node;
}

function narrowArg<T extends { readonly type: string }>(arg: T): T {
  return { ...arg, type: narrow(arg.type) };
}

function narrow(type: string | number): string {
  return NARROW[type] ?? String(type);
}

function constant(node: NodeDefJson, weights: ReadonlyMap<string, NdArray>): NodeDefJson {
  const weight = weights.get(node.name);
  if (weight === undefined) {
    if (node.attr?.value?.tensor === undefined) {
      throw new ValueError(`Cannot load the model: constant "${node.name}" has no weight`);
    }
    return node;
  }
  const tensor = constantToJson(weight);
  return { ...node, attr: { ...node.attr, dtype: { type: tensor.dtype }, value: { tensor } } };
}

function narrowed(node: NodeDefJson): NodeDefJson {
  if (node.attr === undefined) return node;
  const attr = Object.entries(node.attr).map(([name, v]): [string, AttrValueJson] => {
    if (v.type !== undefined) return [name, { type: narrow(v.type) }];
    if (v.list?.type !== undefined) {
      return [name, { list: { ...v.list, type: v.list.type.map(narrow) } }];
    }
    return [name, v];
  });
  return { ...node, attr: Object.fromEntries(attr) };
}
