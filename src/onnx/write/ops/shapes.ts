/** Shapes: asked for, changed, filled, broadcast. */
import {
  compare,
  concat,
  expand,
  filled,
  reshape,
  scalarOf,
  shapeOf,
  squeeze,
  unsqueeze,
  where,
} from "../helpers.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { WriteRules } from "../rule.ts";
import { intsOf, numbers, type Ref } from "../ref.ts";

function same(n: NodeWriter): Ref {
  return n.xs[0];
}

function reshapeRule(n: NodeWriter): Ref {
  const [x, shape] = n.xs, out = n.outputs[0].shape;
  // One extent may follow from the others, so that the known ones stay.
  const known = intsOf(shape) ??
    (out && out.filter((d) => d === null).length <= 1 ? out.map((d) => d ?? -1) : null);
  return reshape(n, x, known !== null && !known.includes(0) ? known : n.wide(shape));
}

function squeezeRule(n: NodeWriter): Ref {
  const axes = n.attrs.squeeze_dims as readonly number[], [x] = n.xs;
  if (axes.length > 0) return squeeze(n, x, axes);
  if (x.shape === null || x.shape.includes(null)) return squeeze(n, x, null);
  return squeeze(n, x, x.shape.flatMap((d, i) => d === 1 ? [i] : []));
}

function sizeRule(n: NodeWriter): Ref {
  const [x] = n.xs;
  if (x.shape !== null && !x.shape.includes(null)) {
    return n.scalar((x.shape as number[]).reduce((a, b) => a * b, 1), n.dtype);
  }
  return n.narrow(n.raw("Size", [x], {}, [{ dtype: "int64", shape: [] }])[0], n.dtype);
}

/** Extents that are 1 take those of the other shape. */
function broadcastArgs(n: NodeWriter): Ref {
  const lengths = n.xs.map((x) => x.shape?.[0] ?? n.lacks("the rank of an input is not known"));
  const rank = Math.max(...lengths);
  const [a, b] = n.xs.map((x, i) => {
    const ones = new Array<number>(rank - lengths[i]).fill(1);
    return ones.length === 0 ? x : concat(n, [n.constant(numbers(x.dtype, ones)), x], 0);
  });
  return where(n, compare(n, "Equal", a, n.scalar(1, a.dtype)), b, a);
}

function rank(n: NodeWriter): Ref {
  const [x] = n.xs;
  if (x.shape !== null) return n.scalar(x.shape.length, n.dtype);
  const [size] = n.raw("Size", [shapeOf(n, x)], {}, [{ dtype: "int64", shape: [] }]);
  return n.narrow(size, n.dtype);
}

export const SHAPES: WriteRules = {
  BroadcastArgs: broadcastArgs,
  BroadcastTo: (n) => expand(n, n.xs[0], n.wide(n.xs[1])),
  EnsureShape: same,
  ExpandDims: (n) => {
    const [axis] = n.ints(1, "the axis"), [x] = n.xs;
    return unsqueeze(n, x, [axis < 0 && x.shape !== null ? axis + x.shape.length + 1 : axis]);
  },
  Fill: (n) => expand(n, n.xs[1], n.wide(n.xs[0])),
  FillNumber: (n) => filled(n, n.wide(n.xs[0]), Number(n.attrs.value), n.dtype),
  Identity: same,
  LinSpace: (n) => {
    const [start, stop, num] = n.xs, count = n.wide(num);
    const at = n.cast(
      n.node("Range", [n.scalar(0, "int64"), scalarOf(n, count), n.scalar(1, "int64")]),
      start.dtype,
    );
    const gaps = n.cast(n.node("Sub", [count, n.scalar(1, "int64")]), start.dtype);
    const most = n.node("Max", [gaps, n.scalar(1, start.dtype)]);
    const step = n.node("Div", [n.node("Sub", [stop, start]), most]);
    return n.node("Add", [start, n.node("Mul", [at, step])]);
  },
  OnesLike: (n) => filled(n, shapeOf(n, n.xs[0]), 1, n.dtype),
  PlaceholderWithDefault: same,
  Range: (n) => n.node("Range", n.xs),
  Rank: rank,
  Reshape: reshapeRule,
  Shape: (n) => n.narrow(shapeOf(n, n.xs[0]), n.dtype),
  Size: sizeRule,
  Squeeze: squeezeRule,
  StopGradient: same,
  Tile: (n) => n.node("Tile", [n.xs[0], n.wide(n.xs[1])], {}, { operands: [0] }),
  ZerosLike: (n) => filled(n, shapeOf(n, n.xs[0]), 0, n.dtype),
  _CheckedGradient: (n) => reshape(n, n.xs[0], n.wide(n.xs[1])),
  _CustomGradient: same,
};
