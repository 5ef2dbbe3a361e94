/**
 * Depthwise convolution of one row of places: the filter of four channels stays in registers while four places at a time pass by.
 * Rows are padded, so nothing read lies outside.
 * May import this folder.
 */
import type { Engine, WasmFunction } from "./engine.ts";
import { f32x4, i32 } from "./wasm/instructions.ts";
import type { Local } from "./wasm/function_builder.ts";
import { type F4, type HostImports, Simd } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";
import type { ModuleBuilder } from "./wasm/module_builder.ts";
import { storePart } from "./windows.ts";

type I = Local<"i32">;

/** Places computed together. */
const PLACES = 4;

/** A window: taps along both axes, and the step between places of a row. */
export interface RowWindow {
  readonly height: number;
  readonly width: number;
  readonly stride: number;
}

/** Makes the result of sums; `channel` is the offset of the channels in hand, in bytes. */
export type RowFinish = (s: Simd, sum: F4, operands: readonly I[], channel: Value<"i32">) => F4;

/**
 * `run(out, image, filter, places, channels, imageRow, …operands)`: one row of the result. `imageRow` is the distance of rows of
 * the padded image in bytes.
 */
export function depthwiseRow(
  engine: Engine,
  window: RowWindow,
  finish: {
    key: string;
    operands: number;
    apply: RowFinish;
    imports: (m: ModuleBuilder) => HostImports;
  } | undefined,
): WasmFunction {
  const { height, width, stride } = window;
  return engine.compile(`depthwise row ${height} ${width} ${stride} ${finish?.key}`, (m) => {
    const hosts = finish?.imports(m);
    const params = new Array<"i32">(6 + (finish?.operands ?? 0)).fill("i32");
    m.function("run", params, null, (f, ...p) => {
      const [out, image, filter, places, channels, imageRow, ...operands] = p as unknown as I[];
      const s = new Simd(f, engine.features.relaxed, hosts);
      const step = f.let(i32.shl(channels, 2));
      const each = <T>(count: number, make: (i: number) => T): T[] =>
        Array.from({ length: count }, (_, i) => make(i));
      const channel = f.variable("i32", 0), left = f.variable("i32", channels);
      const sums = each(PLACES, () => f.local("f32x4"));
      const to = f.local("i32"), rest = f.local("i32");
      const rows = each(height, () => f.local("i32"));
      const taps = each(height, () => each(width, () => f.local("f32x4")));
      const some = (count: number, part: boolean): void => {
        for (let k = 0; k < count; k++) f.set(sums[k], s.k(0));
        rows.forEach((row, i) => {
          let at: Value<"i32"> = row;
          for (let j = 0; j < (count - 1) * stride + width; j++) {
            if (j > 0) at = f.let(i32.add(at, step));
            const v = f.let(f32x4.load(at));
            for (let k = 0; k < count; k++) {
              const tap = taps[i][j - k * stride];
              if (tap) f.set(sums[k], s.madd(v, tap, sums[k]));
            }
          }
          f.advance(row, i32.mul(step, count * stride));
        });
        for (let k = 0; k < count; k++) {
          const v = finish ? f.let(finish.apply(s, sums[k], operands, channel)) : sums[k];
          if (part) storePart(f, to, v, left);
          else f.store(to, v);
          f.advance(to, step);
        }
      };
      const column = (part: boolean): void => {
        let at: Value<"i32"> = i32.add(filter, channel);
        taps.flat().forEach((tap, i) => {
          if (i > 0) at = i32.add(at, step);
          at = f.let(at);
          f.set(tap, f32x4.load(at));
        });
        rows.forEach((row, i) =>
          f.set(row, i === 0 ? i32.add(image, channel) : i32.add(rows[i - 1], imageRow))
        );
        f.set(to, i32.add(out, channel));
        f.set(rest, places);
        f.while(i32.ge(rest, PLACES), () => {
          some(PLACES, part);
          f.advance(rest, -PLACES);
        });
        f.while(i32.gt(rest, 0), () => {
          some(1, part);
          f.advance(rest, -1);
        });
      };
      f.while(i32.ge(left, 4), () => {
        column(false);
        f.advance(channel, 16);
        f.advance(left, -4);
      });
      f.if(i32.gt(left, 0), () => column(true));
    });
  }).run;
}

/** `run(gradient, image, dy, places, channels, imageRow)`: adds what one row of the result gives to the filter's gradient. */
export function depthwiseFilterRow(
  engine: Engine,
  { height, width, stride }: RowWindow,
): WasmFunction {
  return engine.compile(`depthwise filter row ${height} ${width} ${stride}`, (m) => {
    m.function("run", new Array<"i32">(6).fill("i32"), null, (f, ...p) => {
      const [gradient, image, dy, places, channels, imageRow] = p as unknown as I[];
      const s = new Simd(f, engine.features.relaxed);
      const step = f.let(i32.shl(channels, 2)), jump = f.let(i32.mul(step, stride));
      const each = <T>(count: number, make: (i: number) => T): T[] =>
        Array.from({ length: count }, (_, i) => make(i));
      const channel = f.variable("i32", 0), left = f.variable("i32", channels);
      const rows = each(height, () => f.local("i32"));
      const taps = each(height, () => each(width, () => f.local("f32x4")));
      const from = f.local("i32"), to = f.local("i32");
      const column = (part: boolean): void => {
        taps.flat().forEach((tap) => f.set(tap, s.k(0)));
        rows.forEach((row, i) =>
          f.set(row, i === 0 ? i32.add(image, channel) : i32.add(rows[i - 1], imageRow))
        );
        f.set(from, i32.add(dy, channel));
        f.times(places, () => {
          const g = f.let(f32x4.load(from));
          rows.forEach((row, i) => {
            let at: Value<"i32"> = row;
            taps[i].forEach((tap, j) => {
              if (j > 0) at = f.let(i32.add(at, step));
              f.set(tap, s.madd(f32x4.load(at), g, tap));
            });
            f.advance(row, jump);
          });
          f.advance(from, step);
        });
        f.set(to, i32.add(gradient, channel));
        taps.flat().forEach((tap) => {
          const sum = f.let(f32x4.add(f32x4.load(to), tap));
          if (part) storePart(f, to, sum, left);
          else f.store(to, sum);
          f.advance(to, step);
        });
      };
      f.while(i32.ge(left, 4), () => {
        column(false);
        f.advance(channel, 16);
        f.advance(left, -4);
      });
      f.if(i32.gt(left, 0), () => column(true));
    });
  }).run;
}
