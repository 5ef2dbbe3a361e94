/** The splits of each source of a dataset's graph, for dispatchers that hand them out. */
import { InvalidArgumentError, UnimplementedError } from "../../engine/core/errors.ts";
import { makeData } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { Budget } from "../../tensorflow/graph_def/check.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { attrFromJson } from "../../tensorflow/graph_def/values.ts";
import { sinkOf } from "./dataset_graph.ts";

/** Returns split `i` of a source, or null past its last. */
export type SplitSource = (i: number) => NdArray | null;

/** Most sources of a graph: a chain of zips of a dataset with itself doubles them at each step. */
const MOST_SOURCES = 4096;

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

/**
 * Lists sources in the order in which workers number them: each input's before those of the next. A dataset that two others read
 * counts twice. Throws `InvalidArgumentError` for cycles, missing nodes, too many sources and sources without a number of splits,
 * `UnimplementedError` for such a number that is no constant.
 */
export function splitSources(def: GraphDefJson): SplitSource[] {
  const nodes = new Map(def.node.map((n) => [n.name, n]));
  const refuse = (why: string): never => {
    throw new InvalidArgumentError(`Cannot give out splits: ${why}`);
  };
  const nodeAt = (input: string): NodeDefJson =>
    nodes.get(input.split(":")[0]) ?? refuse(`the graph has no node "${input}"`);
  const counts = new Map<NodeDefJson, number>(), within = new Set<NodeDefJson>();
  const sink = nodeAt(sinkOf(def)), open = [sink];
  // Without recursion: chains may be as long as a message allows.
  while (open.length > 0) {
    const node = open.at(-1)!, isSource = node.op in SOURCES;
    const inputs = isSource ? [] : inputsOf(node).map(nodeAt);
    const missing = inputs.filter((input) => !counts.has(input));
    if (missing.length === 0) {
      open.pop();
      within.delete(node);
      const count = inputs.reduce((sum, input) => sum + counts.get(input)!, Number(isSource));
      if (count > MOST_SOURCES) {
        refuse(`the graph has more than ${MOST_SOURCES} sources, counted by the paths to them`);
      }
      counts.set(node, count);
    } else {
      const back = missing.find((input) => input === node || within.has(input));
      if (back !== undefined) refuse(`"${back.name}" (${back.op}) depends on itself`);
      within.add(node);
      open.push(...missing.reverse());
    }
  }
  const lists = new Map<NodeDefJson, readonly SplitSource[]>();
  // In the order in which they were counted, inputs come before their readers.
  for (const [node, count] of counts) {
    const inputs = inputsOf(node).map(nodeAt);
    if (node.op in SOURCES) lists.set(node, [sourceOf(node, inputs, refuse)]);
    else {
      const whole = inputs.find((input) => counts.get(input) === count);
      lists.set(node, whole ? lists.get(whole)! : inputs.flatMap((input) => lists.get(input)!));
    }
  }
  return [...lists.get(sink)!];
}

/** Lists the inputs of a node that are datasets, or a source's numbers. */
function inputsOf({ op, input = [], attr }: NodeDefJson): string[] {
  const data = input.filter((i) => !i.startsWith("^"));
  if (op in SOURCES) return data;
  const several = op === "ZipDataset" ? Number(attr?.N?.i) : op === "ConcatenateDataset" ? 2 : 1;
  return data.slice(0, several);
}

function sourceOf(
  node: NodeDefJson,
  inputs: readonly NodeDefJson[],
  refuse: (why: string) => never,
): SplitSource {
  const { count, at } = SOURCES[node.op](inputs.map(constantOf));
  if (!Number.isSafeInteger(count)) {
    refuse(`"${node.name}" (${node.op}) has ${count} of them, wanted a whole number`);
  }
  return (i) => i < count ? int64(at(i)) : null;
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
