/**
 * Kernels of depthwise convolutions: the filters of four channels stay in registers while places pass by.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { type F4, type HostImports, laneNumbers, type Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import type { RowWindow } from "./depthwise_plan.ts";
import { type RowCode, rowWalk } from "./depthwise_walk.ts";

type I = Local<"i32">;

/** What a kernel is made for. */
export interface RowProblem {
  readonly window: RowWindow;
  /** Channels of the image and of the result. */
  readonly channels: number;
  readonly outChannels: number;
}

/** Makes the result of sums; `channel` is the offset of the channels in hand, in bytes. */
export interface RowEpilogue {
  readonly key: string;
  readonly operands: number;
  readonly apply: (s: Simd, sum: F4, operands: readonly I[], channel: Value<"i32">) => F4;
  readonly imports: (m: ModuleBuilder) => HostImports;
}

/** Calls `visit` with the address of each tap's filters. */
function eachTap(
  { s: { f }, step, channel }: RowCode,
  filter: I,
  taps: readonly Local<"f32x4">[],
  visit: (tap: Local<"f32x4">, at: I) => void,
): void {
  const at = f.variable("i32", i32.add(filter, channel));
  taps.forEach((tap, i) => {
    if (i > 0) f.advance(at, step);
    visit(tap, at);
  });
}

function tapLocals(
  { s: { f } }: RowCode,
  { height, width }: RowWindow,
): Local<"f32x4">[][] {
  return Array.from(
    { length: height },
    () => Array.from({ length: width }, () => f.local("f32x4")),
  );
}

/** The convolution; further parameters are the filter and the operands of `epilogue`. */
export function depthwiseRows(
  engine: Engine,
  problem: RowProblem,
  epilogue: RowEpilogue | undefined,
): WasmFunction {
  return rowWalk(engine, {
    ...problem,
    name: `rows ${epilogue?.key}`,
    pointers: 1 + (epilogue?.operands ?? 0),
    imports: epilogue?.imports,
    body: (code, [filter, ...operands]) => {
      const { s, place, step, channel, store } = code, { f } = s;
      const taps = tapLocals(code, problem.window);
      const sums = [0, 1, 2, 3].map(() => f.local("f32x4"));
      return {
        open: () => eachTap(code, filter, taps.flat(), (tap, at) => f.set(tap, f32x4.load(at))),
        begin: (count) => sums.slice(0, count).forEach((sum) => f.set(sum, s.k(0))),
        tap: (v, { i, j, k }) => f.set(sums[k], s.madd(v, taps[i][j], sums[k])),
        end: (count) => {
          let to: Value<"i32"> = place;
          sums.slice(0, count).forEach((sum, k) => {
            if (k > 0) to = f.let(i32.add(to, step));
            store(to, epilogue ? f.let(epilogue.apply(s, sum, operands, channel)) : sum);
          });
        },
        close: () => {},
      };
    },
  });
}

/** Adds to the gradient of the filter; the walk's result is the gradient of the result, the further parameter that of the filter. */
export function depthwiseFilterRows(engine: Engine, problem: RowProblem): WasmFunction {
  return rowWalk(engine, {
    ...problem,
    name: "filter gradient",
    pointers: 1,
    body: (code, [filter]) => {
      const { s, place, step, again, store } = code, { f } = s;
      const taps = tapLocals(code, problem.window);
      const gradients = [0, 1, 2, 3].map(() => f.local("f32x4"));
      return {
        open: () => taps.flat().forEach((tap) => f.set(tap, s.k(0))),
        begin: (count) => {
          let from: Value<"i32"> = place;
          gradients.slice(0, count).forEach((gradient, k) => {
            if (k > 0) from = f.let(i32.add(from, step));
            f.set(gradient, f32x4.load(from));
          });
        },
        tap: (v, { i, j, k }) => f.set(taps[i][j], s.madd(v, gradients[k], taps[i][j])),
        end: () => {},
        close: () => {
          // What the vector before has added is not added again.
          const own = f.let(f32x4.ofBits(i32x4.ge(laneNumbers(f), i32x4.splat(again))));
          eachTap(
            code,
            filter,
            taps.flat(),
            (tap, at) => store(at, f.let(f32x4.add(f32x4.load(at), f32x4.and(tap, own)))),
          );
        },
      };
    },
  });
}
