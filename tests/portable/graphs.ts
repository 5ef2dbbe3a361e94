/** Graphs that hold what TensorFlow does not know: every op of our own by its samples, and loops over rows. */
import * as tf from "@weft/weft";
import { apply } from "../../src/engine/core/apply.ts";
import { argOfInput, type OpDef, registeredOps } from "../../src/engine/core/op.ts";
import { dtypesOf } from "../../src/library/testing/op_case.ts";
import { drawInputs, type OpSample } from "../../src/library/testing/op_sample.ts";
import { FAMILIES } from "../op_samples/mod.ts";

/** A graph to be written, what it is fed and what is read. */
export interface Case {
  readonly name: string;
  /** The op that it is about, or the program. */
  readonly op: string;
  readonly graph: tf.Graph;
  readonly feeds: Readonly<Record<string, tf.NdArray>>;
  readonly fetches: readonly string[];
  /** The operation to be run first, where there are variables. */
  readonly init?: string;
}

const samples = Object.assign({}, ...Object.values(FAMILIES)) as Record<
  string,
  readonly OpSample[]
>;

/** Ops whose parts are written. */
export function opsInParts(): OpDef[] {
  return registeredOps().filter(({ portable }) =>
    portable === "parts" || typeof portable === "object" && "mostInputs" in portable
  );
}

/** An op on each of its samples, with all shapes known or no dimension. */
export function casesOf(def: OpDef): Case[] {
  return (samples[def.name] ?? []).flatMap((sample, k) =>
    [true, false].map((known) =>
      caseOf(def, sample, { known, name: `${def.name} ${k} ${known ? "known" : "unknown"}` })
    )
  );
}

function caseOf(
  def: OpDef,
  sample: OpSample,
  { known, name }: { readonly known: boolean; readonly name: string },
): Case {
  const dtypes = dtypesOf(def, sample);
  const inputs = drawInputs(sample, dtypes.includes("float32") ? "float32" : dtypes[0]);
  const graph = new tf.Graph();
  const feeds: Record<string, tf.NdArray> = {};
  const fetches = graph.asDefault(() => {
    const xs = inputs.map((a, i) => {
      if (def.signature.isHostInput[argOfInput(def, i, inputs.length)]) return a;
      const p = tf.placeholder(a.dtype, known ? a.shape : a.shape.map(() => null), `x${i}`);
      feeds[p.name] = a;
      return p;
    });
    return apply(def, xs, sample.attrs ?? {}).map((t) => t.name);
  });
  return { name, op: def.name, graph, feeds, fetches };
}

type Build = (x: tf.Tensor, y: tf.Tensor) => tf.Tensor | readonly tf.Tensor[];

const X = new tf.NdArray("float32", [2, 3], Float32Array.of(1, -2, 3, 0.5, 4, -1));
const Y = new tf.NdArray("float32", [3], Float32Array.of(0.5, -1, 2));

/** Programs that have more than one op: `x` is 2 × 3, `y` has 3 elements. */
const PROGRAMS: Readonly<Record<string, Build>> = {
  "mapFn() of what it captures": (x, y) => tf.mapFn((r) => tf.add(tf.mul(r, y), 1), x),
  "mapFn() of several": (x) =>
    tf.mapFn((r) => [tf.sum(r), tf.gelu(r)], x) as unknown as readonly tf.Tensor[],
  "mapFn() in mapFn()": (x) => tf.mapFn((r) => tf.mapFn((v) => tf.mul(v, v), r), x),
  "scan()": (x, y) => tf.scan((a, r) => tf.add(tf.mul(a, 0.5), r), x, { initializer: y }),
  "scan() backwards": (x, y) =>
    tf.scan((a, r) => tf.sub(r, a), x, { initializer: y, reverse: true }) as tf.Tensor,
  "foldl()": (x, y) => tf.foldl((a, r) => tf.add(tf.mul(a, 2), r), x, { initializer: y }),
  "foldr()": (x, y) => tf.foldr((a, r) => tf.add(tf.mul(a, 2), r), x, { initializer: y }),
  "mapFn() in a function": (x) =>
    tf.function((t: tf.Tensor) => tf.mapFn((r) => tf.softmax(r), t))(x),
  "whileLoop() and cond() with ops of our own": (x) =>
    tf.cond(
      tf.greater(tf.sum(x), 0),
      () =>
        tf.whileLoop((i) => tf.less(i, 3), (i, t) => [tf.add(i, 1), tf.gelu(t)], [
          tf.scalar(0),
          x,
        ])[1],
      () => tf.logSigmoid(x),
    ),
  "a customGrad()": (x) =>
    tf.customGrad((t) => ({
      value: tf.mul(t as tf.Tensor, 3),
      gradFunc: (dy: tf.Tensor) => dy,
    }))(x),
  "a recomputeGrad() and its gradient": (x, y) => {
    const z = tf.recomputeGrad((x: tf.Tensor, y: tf.Tensor) => tf.tanh(tf.mul(x, y)))(x, y);
    return [z, ...tf.gradients(tf.sum(z), [x, y]) as tf.Tensor[]];
  },
  "a tensor list of another file, and its gradient": imported,
  "gradients of a gather, a softmax and a broadcast sum": (x, y) =>
    tf.gradients(
      tf.sum(tf.mul(tf.softmax(tf.gather(tf.mul(x, y), [1, 0, 1])), x.staticShape ? 2 : 1)),
      [x, y],
    ) as readonly tf.Tensor[],
  "gradients of a layer norm and a cumprod": (x, y) =>
    tf.gradients(tf.sum(tf.square(tf.cumprod(tf.mul(tf.gelu(x), y), 1))), [
      x,
      y,
    ]) as readonly tf.Tensor[],
  "a variable that is assigned and read in turn": (x) => {
    const v = tf.variable([1, 2, 3], true, "v");
    const added = v.assignAdd(tf.sum(x, 0)) as unknown as tf.Tensor;
    return [added, tf.controlDependencies([added.op as tf.Operation], () => tf.mul(v, 2))];
  },
  "a step of Adam": (x, y) =>
    trained(() => {
      const w = tf.variable([1, 2, 3], true, "w");
      const loss = tf.sum(tf.square(tf.sub(tf.mul(w, tf.sum(x, 0)), y)));
      return { w, step: new tf.compat.v1.train.AdamOptimizer(0.1).minimize(loss) };
    }),
  "steps of version 1: momentum, and Adagrad on rows": (x) => {
    const v1 = tf.compat.v1;
    const table = v1.getVariable("table", { initializer: [[1, 2, 3], [4, 5, 6]] });
    const loss = tf.sum(tf.square(tf.mul(tf.gather(table, [1, 1]), x)));
    const dense = v1.getVariable("dense", { initializer: [1, 2, 3] });
    return [
      trained(() => ({
        w: table,
        step: new v1.train.AdagradOptimizer(0.5).minimize(loss, { varList: [table] }),
      })),
      trained(() => ({
        w: dense,
        step: new v1.train.MomentumOptimizer(0.5, 0.9).minimize(tf.sum(tf.pow(dense, 3)), {
          varList: [dense],
        }),
      })),
    ];
  },
  "functions of functions, and their gradients": (x, y) => {
    const inner = tf.function((t: tf.Tensor) => tf.softmax(tf.mul(t, y)));
    const outer = tf.function((t: tf.Tensor) => tf.sum(tf.square(inner(t) as tf.Tensor)));
    const loss = outer(x) as tf.Tensor;
    return [loss, ...tf.gradients(loss, [x, y]) as tf.Tensor[]];
  },
  "one of several branches": (x, y) =>
    tf.switchCase(tf.cast(tf.reshape(tf.slice(y, [2], [1]), []), "int32"), [
      () => tf.sum(x),
      () => tf.mean(x),
      () => tf.logSumExp(tf.mul(x, y)),
    ]),
  "a loop that writes an array": (x) =>
    tf.whileLoop((i) => tf.less(i, 4), (i, rows) => [
      tf.add(i, 1),
      rows.write(i, tf.mul(tf.sum(x, 0), tf.cast(i, "float32"))),
    ], [
      tf.scalar(0, "int32"),
      new tf.TensorArray("float32", 4, { elementShape: [3] }),
    ] as [tf.Tensor, tf.TensorArray])[1].stack(),
  "a small convolutional network and its gradients": (x) => {
    const image = tf.reshape(tf.tile(x, [4, 2]), [2, 4, 6, 1]);
    const filter = tf.reshape(tf.sin(tf.range(0, 18)), [3, 3, 1, 2]);
    const found = tf.maxPool(tf.relu(tf.conv2d(image, filter, 1, "same")), 2, 2, "valid");
    return [found, ...tf.gradients(tf.sum(tf.square(found)), [filter, image]) as tf.Tensor[]];
  },
  "attention and a layer norm": (x) => {
    const q = tf.reshape(tf.concat([x, tf.neg(x)]), [1, 1, -1, 3]);
    const seen = tf.layerNorm(tf.scaledDotProductAttention(q, q, q) as tf.Tensor, [1, 2, 3], [
      0,
      1,
      0,
    ]);
    return [seen, tf.gradients(tf.sum(tf.pow(seen, 3)), x)[0]!];
  },
  "slices, products and a clip, and second derivatives": (x, y) => {
    const part = tf.stridedSlice(x, [0, 2], [2, -4], [1, -2]);
    const loss = tf.sum(tf.tensordot(tf.square(part), tf.einsum("i,j->ij", y, y), 0));
    const [clipped] = tf.clipByGlobalNorm(tf.gradients(loss, [x, y]), 2);
    return [...clipped as tf.Tensor[], tf.hessians(loss, y)[0]];
  },
  "spectra": (x, y) => {
    const loss = tf.sum(tf.square(tf.real(tf.mul(tf.rfft(tf.mul(x, y)), tf.complex(0.5, 2)))));
    return [loss, tf.gradients(loss, x)[0]!];
  },
  "ragged rows": (x) => {
    const rows = tf.RaggedTensor.fromRowLengths(tf.reshape(x, [-1]), [1, 0, 3, 2]);
    return [tf.ragged.sum(rows, 1) as tf.Tensor, rows.toTensor({ defaultValue: 7 })];
  },
  "a check that holds": (x) =>
    tf.controlDependencies(
      [tf.Assert(tf.less(tf.sum(x), 100), ["too large", x])!],
      () => tf.neg(x),
    ),
};

/** A model's training: what `step` gives when it has run. */
function trained(make: () => { readonly w: tf.Tensor; readonly step: tf.Operation }) {
  const { w, step } = make();
  return tf.controlDependencies([step], () => tf.mul(w, 1));
}

/** A list that another file fills: rows `x[0]`, `y`, then one more is added. */
function imported(x: tf.Tensor, y: tf.Tensor): readonly tf.Tensor[] {
  const float = { type: "DT_FLOAT" };
  const int = (
    name: string,
    value: number,
    dims: { size: string }[] = [],
  ): tf.GraphDefJson["node"][number] => ({
    name,
    op: "Const",
    attr: {
      dtype: { type: "DT_INT32" },
      value: { tensor: { dtype: "DT_INT32", tensorShape: { dim: dims }, intVal: [value] } },
    },
  });
  const node = (name: string, op: string, input: string[]): tf.GraphDefJson["node"][number] => ({
    name,
    op,
    input,
    attr: { element_dtype: float },
  });
  const [rows, written] = tf.importGraphDef({
    versions: { producer: 2474 },
    node: [
      int("shape", -1, [{ size: "1" }]),
      int("two", 2),
      int("zero", 0),
      int("one", 1),
      node("empty", "TensorListReserve", ["shape", "two"]),
      node("first", "TensorListSetItem", ["empty", "zero", "y"]),
      node("second", "TensorListSetItem", ["first", "one", "y"]),
      node("again", "TensorListSetItem", ["second", "zero", "y"]),
      node("third", "TensorListPushBack", ["again", "y"]),
      node("all", "TensorListStack", ["third", "shape"]),
      node("written", "TensorListStack", ["again", "shape"]),
    ],
  }, { inputMap: { y: tf.mul(y, y) }, returnElements: ["all:0", "written:0"] }) as tf.Tensor[];
  const used = tf.add(tf.sum(tf.mul(written, written)), tf.sum(x));
  return [rows, ...tf.gradients(used, [y]) as tf.Tensor[]];
}

/** Names of programs. */
export const PROGRAM_NAMES: readonly string[] = Object.keys(PROGRAMS);

/** A program as a graph. */
export function program(name: string): Case {
  const graph = new tf.Graph();
  const rest = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 3], "x"), y = tf.placeholder("float32", [3], "y");
    const made = PROGRAMS[name](x, y);
    const { globalVariables, globalVariablesInitializer } = tf.compat.v1;
    const init = globalVariables().length > 0 ? globalVariablesInitializer().name : undefined;
    const fetches = (Array.isArray(made) ? made : [made]).map((t: tf.Tensor) => t.name);
    return { fetches, ...(init === undefined ? {} : { init }) };
  });
  return { name, op: name, graph, feeds: { "x:0": X, "y:0": Y }, ...rest };
}

/** Computes a graph in a session of its own. */
export async function run(
  graph: tf.Graph,
  fetches: readonly tf.Tensor[],
  { feeds, init }: Case,
): Promise<tf.NdArray[]> {
  await using session = new tf.Session({ graph });
  if (init !== undefined) await session.run(graph.getOperationByName(init));
  const values = await session.run([...fetches], { feeds });
  return (values as unknown[]).map((v, k) =>
    v instanceof tf.NdArray ? v : tf.constant(v as number, fetches[k].dtype).ndarraySync()
  );
}

/** Programs and ops, all of them. */
export function allCases(): Case[] {
  return [...PROGRAM_NAMES.map(program), ...opsInParts().flatMap(casesOf)];
}
