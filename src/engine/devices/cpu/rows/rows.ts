/**
 * Kernels over rows of the last axis: softmax, its logarithm, cross entropy, and the gradient of layer normalization.
 * Float32; sums are float64.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import { argument, constant, type Expr, scalar } from "../../../core/scalar/expr.ts";
import { type Shape, sizeOf } from "../../../core/shape.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastPrepare } from "../fast.ts";
import { preparePointwise } from "../pointwise/pointwise.ts";
import { importHosts } from "../pointwise/print_simd.ts";
import { settleSums } from "../reduce/settle.ts";
import { f32x4, f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import * as lane from "../wasm/lane_math.ts";
import type { D2, F4 } from "../wasm/simd.ts";
import * as wide from "../wasm/wide_math.ts";
import { type Place, RowWriter } from "./row_writer.ts";
import { LONGEST_ROW, ROWS_AT_ONCE, turnedSoftmax } from "./softmax_turned.ts";

export function rowsOf(shape: Shape): { m: number; n: number } {
  const n = shape.length === 0 ? 1 : shape[shape.length - 1];
  return { m: n === 0 ? 0 : sizeOf(shape) / n, n };
}

export type Body = (w: RowWriter) => void;

/**
 * Makes a kernel of `pointers` addresses, the number of rows and their length; `exprs` are the expressions it prints.
 */
export function rowKernel(
  engine: Engine,
  name: string,
  pointers: number,
  body: Body,
  exprs: readonly Expr[] = [],
): WasmFunction {
  return kernel(
    engine,
    `rows ${name}`,
    pointers + 2,
    (s, p) => body(new RowWriter(s, p.slice(0, pointers), p[pointers], p[pointers + 1])),
    (m) => importHosts(m, exprs),
  );
}

/** Work of an element, in floating point operations: most of it an exponential. */
const HEAVY = 50;

/** `eˣ⁻ᵐ` of each element, and their sum. */
export function exponentials(
  w: RowWriter,
  x: number,
  m: F4,
  use: (e: F4, place: Place) => void,
): D2 {
  const sum = w.sum();
  w.vectors([x], ([v], place) => {
    const e = lane.expNegative(w.s, w.f.let(f32x4.sub(v, m)));
    w.add(sum, e);
    use(e, place);
  }, { fill: -Infinity });
  return w.total(sum);
}

function softmax(log: boolean): Body {
  const [y, x] = [0, 1];
  return log
    ? (w) =>
      w.each(() => {
        const m = w.greatest(x);
        const l = w.narrow(wide.log(w.s, exponentials(w, x, m, () => {})));
        w.vectors([x], ([v], { put }) => put(y, f32x4.sub(f32x4.sub(v, m), l)));
      })
    : (w) =>
      w.each(() => {
        const sum = exponentials(w, x, w.greatest(x), (e, { put }) => put(y, e));
        const factor = w.narrow(f64x2.div(w.s.d(1), sum));
        w.vectors([y], ([e], { put }) => put(y, f32x4.mul(e, factor)), { unroll: 2 });
      });
}

/** Pointers: loss, backprop, features, labels. */
const crossEntropy: Body = (w) => {
  const [loss, g, x, labels] = [0, 1, 2, 3];
  w.each(() => {
    const m = w.greatest(x);
    const sum = exponentials(w, x, m, (e, { put }) => put(g, e));
    const mass = w.sum(), dot = w.sum();
    w.vectors([labels, x], ([l, v]) => {
      w.add(mass, l);
      // Past the end both are 0; a label of 0 adds nothing, whatever the feature.
      w.add(dot, w.f.let(f32x4.mul(l, f32x4.sub(v, m))));
    });
    const log = wide.log(w.s, sum);
    w.putOne(loss, w.narrow(f64x2.sub(f64x2.mul(w.total(mass), log), w.total(dot))));
    const factor = w.narrow(f64x2.div(w.s.d(1), sum));
    w.vectors([g, labels], ([e, l], { put }) => put(g, f32x4.sub(f32x4.mul(e, factor), l)));
  }, [0]);
};

/** Pointers: loss, backprop, features, labels, one number each. */
const sparseCrossEntropy: Body = (w) => {
  const [loss, g, x, labels] = [0, 1, 2, 3];
  w.each(() => {
    const m = w.greatest(x);
    const sum = exponentials(w, x, m, (e, { put }) => put(g, e));
    const at = w.f.let(i32.shl(i32.load(w.pointer(labels)), 2));
    const own = w.f.let(f32x4.sub(f32x4.loadSplat(i32.add(w.pointer(x), at)), m));
    w.putOne(loss, w.narrow(f64x2.sub(wide.log(w.s, sum), f64x2.ofF32(own))));
    const factor = w.narrow(f64x2.div(w.s.d(1), sum));
    w.vectors([g], ([e], { put }) => put(g, f32x4.mul(e, factor)));
    const place = w.f.let(i32.add(w.pointer(g), at));
    w.f.storeLane(place, f32x4.sub(f32x4.loadSplat(place), w.s.k(1)), 4, 0);
  }, [0, 3]);
};

/**
 * Computes mean and `1 / sqrt(variance + epsilon)` of a row; the mean in two parts, the second the rounding error of
 * the first.
 */
function moments(w: RowWriter, x: number, epsilon: number): { mean: F4; rest: F4; scale: F4 } {
  const { f } = w;
  const sum = w.sum();
  w.vectors([x], ([v]) => w.add(sum, v), { unroll: 2 });
  const mean = w.narrow(f64x2.div(w.total(sum), w.length));
  const off = w.sum(), square = w.sum();
  w.vectors([x], ([v], { clear }) => {
    const d = f.let(clear(f32x4.sub(v, mean)));
    w.add(off, d);
    w.add(square, f32x4.mul(d, d));
  }, { unroll: 2 });
  const rest = f.let(f64x2.div(w.total(off), w.length));
  const variance = f64x2.sub(f64x2.div(w.total(square), w.length), f64x2.mul(rest, rest));
  const positive = f64x2.pmax(variance, w.s.d(0));
  return {
    mean,
    rest: w.narrow(rest),
    scale: w.narrow(f64x2.div(w.s.d(1), f64x2.sqrt(f64x2.add(positive, w.s.d(epsilon))))),
  };
}

/** Pointers: dx, float64 sums for scale and offset, dy, x, scale. */
const layerNormGrad = (epsilon: number): Body => (w) => {
  const [dx, dscale, doffset, dy, x, scale] = [0, 1, 2, 3, 4, 5];
  w.each(
    () => {
      const { mean, rest, scale: r } = moments(w, x, epsilon);
      const normal = (v: F4): F4 => w.f.let(f32x4.mul(f32x4.sub(f32x4.sub(v, mean), rest), r));
      const sum = w.sum(), dot = w.sum();
      w.vectors([x, dy, scale], ([v, d, a]) => {
        const g = w.f.let(f32x4.mul(d, a));
        w.add(sum, g);
        w.add(dot, w.f.let(f32x4.mul(g, normal(v))));
      });
      const meanG = w.narrow(f64x2.div(w.total(sum), w.length));
      const meanGH = w.narrow(f64x2.div(w.total(dot), w.length));
      w.vectors([x, dy, scale], ([v, d, a], { put, addTo }) => {
        const h = normal(v);
        const g = f32x4.mul(d, a);
        put(dx, f32x4.mul(r, f32x4.sub(f32x4.sub(g, meanG), f32x4.mul(h, meanGH))));
        addTo(dscale, w.f.let(f32x4.mul(d, h)));
        addTo(doffset, d);
      });
    },
    [],
    [dscale, doffset, scale],
  );
};

export const prepareLayerNormGrad: FastPrepare = (engine, { inputs, outputs, attrs }) => {
  if ([...inputs, ...outputs].some((s) => s.dtype !== "float32")) return null;
  const { m, n } = rowsOf(inputs[1].shape);
  const { epsilon } = attrs, name = `layerNormGrad ${epsilon}`;
  const run = rowKernel(engine, name, 6, layerNormGrad(epsilon));
  const settle = settleSums(engine);
  const width = 8 * n + 64;
  return ([dx, dscale, doffset], [dy, x, scale]) => {
    const sums = engine.scratch(2 * width);
    engine.zero(sums, 2 * width);
    run(dx, sums, sums + width, dy, x, scale, m, n);
    settle(dscale, sums, n, 1);
    settle(doffset, sums + width, n, 1);
  };
};

/** Prepares a softmax: rows are taken several at a time unless they are long, and the rest one by one. */
export function prepareSoftmax(log: boolean): FastPrepare {
  // The result for a single element, which may be NaN or infinite.
  const nothing = scalar.sub(argument(0), argument(0));
  const one = log ? nothing : scalar.add(nothing, constant(1));
  return (engine, { inputs, outputs: [{ shape }] }) => {
    if (inputs[0].dtype !== "float32") return null;
    const { m, n } = rowsOf(shape), multiple = ROWS_AT_ONCE;
    if (n === 1) return preparePointwise(engine, [one], inputs, shape);
    const count = n > LONGEST_ROW ? 0 : m - m % multiple, left = m - count;
    const pieces = { count, work: count * n * HEAVY, multiple, room: 4 * multiple * roundUp(n) };
    const together = count > 0 ? turnedSoftmax(engine, log) : null;
    const single = left > 0 ? rowKernel(engine, `softmax ${log}`, 2, softmax(log)) : null;
    const singles = { count: left, work: left * n * HEAVY };
    return ([y], [x]) => {
      if (together && pieces.work < engine.worthSharing) {
        together(y, x, count, n, engine.scratch(pieces.room));
      } else if (together) {
        engine.inParts(together, pieces, (from, size, room) => {
          const at = 4 * from * n;
          return [y + at, x + at, size, n, room];
        });
      }
      const done = 4 * count * n;
      if (single) engine.alongSteps(single, singles, [y + done, x + done], [4 * n, 4 * n], [n]);
    };
  };
}

export const prepareSparseCrossEntropy: FastPrepare = (
  engine,
  { inputs: [x, labels], outputs },
) => {
  if (
    x.dtype !== "float32" || labels.dtype !== "int32" || outputs.some((s) => s.dtype !== "float32")
  ) return null;
  const { m, n } = rowsOf(x.shape);
  const run = rowKernel(engine, "sparseCrossEntropy", 4, sparseCrossEntropy);
  return ([loss, g], [p, l]) => {
    const { i32: ints } = engine.heap;
    for (let i = 0; i < m; i++) {
      const label = ints[(l >>> 2) + i];
      if (!(label >= 0 && label < n)) {
        throw new InvalidArgumentError(
          `Received a label value of ${label} which is outside the valid range of [0, ${n})`,
        );
      }
    }
    run(loss, g, p, l, m, n);
  };
};

/** Cross entropy of logits with labels that are probabilities. */
export const prepareCrossEntropy: FastPrepare = (engine, { inputs, outputs }) => {
  if ([...inputs, ...outputs].some((s) => s.dtype !== "float32")) return null;
  const { m, n } = rowsOf(inputs[0].shape), row = 4 * n;
  const pieces = { count: m, work: m * n * HEAVY };
  const run = rowKernel(engine, "crossEntropy", 4, crossEntropy);
  return (o, i) => engine.alongSteps(run, pieces, [...o, ...i], [4, row, row, row], [n]);
};
