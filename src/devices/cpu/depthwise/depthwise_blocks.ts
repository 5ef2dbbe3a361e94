/**
 * Code that walks the images, rows and blocks of places that a {@linkcode RowPlan} tells of.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { Local } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { kernel } from "../wasm/kernel.ts";
import type { HostImports, Simd } from "../wasm/simd.ts";
import { BLOCK_WORDS, OUTSIDE, PLAN_PARAMS, type RowWindow } from "./depthwise_plan.ts";

type I = Local<"i32">;

/** What a kernel is written for. */
export interface BlockSpec {
  /** Names the code, windows aside. */
  readonly name: string;
  readonly window: RowWindow;
  /** Addresses it takes after those of a plan: the filter, and more. */
  readonly pointers: number;
  readonly imports?: ((m: ModuleBuilder) => HostImports) | undefined;
}

/** One block of places of a row while its code is written. Distances are in bytes. */
export interface BlockCode {
  /** Vector code. */
  readonly s: Simd;
  /** Where the rows of the window begin in the image, and the row of the result. */
  readonly bases: readonly I[];
  readonly result: I;
  /** Offsets of the block in rows of the image and in one of the result. */
  readonly from: I;
  readonly to: I;
  /** Places at the left side, inside, and at the right side. */
  readonly left: I;
  readonly inside: I;
  readonly right: I;
  /** Address of the bits of places at the sides: which columns of their windows are inside. */
  readonly bits: I;
  /** All channels of a place of the image, and of one of the result. */
  readonly pixel: I;
  readonly step: I;
  /** Filters per channel, and the lanes they read. */
  readonly multiplier: I;
  readonly patterns: I;
}

/** A kernel that runs the code of a block for each; its parameters are those of a plan and the pointers. */
export function blockKernel(
  engine: Engine,
  { name, window, pointers, imports }: BlockSpec,
  write: (code: BlockCode, pointers: readonly I[]) => void,
): WasmFunction {
  const { height, width, stride, dilation } = window;
  const key = `depthwise ${name} ${height} ${width} ${stride} ${dilation}`;
  return kernel(engine, key, PLAN_PARAMS + pointers, (s, p) => {
    writeBlocks(s, p, height, (c) => write(c, p.slice(PLAN_PARAMS)));
  }, imports);
}

function writeBlocks(
  s: Simd,
  p: readonly I[],
  height: number,
  write: (code: BlockCode) => void,
): void {
  const { f } = s;
  const [result, image, images, rowTable, rows, rowBytes, imageBytes, blockTable, blocks] = p;
  const [zeros, patterns, pixel, step, multiplier] = p.slice(9);
  const bases = Array.from({ length: height }, () => f.local("i32"));
  const words = Array.from({ length: BLOCK_WORDS }, () => f.local("i32"));
  const [from, to, left, inside, right, bits] = words;
  const row = f.local("i32"), block = f.local("i32");
  f.times(images, () => {
    f.set(row, rowTable);
    f.times(rows, () => {
      bases.forEach((base, i) => {
        f.set(base, i32.load(row, 4 * i));
        f.if(
          i32.eq(base, OUTSIDE),
          () => f.set(base, zeros),
          () => f.set(base, i32.add(image, base)),
        );
      });
      f.advance(row, 4 * height);
      f.set(block, blockTable);
      f.times(blocks, () => {
        words.forEach((word, i) => f.set(word, i32.load(block, 4 * i)));
        f.advance(block, 4 * BLOCK_WORDS);
        f.advance(bits, blockTable);
        write({
          s,
          bases,
          result,
          from,
          to,
          left,
          inside,
          right,
          bits,
          pixel,
          step,
          multiplier,
          patterns,
        });
      });
      f.advance(result, rowBytes);
    });
    f.advance(image, imageBytes);
  });
}
