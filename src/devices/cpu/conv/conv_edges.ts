/**
 * The sides of images with zeros around them, for windows that do not lie inside: a strip of columns at the left of each image and
 * one at its right, above and below as many zeros as windows reach. What lies between is never copied.
 */
import { roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import type { ConvAxis, Three } from "./padded_images.ts";

type I = Local<"i32">;

/** Longer runs are filled and copied by the engine's own code. */
const SHORT = 512;

/** Strips of each image, zeros included. */
export class ConvEdges {
  /** Bytes from image to image. */
  readonly imageBytes: number;
  /** Bytes from element to element along the axes. */
  readonly steps: Three<number>;
  /** Column where the windows of the places from `right` on begin. */
  readonly rightColumn: number;
  readonly #run: WasmFunction;
  readonly #engine: Engine;
  readonly #slices: Readonly<Record<"front" | "inside" | "back" | "all", number>>;
  readonly #numbers: readonly number[];

  /** For the places before `left` and from `right` on, along the last of these axes. */
  constructor(
    engine: Engine,
    axes: Three<ConvAxis>,
    channels: number,
    { left, right }: { left: number; right: number },
  ) {
    const bytes = 4 * channels, [z, y, x] = axes;
    const [depth, height] = [z, y].map((a) => reachOf(a, 0, a.out));
    const leftReach = reachOf(x, 0, left), rightReach = reachOf(x, right, x.out);
    const columns = leftReach.size + rightReach.size;
    this.steps = [bytes * columns * height.size, bytes * columns, bytes];
    this.imageBytes = this.steps[0] * depth.size;
    this.rightColumn = leftReach.size;
    this.#engine = engine;
    this.#run = stripsKernel(engine);
    const row = this.steps[1];
    this.#slices = {
      front: this.steps[0] * depth.before,
      inside: depth.inside,
      back: this.steps[0] * (depth.size - depth.before - depth.inside),
      all: z.in,
    };
    this.#numbers = [
      row * height.before,
      height.inside,
      row * (height.size - height.before - height.inside),
      bytes * leftReach.before,
      bytes * leftReach.inside,
      bytes * (leftReach.size - leftReach.before - leftReach.inside + rightReach.before),
      bytes * rightReach.from,
      bytes * rightReach.inside,
      bytes * (rightReach.size - rightReach.before - rightReach.inside),
      bytes * x.in,
      bytes * x.in * y.in,
    ];
    this.#imageStep = bytes * x.in * y.in * z.in;
  }
  readonly #imageStep: number;

  /** Bytes of the strips of this many images. */
  bytes(images: number): number {
    // Vectors are written past the end.
    return roundUp(this.imageBytes * images + 16);
  }

  /** Copies the sides of images. */
  fill(to: Pointer, from: Pointer, images: number): void {
    const { front, inside, back, all } = this.#slices;
    if (all === 1 && front + back === 0) {
      this.#run(to, from, images, ...this.#numbers);
      return;
    }
    for (let image = 0; image < images; image++) {
      const at = to + image * this.imageBytes;
      this.#engine.zero(at, front);
      this.#run(at + front, from + image * this.#imageStep, inside, ...this.#numbers);
      this.#engine.zero(at + this.imageBytes - back, back);
    }
  }
}

/** What the windows of the places `[from, to)` read along an axis, as elements: zeros, elements from one on, zeros. */
interface Reach {
  readonly size: number;
  readonly before: number;
  readonly from: number;
  readonly inside: number;
}

function reachOf(axis: ConvAxis, from: number, to: number): Reach {
  if (from >= to) return { size: 0, before: 0, from: 0, inside: 0 };
  const { offsets, stride, in: extent } = axis;
  const start = from * stride + offsets[0];
  const end = (to - 1) * stride + offsets[offsets.length - 1] + 1;
  const size = end - start;
  const before = Math.min(size, Math.max(0, -start));
  const first = Math.max(0, start);
  return { size, before, from: first, inside: Math.max(0, Math.min(extent, end) - first) };
}

/** `run(to, from, images, …)`: images that follow each other; what follows are bytes, and a number of rows. */
function stripsKernel(engine: Engine): WasmFunction {
  return engine.compile("conv strips", (m) => {
    m.function("run", new Array<"i32">(14).fill("i32"), null, (f, ...p) => {
      const [to, from, images, top, rows, bottom, ...sides] = p as I[];
      const [left, leftBytes, middle, rightFrom, rightBytes, right, rowStep, imageStep] = sides;
      const row = f.local("i32"), count = f.local("i32");
      f.while(i32.gt(images, 0), () => {
        zeros(f, to, top);
        f.set(row, from);
        f.set(count, rows);
        f.while(i32.gt(count, 0), () => {
          zeros(f, to, left);
          copy(f, to, row, leftBytes);
          zeros(f, to, middle);
          f.if(rightBytes, () => copy(f, to, i32.add(row, rightFrom), rightBytes));
          zeros(f, to, right);
          f.advance(row, rowStep);
          f.advance(count, -1);
        });
        zeros(f, to, bottom);
        f.advance(from, imageStep);
        f.advance(images, -1);
      });
    });
  }).run;
}

/** Zeros from `to` on, which moves past them. Whole vectors: what they write too far is written next. */
function zeros(f: FunctionBuilder, to: I, bytes: I): void {
  const end = f.variable("i32", i32.add(to, bytes));
  f.if(i32.gt(bytes, SHORT), () => f.fill(to, 0, bytes), () => {
    const none = f.constant("f32x4", 0);
    f.while(i32.ltU(to, end), () => {
      f.store(to, none);
      f.advance(to, 16);
    });
  });
  f.set(to, end);
}

/** The same for a copy. */
function copy(f: FunctionBuilder, to: I, first: ReturnType<typeof i32.add>, bytes: I): void {
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
