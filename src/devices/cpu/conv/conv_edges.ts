/**
 * Parts of images with zeros around them, for windows that do not lie inside: of each image one strip of columns or two, above and
 * below as many zeros as windows reach. What lies between strips is never copied.
 */
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import type { Value } from "../wasm/value.ts";
import { kernel } from "../wasm/kernel.ts";

/** Depth, height, width. */
export type Three<T> = readonly [T, T, T];

/** Longer runs are filled and copied by the engine's own code. */
const SHORT = 512;

/** What windows read along an axis of `in` elements: those from `start` to before `end`, zeros outside. */
export interface Reach {
  readonly in: number;
  readonly start: number;
  readonly end: number;
}

/** As elements: zeros, those from one on, zeros. */
function runsOf({ in: extent, start, end }: Reach) {
  const size = end - start, before = Math.min(size, Math.max(0, -start)), from = Math.max(0, start);
  const inside = Math.max(0, Math.min(extent, end) - from);
  return { size, before, from, inside, after: size - before - inside };
}

/** Strips of each image, zeros included. */
export interface ConvEdges {
  /** Bytes from image to image. */
  readonly imageBytes: number;
  /** Bytes from element to element along the axes. */
  readonly steps: Three<number>;
  /** Bytes of the strips of this many images. */
  bytes(images: number): number;
  /** Copies the strips of images. */
  fill(to: Pointer, from: Pointer, images: number): void;
}

/** The strips of these columns side by side, as deep and high as windows reach. */
export function convEdges(
  engine: Engine,
  [z, y, left, right]: readonly [z: Reach, y: Reach, left: Reach, right?: Reach],
  channels: number,
): ConvEdges {
  const bytes = 4 * channels, depth = runsOf(z), height = runsOf(y);
  const first = runsOf(left), second = runsOf(right ?? { in: left.in, start: 0, end: 0 });
  const row = bytes * (first.size + second.size), plane = row * height.size;
  const line = bytes * left.in, image = line * y.in, imageBytes = plane * depth.size;
  const front = plane * depth.before, back = plane * depth.after;
  const run = stripsKernel(engine),
    numbers = [
      row * height.before,
      height.inside,
      row * height.after,
      bytes * first.before,
      bytes * first.from,
      bytes * first.inside,
      bytes * (first.after + second.before),
      bytes * second.from,
      bytes * second.inside,
      bytes * second.after,
      line,
      image,
    ];
  const skipped = image * depth.from + line * height.from;
  return {
    imageBytes,
    steps: [plane, row, bytes],
    // Vectors are written past the end.
    bytes: (images) => roundUp(imageBytes * images + 16),
    fill: (to, from, images) => {
      if (z.in === 1 && front + back === 0) return void run(to, from + skipped, images, ...numbers);
      for (let i = 0; i < images; i++) {
        const at = to + i * imageBytes;
        engine.zero(at, front);
        run(at + front, from + i * image * z.in + skipped, depth.inside, ...numbers);
        engine.zero(at + imageBytes - back, back);
      }
    },
  };
}

/** `run(to, from, images, …)`: images that follow each other; what follows are bytes, and a number of rows. */
function stripsKernel(engine: Engine): WasmFunction {
  return kernel(engine, "conv strips", 15, ({ f }, p) => {
    const [to, from, images, top, rows, bottom, ...sides] = p;
    const [before, leftFrom, leftBytes, middle, rightFrom, rightBytes, after, ...steps] = sides;
    const [row, count] = f.locals("i32", 2), [rowStep, imageStep] = steps;
    f.countDown(images, 1, () => {
      zeros(f, to, top);
      f.set(row, from);
      f.set(count, rows);
      f.countDown(count, 1, () => {
        zeros(f, to, before);
        copy(f, to, i32.add(row, leftFrom), leftBytes);
        zeros(f, to, middle);
        f.if(rightBytes, () => copy(f, to, i32.add(row, rightFrom), rightBytes));
        zeros(f, to, after);
        f.advance(row, rowStep);
      });
      zeros(f, to, bottom);
      f.advance(from, imageStep);
    });
  });
}

/** Zeros from `to` on, which moves past them. Whole vectors: what they write too far is written next. */
function zeros(f: FunctionBuilder, to: I, bytes: I): void {
  const end = f.variable("i32", i32.add(to, bytes)), none = f.constant("f32x4", 0);
  f.if(i32.gt(bytes, SHORT), () => f.fill(to, 0, bytes), () => {
    f.while(i32.ltU(to, end), () => {
      f.store(to, none);
      f.advance(to, 16);
    });
  });
  f.set(to, end);
}

/** The same for a copy. */
function copy(f: FunctionBuilder, to: I, first: Value<"i32">, bytes: I): void {
  const end = f.variable("i32", i32.add(to, bytes)), from = f.variable("i32", first);
  f.if(i32.gt(bytes, SHORT), () => f.copy(to, from, bytes), () => {
    f.while(i32.ltU(to, end), () => {
      f.store(to, f32x4.load(from));
      f.advance(to, 16);
      f.advance(from, 16);
    });
  });
  f.set(to, end);
}
