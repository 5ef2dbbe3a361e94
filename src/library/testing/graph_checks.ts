/**
 * Checks that a graph computes the same as eager execution: with known, partial and unknown shapes, and its gradients
 * too.
 */
import { apply, type OpInput } from "../../engine/core/apply.ts";
import { isTrainable } from "../../engine/core/dtype.ts";
import { type ElementValue, NdArray } from "../../engine/core/nd_array.ts";
import { toNdArray } from "../../engine/core/convert.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { gradients } from "../../engine/autodiff/gradients.ts";
import { Graph } from "../../engine/graph/graph.ts";
import { placeholder } from "../../engine/ops/graph_ops.ts";
import { cpuDevice, device } from "../../engine/runtime/devices/devices.ts";
import { importGraphDef } from "../../tensorflow/graph/import_graph_def.ts";
import { Session } from "../../engine/runtime/session/session.ts";
import { weightsFor } from "./grad_check.ts";
import { differences, type Tolerance } from "./compare.ts";
import { differentiable, tapeGradients } from "./gradient_checks.ts";
import { dtypesOf, type OpCase } from "./op_case.ts";
import { isHostInput } from "./run_op.ts";

/** The part of a placeholder's shape that the graph knows. */
interface Form {
  /** Name in messages. */
  readonly name: string;
  /** Hides a part of a shape. */
  readonly blur: (shape: readonly number[]) => PartialShape;
  /** True: host inputs are fed as well. */
  readonly feedsHosts: boolean;
}

const FORMS: readonly Form[] = [
  { name: "known shapes", blur: (s) => s, feedsHosts: false },
  { name: "unknown dimensions", blur: (s) => s.map(() => null), feedsHosts: false },
  { name: "unknown rank", blur: () => null, feedsHosts: false },
  { name: "unknown dimensions, fed host inputs", blur: (s) => s.map(() => null), feedsHosts: true },
];

// The same kernels run, but a graph may fuse them.
const TOLERANCE: Tolerance = { ulps: 256, ulpsOfLargest: 64, absolute: 1e-6 };

/** Runs the op in graphs and compares with its eager outputs; done in the sample's first dtype. */
export async function checkGraph(c: OpCase, outputs: readonly NdArray[]): Promise<void> {
  const { inputs } = c;
  if (c.def.stateful || c.dtype !== dtypesOf(c.def, c.sample)[0]) return;
  const hasHosts = inputs.some((_, i) => isHostInput(c.def, i, inputs.length));
  const forms = FORMS.filter((form) => hasHosts || !form.feedsHosts);
  for (const form of forms) {
    await c.run(
      "graph = eager",
      `${cpuDevice().name}, ${form.name}`,
      async () => compareAll(await runGraph(buildGraph(c, { form })), outputs),
    );
  }
  await c.run("GraphDef round trip", cpuDevice().name, () => roundTrip(c, outputs));
  const { gpu } = c;
  if (gpu !== null && [...inputs, ...outputs].every((a) => gpu.supports(a.dtype))) {
    const tolerance: Tolerance = {
      ulps: c.sample.gpuUlps ?? 512,
      ulpsOfLargest: 128,
      absolute: c.sample.gpuAbsolute ?? 1e-6,
    };
    await c.run("graph = eager", gpu.name, async () => {
      const found = await runGraph(buildGraph(c, { on: gpu.name }));
      return compareAll(found, outputs, tolerance);
    });
  }
  const wrt = differentiable(c);
  if (wrt.length === 0 || (c.def.grad === undefined && c.def.expand === undefined)) return;
  let wanted: readonly (NdArray | null)[] = [];
  try {
    wanted = tapeGradients(c, wrt);
  } catch {
    return; // Reported by the gradient checks.
  }
  for (const form of forms) {
    await c.run("graph gradient = tape gradient", `${cpuDevice().name}, ${form.name}`, async () => {
      const missing = new Set<number>();
      const fetch: Fetch = (ys, xs) => {
        const float = ys.flatMap((y, k) => (isTrainable(y.dtype) ? [k] : []));
        const gradYs = float.map((k) => weightsFor(outputs[k], k));
        const sources = wrt.map((i) => xs[i] as Tensor);
        const grads = gradients(float.map((k) => ys[k]), sources, { gradYs });
        grads.forEach((g, k) => g === null && missing.add(k));
        return grads.filter((g) => g !== null);
      };
      const found = await runGraph(buildGraph(c, { form, fetch }));
      const expected = wanted.filter((_, k) => !missing.has(k));
      if (wanted.some((w, k) => (w === null) !== missing.has(k))) {
        return `gradients of inputs ${
          [...missing].map((k) => wrt[k])
        } are missing in the graph, those of ${
          wanted.flatMap((w, k) => (w === null ? [wrt[k]] : []))
        } by tape`;
      }
      return compareAll(found, expected as NdArray[], TOLERANCE, "gradient");
    });
  }
}

/** Computes the fetched tensors from an op's outputs and inputs. */
type Fetch = (ys: readonly Tensor[], xs: readonly OpInput[]) => readonly Tensor[];

interface Built {
  readonly graph: Graph;
  readonly feeds: ReadonlyMap<Tensor, NdArray>;
  readonly fetches: readonly Tensor[];
}

function buildGraph(
  { def, attrs, inputs }: OpCase,
  { form = FORMS[0], on = cpuDevice().name, fetch = (ys) => ys }: {
    readonly form?: Form;
    readonly on?: string;
    readonly fetch?: Fetch;
  },
): Built {
  const graph = new Graph();
  const feeds = new Map<Tensor, NdArray>();
  const fetches = graph.asDefault(() =>
    device(on, () => {
      const xs = inputs.map((a, i): OpInput => {
        if (isHostInput(def, i, inputs.length) && !form.feedsHosts) return a;
        const p = placeholder(a.dtype, form.blur(a.shape));
        feeds.set(p, a);
        return p;
      });
      return fetch(apply(def, xs, attrs), xs);
    })
  );
  return { graph, feeds, fetches };
}

async function runGraph({ graph, feeds, fetches }: Built): Promise<NdArray[]> {
  if (fetches.length === 0) return [];
  const session = new Session({ graph });
  try {
    const values = await session.run(fetches, { feeds });
    return values.map((v, k) =>
      v instanceof NdArray
        ? v
        : toNdArray(v as ElementValue, { dtype: fetches[k].dtype, shape: [] })
    );
  } finally {
    await session.close();
  }
}

/** Checks that the graph computes the same after writing and reading it as a GraphDef; null where it does. */
async function roundTrip(c: OpCase, outputs: readonly NdArray[]): Promise<string | null> {
  const built = buildGraph(c, { form: FORMS[1] });
  const text = JSON.stringify(built.graph.toGraphDef({ portable: false }));
  const graph = new Graph();
  const names = [...built.feeds.keys(), ...built.fetches].map((t) => t.name);
  const found = graph.asDefault(() =>
    importGraphDef(JSON.parse(text), { prefix: "", returnElements: names })
  ) as Tensor[];
  const feeds = new Map([...built.feeds.values()].map((value, i) => [found[i], value]));
  const again = JSON.stringify(graph.toGraphDef({ portable: false }));
  if (again !== text) {
    return `written again it is another text: ${again.slice(0, 400)}, first it was ${
      text.slice(0, 400)
    }`;
  }
  return compareAll(await runGraph({ graph, feeds, fetches: found.slice(feeds.size) }), outputs);
}

function compareAll(
  found: readonly NdArray[],
  wanted: readonly NdArray[],
  tolerance: Tolerance = TOLERANCE,
  what = "output",
): string | null {
  const [is, be] = [found, wanted].map((arrays) => arrays.map(({ dtype }) => dtype).join(", "));
  if (is !== be) return `${what}s have dtypes ${is || "none"}, wanted ${be || "none"}`;
  return differences(found, wanted, () => tolerance, what);
}
