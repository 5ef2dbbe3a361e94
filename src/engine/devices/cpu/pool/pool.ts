/** Poolings over two and three axes and their gradients. Channels last, float32. */
import type { MeaningOf } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { inPlaces, spatialAxes, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { I } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import type { I4 } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { prepareAverageGradient, prepareFolds } from "./pool_folds.ts";
import { prepareGradient } from "./pool_gradient.ts";
import type { PoolKind } from "./pool_parts.ts";
import { prepareRows } from "./pool_rows.ts";
import { floatWindow, type WindowCode, windowKernel, windowTable } from "./windows.ts";

export function preparePool(
  engine: Engine,
  problem: Problem,
  { takes, gives }: MeaningOf<"window">,
): FastRun | null {
  if (gives !== "result" && gives !== "gradient") return null;
  const kind: PoolKind = takes === "max" ? "max" : "average";
  const { shape } = gives === "gradient" ? problem.outputs[0] : problem.inputs[0];
  const ksize = problem.attrs.ksize as readonly number[];
  const filter = spatialAxes(shape.length, false).map((axis) => ksize[axis]);
  const g = floatWindow(problem, shape, filter, shape[shape.length - 1]);
  if (g === null) return null;
  if (gives === "gradient") return prepareAnyGradient(engine, g, kind);
  return prepareRows(engine, g, kind) ?? prepareFolds(engine, g, kind);
}

/**
 * Prepares any gradient. Its inputs end with the gradient of the result; for the maximum they begin with the images.
 */
function prepareAnyGradient(engine: Engine, g: WindowGeometry, kind: PoolKind): FastRun {
  const few = prepareGradient(engine, g, kind), isMax = kind === "max";
  if (few) return few;
  const folds = isMax ? null : prepareAverageGradient(engine, g);
  if (folds) return (outs, [, grad]) => folds(outs, [grad]);
  const table = windowTable(g), bytes = 4 * g.batch * inPlaces(g) * g.channels;
  const run = isMax
    ? windowKernel(engine, "max gradient", 3, writeMaxGradient)
    : windowKernel(engine, "average gradient", 2, writeAverageGradient);
  return ([to], ins) => {
    engine.zero(to, bytes);
    const images = isMax ? [[ins[0], "image"] as const] : [];
    run(table, [[to, "image"], ...images, [ins[ins.length - 1], "result"]]);
  };
}

function writeMaxGradient(w: WindowCode, [to, x, grad]: readonly I[]): void {
  const { f, s } = w;
  // NaN is ignored.
  const top = Array.from({ length: w.width }, () => f.variable("f32x4", s.k(-Infinity)));
  w.taps((image) => w.load(w.at(x, image)).forEach((v, u) => f.set(top[u], f32x4.pmax(top[u], v))));
  const open = w.load(w.at(grad, w.out)).map((v) => f.variable("f32x4", v));
  const give = (image: Value<"i32">, masks: readonly I4[]): void => {
    w.update(w.at(to, image), (d, u) => f32x4.add(d, f32x4.and(open[u], f32x4.ofBits(masks[u]))));
    masks.forEach((m, u) => f.set(open[u], f32x4.andNot(open[u], f32x4.ofBits(m))));
  };
  // Each gradient goes to the first tap that equals the maximum.
  w.taps((image) => give(image, w.load(w.at(x, image)).map((v, u) => f.let(f32x4.eq(v, top[u])))));
  // A gradient without such a tap belongs to a window of NaN, and goes to its first tap.
  const left = open.map((v) => i32x4.ofBits(v)).reduce((a, b) => i32x4.or(a, b));
  const isLeft = i32.and(i32.anyTrue(left), i32.gt(w.count, 0));
  f.if(isLeft, () => give(w.first, open.map(() => s.i(-1))));
}

function writeAverageGradient(w: WindowCode, [to, grad]: readonly I[]): void {
  const count = w.f.let(f32x4.ofI32(i32x4.splat(w.count)));
  const share = w.load(w.at(grad, w.out)).map((v) => w.f.let(f32x4.div(v, count)));
  w.taps((image) => w.update(w.at(to, image), (d, u) => f32x4.add(d, share[u])));
}
