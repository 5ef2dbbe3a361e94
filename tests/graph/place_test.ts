/** Placement: a pure function of the graph and of what moving values costs. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { buildIr } from "../../src/engine/graph/ir.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import {
  costOf,
  depthsOf,
  type DeviceType,
  inOrder,
  place,
} from "../../src/engine/runtime/plan/place.ts";
import type { TransferCost } from "../../src/engine/core/device.ts";

/** A device that is read at once, one that must be awaited, and one that shares the host's memory. */
const SYNC: TransferCost = { latencyMs: 0.1, bytesPerMs: 5e6 };
const AWAITED: TransferCost = { latencyMs: 11, bytesPerMs: 5e6 };
const SHARED: TransferCost = { latencyMs: 0, bytesPerMs: Infinity };

const identity = (v: tf.NdArray): tf.NdArray => v;
const script = (x: tf.Tensor, dtype: tf.DType = "float32"): tf.Tensor =>
  tf.numpyFunction(identity, [x], tf.TensorSpec(x.shape, dtype), { name: "script" });

interface Placed {
  readonly text: string;
  readonly cost: number;
}

/** Nodes by device, in order; scripts are the host's. */
function placeGraph(
  build: () => tf.Tensor | tf.Tensor[],
  transfer: TransferCost,
  preferred: DeviceType = "GPU",
): Placed {
  const built = new tf.Graph().asDefault(build);
  const fetches = (Array.isArray(built) ? built : [built]) as unknown as SymbolicTensor[];
  const feeds = fetches[0]!.graph.operations.filter((o) => o.type === "Placeholder")
    .map((o) => o.outputs[0]!);
  const ir = buildIr({ fetches, targets: [], feeds });
  const placed = place(ir, {
    preferred,
    transfer,
    required: ({ def, device }) =>
      device.includes("CPU") || def.name === "PyFunc" || def.shapeOnly ? "CPU" : null,
  });
  const nodes = ir.nodes.filter((n) => n.feed < 0 && n.def.name !== "Const");
  return {
    text: nodes.map((n) => `${n.def.name}@${placed.get(n)}`).join(" "),
    cost: costOf(ir, placed, transfer),
  };
}

const cases: readonly {
  readonly what: string;
  readonly build: () => tf.Tensor | tf.Tensor[];
  readonly sync: string;
  readonly awaited?: string;
  readonly shared?: string;
}[] = [
  {
    what: "what may choose goes to the device preferred",
    build: () => {
      const x = tf.placeholder("float32", [4, 4]);
      return tf.exp(tf.matMul(x, x));
    },
    sync: "MatMul@GPU Exp@GPU",
  },
  {
    what: "what a run is given counts as if it were there",
    build: () => script(tf.exp(tf.placeholder("float32", [4]))),
    sync: "Exp@GPU PyFunc@CPU",
  },
  {
    what: "a hard constraint holds, whatever it costs",
    build: () =>
      tf.exp(tf.device("/CPU:0", () => tf.sqrt(tf.exp(tf.placeholder("float32", [2 ** 22]))))),
    sync: "Exp@CPU Sqrt@CPU Exp@GPU",
  },
  {
    what: "a little work between two scripts stays with them",
    build: () => script(tf.neg(tf.exp(script(tf.placeholder("float32", [64]))))),
    sync: "PyFunc@CPU Exp@CPU Neg@CPU PyFunc@CPU",
    shared: "PyFunc@CPU Exp@GPU Neg@GPU PyFunc@CPU",
  },
  {
    what: "much work does not, unless waiting costs more",
    build: () => {
      let x = script(tf.placeholder("float32", [2 ** 20]));
      for (let i = 0; i < 4; i++) x = tf.exp(x);
      return script(x);
    },
    sync: "PyFunc@CPU Exp@GPU Exp@GPU Exp@GPU Exp@GPU PyFunc@CPU",
    awaited: "PyFunc@CPU Exp@CPU Exp@CPU Exp@CPU Exp@CPU PyFunc@CPU",
  },
  {
    what: "a boundary that is there anyway is shared: nothing moves that would not save it",
    build: () => {
      const p = script(tf.placeholder("float32", [256, 256]));
      return [script(tf.exp(p)), script(tf.matMul(p, p))];
    },
    sync: "PyFunc@CPU Exp@GPU PyFunc@CPU MatMul@GPU PyFunc@CPU",
  },
  {
    what: "arithmetic of shapes stays on the host, and reads nothing",
    build: () => {
      const x = tf.exp(tf.placeholder("float32", [null, 4]));
      const rows = tf.slice(tf.shape(x) as tf.Tensor, [0], [1]);
      return tf.reshape(x, tf.concat([tf.mul(rows, 2), tf.constant([2], "int32")], 0));
    },
    sync: "Exp@GPU Shape@CPU Slice@CPU Mul@CPU ConcatV2@CPU Reshape@GPU",
  },
];

for (const { what, build, sync, awaited = sync, shared = sync } of cases) {
  Deno.test(`place(): ${what}`, () => {
    assertEquals(placeGraph(build, SYNC).text, sync);
    assertEquals(placeGraph(build, AWAITED).text, awaited);
    assertEquals(placeGraph(build, SHARED).text, shared);
    assertEquals(placeGraph(build, SYNC, "CPU").text, sync.replaceAll("GPU", "CPU"));
  });
}

Deno.test("costOf() counts readbacks once for a boundary, and bytes once for a value", () => {
  const spec = 4 * 1024;
  const { cost } = placeGraph(() => {
    const x = tf.exp(tf.placeholder("float32", [1024]));
    return [script(x), script(x), script(tf.cumsum(x))];
  }, { latencyMs: 1, bytesPerMs: spec });
  assertEquals(cost, 1 + 2);
  const { cost: two } = placeGraph(() => {
    const x = script(tf.cumsum(tf.placeholder("float32", [1024])));
    return script(tf.cumsum(x));
  }, { latencyMs: 1, bytesPerMs: spec });
  // Down, up, and down again.
  assertEquals(two, 2 + 3);
  assert(two > cost);
});

/** Scopes of nodes in the order in which they run, and the number of readbacks before each; those of GPUs begin with "g". */
function ordered(build: () => tf.Tensor[]): { readonly order: string; readonly depths: string } {
  const fetches = new tf.Graph().asDefault(build) as unknown as SymbolicTensor[];
  const feeds = fetches[0]!.graph.operations.filter((o) => o.type === "Placeholder")
    .map((o) => o.outputs[0]!);
  const ir = buildIr({ fetches, targets: [], feeds });
  const depths = depthsOf(ir, ({ name }) => name.startsWith("g"));
  const named = (nodes: typeof ir.nodes): typeof ir.nodes =>
    nodes.filter(({ name }) => /^[gh]\d/.test(name));
  const scope = (name: string): string => name.slice(0, 2);
  return {
    order: named(inOrder(ir, ({ name }) => name.startsWith("g"), depths))
      .map(({ name }) => scope(name)).join(" "),
    depths: named(ir.nodes).map((n) => `${scope(n.name)}:${depths.get(n)}`).join(" "),
  };
}

Deno.test("inOrder() puts what needs the shape of a GPU's value alone behind it, and what follows behind that", () => {
  const { order, depths } = ordered(() => {
    const x = tf.placeholder("float32", [null]);
    const a = tf.nameScope("g1", () => tf.exp(x));
    const size = tf.nameScope("h2", () => tf.shape(a) as tf.Tensor);
    const c = tf.nameScope("g3", () => tf.reshape(a, size)),
      d = tf.nameScope("h4", () => tf.exp(x));
    return [tf.nameScope("h5", () => tf.exp(c)), d];
  });
  assertEquals(depths, "g1:0 h2:0 g3:0 h4:0 h5:1");
  assertEquals(order, "h4 g1 h2 g3 h5");
});

Deno.test("depthsOf() counts a readback where the host runs after a GPU's effect", () => {
  const { depths, order } = ordered(() => {
    const x = tf.placeholder("float32", [2]), a = tf.nameScope("g1", () => tf.exp(x));
    const [b, c] = tf.controlDependencies([a], () => [
      tf.nameScope("h2", () => tf.exp(x)),
      tf.nameScope("g3", () => tf.exp(x)),
    ]);
    return [a, b!, tf.controlDependencies([c!], () => tf.nameScope("h4", () => tf.exp(b!)))];
  });
  assertEquals(depths, "g1:0 h2:1 g3:0 h4:1");
  assertEquals(order, "g1 g3 h2 h4");
});
