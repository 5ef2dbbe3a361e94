/** Sums over windows along rows, and local response normalization, which divides by a power of them. Float32. */
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { roundUp } from "../blocks.ts";
import type { Engine } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { pow } from "../wasm/wide_math.ts";
import type { F4 } from "../wasm/simd.ts";
import type { RowWriter } from "./row_writer.ts";
import { type Body, rowKernel, rowsOf } from "./rows.ts";

/** Numbers of the pointers: the last two are a zero-padded row, and the bytes of a radius. */
const Y = 0, X = 1, ROW = 2, RADIUS = 3;

/** Computes for each element `result(sum of f over its window, the element)`. */
function overWindows(w: RowWriter, f: (v: F4) => F4, result: (sum: F4, v: F4) => F4): void {
  const { f: code } = w;
  const reach = code.let(i32.shl(w.pointer(RADIUS), 1));
  const at = code.local("i32"), left = code.local("i32");
  w.each(
    () => {
      w.vectors([X], ([v], { put }) => put(ROW, f(v)), { unroll: 2 });
      w.vectors([X], ([v], { put, address }) => {
        code.set(at, i32.sub(address(ROW), w.pointer(RADIUS)));
        code.set(left, reach);
        const sum = code.variable("f32x4", f32x4.load(i32.add(at, reach)));
        code.while(i32.gt(left, 0), () => {
          code.set(sum, f32x4.add(sum, f32x4.add(f32x4.load(at), f32x4.load(at, 4))));
          code.advance(at, 8);
          code.advance(left, -8);
        });
        put(Y, result(sum, v));
      });
    },
    [],
    [ROW, RADIUS],
  );
}

/** Multiplies elements by a power of `bias + alpha · sum`, by roots where possible. */
function response({ bias, alpha, beta }: Readonly<Record<string, number>>): Body {
  return (w) => {
    const { f, s } = w;
    overWindows(w, (v) => f32x4.mul(v, v), (sum, v) => {
      const scale = f.let(s.madd(sum, s.k(alpha), s.k(bias)));
      const root = (): F4 => f.let(f32x4.sqrt(scale));
      switch (beta) {
        case 0.5:
          return f32x4.div(v, root());
        case 0.75: {
          const r = root();
          return f32x4.div(v, f32x4.mul(r, f32x4.sqrt(r)));
        }
        case 1:
          return f32x4.div(v, scale);
        default:
          return f32x4.mul(v, pow(s, scale, s.k(-beta)));
      }
    });
  };
}

/** Makes a kernel; `name` distinguishes the bodies; `work` is that of an element, without its window. */
function windowKernel(
  engine: Engine,
  { dtype, shape }: ConcreteSpec,
  radius: number,
  { name, body, work }: { readonly name: string; readonly body: Body; readonly work: number },
): FastRun | null {
  if (dtype !== "float32") return null;
  const { m, n } = rowsOf(shape);
  if (m === 0) return () => {};
  const run = rowKernel(engine, `window ${name}`, 4, body);
  const reach = Math.min(radius, n - 1), room = roundUp(4 * (n + 2 * reach + 4));
  const pieces = { count: m, work: m * n * (2 * reach + work), room };
  return ([y], [p]) => {
    engine.inParts(run, pieces, (from, size, at) => {
      engine.zero(at, room);
      const start = 4 * from * n;
      return [y + start, p + start, at + 4 * reach, 4 * reach, size, n];
    });
  };
}

export const prepareWindowSum: FastPrepare = (engine, { inputs: [x], attrs: { radius } }) => {
  const body: Body = (w) => overWindows(w, (v) => v, (sum) => sum);
  return windowKernel(engine, x, radius, { name: "sum", body, work: 30 });
};

export const prepareResponse: FastPrepare = (engine, { inputs: [x], attrs }) => {
  const { depth_radius: radius, bias, alpha, beta } = attrs;
  const name = `response ${bias} ${alpha} ${beta}`, body = response({ bias, alpha, beta });
  const work = [0.5, 0.75, 1].includes(beta) ? 30 : 80;
  return windowKernel(engine, x, radius, { name, body, work });
};
