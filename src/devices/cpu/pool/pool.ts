/**
 * Poolings over two and three axes and their gradients. Channels last, float32.
 */
import type { MeaningOf } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import {
  spatialAxes,
  type WindowGeometry,
  windowGeometry,
} from "../../../kernels/conv/geometry.ts";
import type { Engine } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import type { F4, I4 } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { prepareAverageGradient, prepareFolds } from "./pool_folds.ts";
import { prepareGradient } from "./pool_gradient.ts";
import { prepareRows } from "./pool_rows.ts";
import { type WindowCode, windowKernel, WindowTable } from "./windows.ts";

type I = Local<"i32">;

/** The geometry of a pooling of an input of this shape, or null where channels come first. */
function poolGeometry(shape: readonly number[], { attrs }: Problem): WindowGeometry | null {
  const ksize = attrs.ksize as readonly number[];
  const g = windowGeometry(
    shape,
    spatialAxes(shape.length, false).map((a) => ksize[a]),
    shape[shape.length - 1],
    attrs,
  );
  return g.channelsFirst ? null : g;
}

const at = (base: I, offset: I, channel: I) => i32.add(i32.add(base, offset), channel);

/** Greatest elements; NaN is passed over. */
function greatest(w: WindowCode, x: I): Local<"f32x4">[] {
  const top = Array.from({ length: w.width }, () => w.f.variable("f32x4", w.s.k(-Infinity)));
  w.taps((image) =>
    w.load(at(x, image, w.channel)).forEach((v, u) => w.f.set(top[u], f32x4.pmax(top[u], v)))
  );
  return top;
}

/** The kernel of a pooling or its gradient. */
export function preparePool(
  engine: Engine,
  problem: Problem,
  { takes, gives }: MeaningOf<"window">,
): FastRun | null {
  const isMax = takes === "max";
  if (gives === "gradient") return (isMax ? prepareMaxGrad : prepareAverageGrad)(engine, problem);
  const [x] = problem.inputs, kind = isMax ? "max" : "average";
  const g = x.dtype === "float32" ? poolGeometry(x.shape, problem) : null;
  if (g === null) return null;
  const run = prepareRows(engine, g, kind) ?? prepareFolds(engine, g, kind);
  return ([y], [p]) => run(y, p);
}

/** Zeroes a block. */
function clear(engine: Engine, p: Pointer, shape: readonly number[]): void {
  engine.zero(p, 4 * shape.reduce((n, d) => n * d, 1));
}

const prepareMaxGrad: FastPrepare = (engine, problem) => {
  const { inputs: [x, , dy], outputs: [dx] } = problem;
  const g = x.dtype === "float32" && dy.dtype === "float32" ? poolGeometry(x.shape, problem) : null;
  if (g === null) return null;
  const small = prepareGradient(engine, g, "max");
  if (small) return ([to], [p, , grad]) => small(to, p, grad);
  const table = new WindowTable(g);
  const run = windowKernel(engine, "max gradient", 3, (w, [to, p, grad]) => {
    const { f } = w;
    const top = greatest(w, p);
    const open = w.load(at(grad, w.out, w.channel)).map((v) => f.variable("f32x4", v));
    const give = (image: Value<"i32">, masks: readonly I4[]): void => {
      const here = f.let(i32.add(i32.add(to, image), w.channel));
      const d = w.load(here);
      w.store(
        here,
        d.map((e, u) => f.let(f32x4.add(e, f32x4.and(open[u], f32x4.ofBits(masks[u]))))),
      );
      masks.forEach((m, u) => f.set(open[u], f32x4.andNot(open[u], f32x4.ofBits(m))));
    };
    // Each gradient goes to the first tap that equals the maximum, and is then spent.
    w.taps((image) => {
      const v = w.load(at(p, image, w.channel));
      give(image, v.map((e, u) => f.let(f32x4.eq(e, top[u]))));
    });
    // What no tap took belongs to a window of NaN, and goes to its first tap.
    const left = open.map((v) => i32x4.ofBits(v)).reduce((a, b) => i32x4.or(a, b));
    f.if(
      i32.and(i32.anyTrue(left), i32.gt(w.count, 0)),
      () => give(w.first, open.map(() => w.s.i(-1))),
    );
  });
  return ([to], [p, , grad]) => {
    clear(engine, to, dx.shape);
    run(table, [[to, "image"], [p, "image"], [grad, "result"]]);
  };
};

const prepareAverageGrad: FastPrepare = (engine, problem) => {
  const { inputs: [, dy], outputs: [dx] } = problem;
  const g = dy.dtype === "float32" ? poolGeometry(dx.shape, problem) : null;
  if (g === null) return null;
  const small = prepareGradient(engine, g, "average");
  if (small) return ([to], [, grad]) => small(to, 0, grad);
  const folds = prepareAverageGradient(engine, g);
  if (folds) return ([to], [, grad]) => folds(to, grad);
  const table = new WindowTable(g);
  const run = windowKernel(engine, "average gradient", 2, (w, [to, grad]) => {
    const { f } = w;
    const count = f.let(f32x4.ofI32(i32x4.splat(w.count)));
    const share = w.load(at(grad, w.out, w.channel)).map((v): F4 => f.let(f32x4.div(v, count)));
    w.taps((image) => {
      const here = f.let(at(to, image, w.channel));
      w.store(here, w.load(here).map((d, u) => f.let(f32x4.add(d, share[u]))));
    });
  });
  return ([to], [, grad]) => {
    clear(engine, to, dx.shape);
    run(table, [[to, "image"], [grad, "result"]]);
  };
};
