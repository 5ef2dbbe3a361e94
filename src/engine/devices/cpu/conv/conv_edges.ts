/**
 * Padded sides of images, for windows that overhang: of each image one or two strips of columns, with zeros above and
 * below as far as windows reach. The columns between strips are never copied.
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

/** The range that windows read along an axis of `in` elements: from `start` to before `end`, zeros outside. */
export interface Reach {
  readonly in: number;
  readonly start: number;
  readonly end: number;
}

/** Splits a range into zeros, elements from an index on, and zeros. */
function runsOf({ in: extent, start, end }: Reach) {
  const size = end - start, before = Math.min(size, Math.max(0, -start)), from = Math.max(0, start);
  const inside = Math.max(0, Math.min(extent, end) - from);
  return { size, before, from, inside, after: size - before - inside };
}

/** Bytes from element to element along the axes of an image, and from image to image. */
export interface ImageSteps {
  readonly steps: Three<number>;
  readonly imageBytes: number;
}

/** Strips of each image, zeros included. */
export interface ConvEdges extends ImageSteps {
  /** Returns the bytes of the strips of so many images. */
  bytes(images: number): number;
  /** Copies the strips of images. */
  fill(to: Pointer, from: Pointer, images: number): void;
}

/** Makes the strips of these columns side by side, as deep and high as windows reach. */
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
  const run = stripsKernel(engine);
  const sides = [first.before, first.from, first.inside, first.after + second.before]
    .concat(second.from, second.inside, second.after).map((elements) => bytes * elements);
  const rows = [row * height.before, height.inside, row * height.after];
  const numbers = [...rows, ...sides, line, image];
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

/**
 * `run(to, from, images, …)`: fills the strips of consecutive images; the further parameters are bytes, and a number of
 * rows.
 */
function stripsKernel(engine: Engine): WasmFunction {
  return kernel(engine, "conv strips", 15, ({ f }, p) => {
    const [to, from, images, top, rows, bottom, ...sides] = p;
    const [before, leftFrom, leftBytes, middle, rightFrom, rightBytes, after, ...steps] = sides;
    const [row, count] = f.locals("i32", 2), [rowStep, imageStep] = steps;
    f.countDown(images, 1, () => {
      put(f, to, top);
      f.set(row, from);
      f.set(count, rows);
      f.countDown(count, 1, () => {
        put(f, to, before);
        put(f, to, leftBytes, i32.add(row, leftFrom));
        put(f, to, middle);
        f.if(rightBytes, () => put(f, to, rightBytes, i32.add(row, rightFrom)));
        put(f, to, after);
        f.advance(row, rowStep);
      });
      put(f, to, bottom);
      f.advance(from, imageStep);
    });
  });
}

/**
 * Writes bytes, zeros or those from `first` on, to `to`, which moves past them. Whole vectors: their excess is
 * overwritten next.
 */
export function put(f: FunctionBuilder, to: I, bytes: I, first?: Value<"i32">): void {
  const end = f.variable("i32", i32.add(to, bytes)), from = first && f.variable("i32", first);
  const vector = from ? f32x4.load(from) : f.constant("f32x4", 0);
  const whole = (): void => from ? f.copy(to, from, bytes) : f.fill(to, 0, bytes);
  f.if(i32.gt(bytes, SHORT), whole, () => {
    f.while(i32.ltU(to, end), () => {
      f.store(to, vector);
      f.advance(to, 16);
      if (from) f.advance(from, 16);
    });
  });
  f.set(to, end);
}
