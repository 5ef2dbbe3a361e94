/**
 * Sums over windows along rows, and local response normalization, which divides by a power of them. Float32.
 */
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { roundUp } from "../blocks.ts";
import type { Engine } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { pow } from "../wasm/wide_math.ts";
import type { F4 } from "../wasm/simd.ts";
import type { RowWriter } from "./row_writer.ts";
import { rowKernel, rowsOf } from "./rows.ts";

/** Numbers of the pointers: the last three are a row with zeros around it, the bytes of a radius, and constants. */
const Y = 0, X = 1, ROW = 2, RADIUS = 3, CONSTANTS = 4;

/** For each element `result(sum of f over its window, the element)`. */
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
    [ROW, RADIUS, CONSTANTS],
  );
}

/** Bodies by name: sums alone, and responses for the exponents that roots make and for others. */
function bodyOf(name: string): (w: RowWriter) => void {
  if (name === "sum") return (w) => overWindows(w, (v) => v, (sum) => sum);
  return (w) => {
    const { f, s } = w;
    const bias = f.let(f32x4.loadSplat(w.pointer(CONSTANTS)));
    const alpha = f.let(f32x4.loadSplat(w.pointer(CONSTANTS), 4));
    const power = f.let(f32x4.loadSplat(w.pointer(CONSTANTS), 8));
    overWindows(w, (v) => f32x4.mul(v, v), (sum, v) => {
      const scale = f.let(s.madd(sum, alpha, bias));
      const root = (): F4 => f.let(f32x4.sqrt(scale));
      switch (name) {
        case "response 0.5":
          return f32x4.div(v, root());
        case "response 0.75": {
          const r = root();
          return f32x4.div(v, f32x4.mul(r, f32x4.sqrt(r)));
        }
        case "response 1":
          return f32x4.div(v, scale);
        default:
          return f32x4.mul(v, pow(s, scale, power));
      }
    });
  };
}
const ROOTS: readonly number[] = [0.5, 0.75, 1];

/** Constants of a call: what is added, what sums are multiplied by, and the exponent. */
interface Constants {
  readonly bias: number;
  readonly alpha: number;
  readonly power: number;
}
const CONSTANT_BYTES = 64;

function windowKernel(
  engine: Engine,
  name: string,
  { x, radius, constants }: {
    readonly x: ConcreteSpec;
    readonly radius: number;
    readonly constants: Constants;
  },
): FastRun | null {
  if (x.dtype !== "float32") return null;
  const { m, n } = rowsOf(x.shape);
  if (m === 0) return () => {};
  const run = rowKernel(engine, `window ${name}`, 5, bodyOf(name));
  const reach = Math.min(radius, n - 1);
  const rowBytes = roundUp(4 * (n + 2 * reach + 4));
  const work = m * n * (2 * reach + (name === "response" ? 80 : 30));
  const room = CONSTANT_BYTES + rowBytes;
  return ([y], [p]) => {
    engine.inParts(run, { count: m, work, room }, (from, size, at) => {
      engine.heap.f32.set([constants.bias, constants.alpha, constants.power], at >>> 2);
      engine.zero(at + CONSTANT_BYTES, rowBytes);
      const row = at + CONSTANT_BYTES + 4 * reach, start = 4 * from * n;
      return [y + start, p + start, row, 4 * reach, at, size, n];
    });
  };
}

export const prepareWindowSum: FastPrepare = (engine, { inputs: [x], attrs: { radius } }) =>
  windowKernel(engine, "sum", { x, radius, constants: { bias: 0, alpha: 1, power: 1 } });

export const prepareResponse: FastPrepare = (engine, { inputs: [x], attrs }) => {
  const { depth_radius: radius, bias, alpha, beta } = attrs;
  const name = ROOTS.includes(beta) ? `response ${beta}` : "response";
  return windowKernel(engine, name, { x, radius, constants: { bias, alpha, power: -beta } });
};
