/**
 * Code that walks the places of depthwise convolutions, vectors of channels at a time, as a {@linkcode RowPlan} says. Whole windows
 * of neighbours are computed together; of others the columns outside are left out.
 * May import this folder.
 */
import { BLOCK_WORDS, PLAN_PARAMS, type RowWindow } from "./depthwise_plan.ts";
import type { Engine, WasmFunction } from "./engine.ts";
import { f32x4, i32, i8x16 } from "./wasm/instructions.ts";
import type { Local } from "./wasm/function_builder.ts";
import { type F4, type HostImports, Simd } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";
import type { ModuleBuilder } from "./wasm/module_builder.ts";

type I = Local<"i32">;

/** Places computed together where their windows lie inside. */
const TOGETHER = [4, 2, 1] as const;
/** One vector of channels while its code is written. */
export interface RowCode {
  /** Vector code. */
  readonly s: Simd;
  /** Address of the place in hand in the result. */
  readonly place: I;
  /** Bytes of all channels of a place of the result. */
  readonly step: Value<"i32">;
  /** Offset of the channels in hand from the first of a place of the result, in bytes. */
  readonly channel: I;
  /** How many of the channels in hand were in the vector before, too. */
  readonly again: I;
  /** Stores a vector, or what of it belongs to the place. */
  store(address: Value<"i32">, v: F4): void;
}

/** What is done with places and what their windows read. */
export interface RowBody {
  /** Before the places of a block. */
  open(): void;
  /** Before the windows of so many places. */
  begin(count: number): void;
  /** A vector that the tap in row `i` and column `j` of the window of place `k` reads. */
  tap(v: F4, tap: { i: number; j: number; k: number }): void;
  /** After the windows of so many places. */
  end(count: number): void;
  /** After the places of a block. */
  close(): void;
}

/** What a kernel is written for. */
export interface RowSpec {
  readonly name: string;
  readonly window: RowWindow;
  /** Channels of the image and of the result. */
  readonly channels: number;
  readonly outChannels: number;
  /** Addresses the body takes: that of the filter, and more. */
  readonly pointers: number;
  readonly imports?: ((m: ModuleBuilder) => HostImports) | undefined;
  readonly body: (code: RowCode, pointers: readonly I[]) => RowBody;
}

const each = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** A kernel over rows; its parameters are those of {@linkcode RowPlan} and the addresses the body takes. */
export function rowWalk(engine: Engine, spec: RowSpec): WasmFunction {
  const { name, channels, outChannels, imports } = spec;
  const { height, width, stride, dilation } = spec.window;
  const kind = { few: outChannels < 4, repeated: outChannels !== channels };
  const key = [name, height, width, stride, dilation, kind.few ? outChannels : "", kind.repeated];
  return engine.compile(`depthwise ${key}`, (m) => {
    const hosts = imports?.(m);
    const params = new Array<"i32">(PLAN_PARAMS + spec.pointers).fill("i32");
    m.function("run", params, null, (f, ...p) => {
      writeWalk(new Simd(f, engine.features.relaxed, hosts), p as unknown as I[], spec, kind);
    });
  }).run;
}

function writeWalk(
  s: Simd,
  p: readonly I[],
  { window, pointers, body, outChannels: channels }: RowSpec,
  { few, repeated }: { few: boolean; repeated: boolean },
): void {
  const { f } = s;
  const [result, image, images, rowTable, rows, rowBytes, imageBytes, blockTable, blocks] = p;
  const [zeros, patterns, pixel, step, multiplier] = p.slice(9);
  const bases = each(window.height, () => f.local("i32"));
  const lines = each(window.height, () => f.local("i32"));
  const place = f.local("i32"), channel = f.local("i32"), again = f.local("i32");
  const pattern = f.local("i8x16"), bits = f.local("i32"), left = f.local("i32");
  const times = (n: number): Value<"i32"> => n === 1 ? pixel : f.let(i32.mul(pixel, n));
  const jump = times(window.stride), last = f.let(i32.sub(step, 16));
  const store = (address: Value<"i32">, v: F4): void => {
    if (!few) return f.store(address, v);
    if (channels > 1) f.storeLane(address, v, 8, 0);
    if (channels !== 2) f.storeLane(address, v, 4, channels - 1, channels === 3 ? 8 : 0);
  };
  const { open, begin, tap, end, close } = body(
    { s, place, step, channel, again, store },
    p.slice(PLAN_PARAMS, PLAN_PARAMS + pointers),
  );
  const load = (at: Value<"i32">): F4 => {
    const v = f32x4.load(at);
    return f.let(repeated ? f32x4.ofBits(i8x16.swizzle(i8x16.ofBits(v), pattern)) : v);
  };
  // Columns that the windows of so many places read, each with the taps that read it.
  const columnsOf = (count: number) => {
    const columns = new Map<number, { j: number; k: number }[]>();
    for (let k = 0; k < count; k++) {
      for (let j = 0; j < window.width; j++) {
        const at = k * window.stride + j * window.dilation;
        columns.set(at, [...columns.get(at) ?? [], { j, k }]);
      }
    }
    return [...columns].sort(([a], [b]) => a - b);
  };
  const steps = new Map<number, Value<"i32">>();
  const gap = (n: number): Value<"i32"> => {
    if (!steps.has(n)) steps.set(n, times(n));
    return steps.get(n)!;
  };
  TOGETHER.forEach((n) => columnsOf(n).forEach(([at], i, a) => i > 0 && gap(at - a[i - 1][0])));
  const after = (count: number): void => {
    end(count);
    lines.forEach((line) => f.advance(line, count === 1 ? jump : i32.mul(jump, count)));
    f.advance(place, count === 1 ? step : i32.mul(step, count));
  };
  const inside = (count: number): void => {
    begin(count);
    const columns = columnsOf(count);
    lines.forEach((line, i) => {
      let at: Value<"i32"> = line;
      columns.forEach(([column, taps], c) => {
        if (c > 0) at = f.let(i32.add(at, gap(column - columns[c - 1][0])));
        const v = load(at);
        for (const { j, k } of taps) tap(v, { i, j, k });
      });
    });
    after(count);
  };
  const border = (): void => {
    begin(1);
    const has = f.let(i32.load(bits));
    f.advance(bits, 4);
    const offset = f.variable("i32", 0);
    columnsOf(1).forEach(([column, [{ j }]], c, columns) => {
      if (c > 0) f.advance(offset, gap(column - columns[c - 1][0]));
      f.if(
        i32.and(has, 2 ** j),
        () => lines.forEach((line, i) => tap(load(i32.add(line, offset)), { i, j, k: 0 })),
      );
    });
    after(1);
  };
  const vector = (block: I): void => {
    const from = f.variable("i32", i32.load(block));
    if (repeated) {
      const first = f.let(i32.shr(channel, 2)), own = f.let(i32.divU(first, multiplier));
      const phase = i32.sub(first, i32.mul(own, multiplier));
      f.set(pattern, i8x16.load(i32.add(patterns, i32.shl(phase, 4))));
      f.advance(from, i32.shl(own, 2));
    } else f.advance(from, channel);
    lines.forEach((line, i) => f.set(line, i32.add(bases[i], from)));
    f.set(place, i32.add(i32.add(result, i32.load(block, 4)), channel));
    f.set(bits, i32.add(blockTable, i32.load(block, 20)));
    open();
    f.times(i32.load(block, 8), border);
    f.set(left, i32.load(block, 12));
    for (const count of TOGETHER) {
      f.while(i32.ge(left, count), () => {
        inside(count);
        f.advance(left, -count);
      });
    }
    f.times(i32.load(block, 16), border);
    close();
  };
  f.times(images, () => {
    const row = f.variable("i32", rowTable);
    f.times(rows, () => {
      bases.forEach((base, i) => {
        f.set(base, i32.load(row, 4 * i));
        f.if(
          i32.lt(base, 0),
          () => f.set(base, zeros),
          () => f.set(base, i32.add(image, base)),
        );
      });
      f.advance(row, 4 * window.height);
      const block = f.variable("i32", blockTable);
      f.times(blocks, () => {
        f.set(channel, 0);
        f.set(again, 0);
        if (few) vector(block);
        else {
          f.while(i32.lt(channel, step), () => {
            vector(block);
            f.advance(channel, 16);
            // The last vector ends with the last channel.
            f.if(i32.and(i32.gt(channel, last), i32.lt(channel, step)), () => {
              f.set(again, i32.shr(i32.sub(channel, last), 2));
              f.set(channel, last);
            });
          });
        }
        f.advance(block, 4 * BLOCK_WORDS);
      });
      f.advance(result, rowBytes);
    });
    f.advance(image, imageBytes);
  });
}
