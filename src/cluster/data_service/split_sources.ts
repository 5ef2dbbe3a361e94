/** The splits of each source of a dataset's graph, for dispatchers that hand them out. */
import { UnimplementedError } from "../../engine/core/errors.ts";
import { makeData } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { Budget } from "../../tensorflow/graph_def/check.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { attrFromJson } from "../../tensorflow/graph_def/values.ts";
import { sinkOf } from "./dataset_graph.ts";

/** Returns split `i` of a source, or null past its last. */
export type SplitSource = (i: number) => NdArray | null;

const SOURCES: Readonly<
  Record<string, (values: readonly NdArray[]) => { count: number; at: (i: number) => number }>
> = {
  RangeDataset: (values) => {
    const [start, stop, step] = values.map((x) => Number(x.at(0)));
    return { count: Math.max(0, Math.ceil((stop - start) / step)), at: (i) => start + i * step };
  },
  TensorSliceDataset: ([x]) => ({ count: x.shape[0], at: (i) => i }),
  TensorDataset: () => ({ count: 1, at: (i) => i }),
};

/** Sources in the order in which workers number them: each input's before those of the next. */
export function splitSources(def: GraphDefJson): SplitSource[] {
  const nodes = new Map(def.node.map((n) => [n.name, n]));
  const found: SplitSource[] = [];
  const visit = (name: string): void => {
    const node = nodes.get(name.split(":")[0])!;
    const inputs = (node.input ?? []).filter((i) => !i.startsWith("^"));
    const source = SOURCES[node.op];
    if (source !== undefined) {
      const { count, at } = source(inputs.map((i) => constantOf(nodes.get(i.split(":")[0])!)));
      found.push((i) => i < count ? int64(at(i)) : null);
      return;
    }
    const several = node.op === "ZipDataset"
      ? Number(node.attr?.N?.i)
      : node.op === "ConcatenateDataset"
      ? 2
      : 1;
    inputs.slice(0, several).forEach(visit);
  };
  visit(sinkOf(def));
  return found;
}

function constantOf(node: NodeDefJson): NdArray {
  if (node.op !== "Const") {
    throw new UnimplementedError(
      `Cannot give out splits: "${node.name}" (${node.op}) says how many there are, wanted a constant`,
    );
  }
  return attrFromJson(
    { name: "value", type: "tensor" },
    node.attr?.value ?? {},
    new Budget(0),
  ) as NdArray;
}

function int64(value: number): NdArray {
  const data = makeData("int64", 1);
  (data as BigInt64Array)[0] = BigInt(value);
  return new NdArray("int64", [], data);
}
