/** Code that walks the images, rows and blocks of places of a {@linkcode RowPlan}. */
import type { Epilogue } from "../../../core/fusion.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import {
  applyEpilogue,
  epilogueKey,
  importEpilogue,
  loadOperand,
  operandAt,
} from "../gemm/epilogue.ts";
import type { I } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { BLOCK_WORDS, OUTSIDE, PLAN_PARAMS, type RowWindow } from "./depthwise_plan.ts";

/** Parameters of a kernel's code. */
export interface BlockSpec {
  /** Name of the code, without windows and epilogues. */
  readonly name: string;
  readonly window: RowWindow;
  readonly epilogue?: Epilogue | undefined;
}

/** One block of places of a row while its code is written. Distances are in bytes. */
export interface BlockCode {
  readonly s: Simd;
  /** Addresses of the rows of the window in the image, and of the row of the result. */
  readonly bases: readonly I[];
  readonly result: I;
  /** Offsets of the block in rows of the image and in one of the result. */
  readonly from: I;
  readonly to: I;
  /** Numbers of places at the left side, inside, and at the right side. */
  readonly left: I;
  readonly inside: I;
  readonly right: I;
  /** Address of the bits of places at the sides, which mark the columns of their windows that are inside. */
  readonly bits: I;
  /** Bytes of all channels of a place of the image, and of one of the result. */
  readonly pixel: I;
  readonly step: I;
  /** Filters per channel, and the lanes they read. */
  readonly multiplier: I;
  readonly patterns: I;
  /** Address of the filter, or of its gradient. */
  readonly filter: I;
  /** Makes the result of sums; `channel` is the offset of the current channels. */
  readonly finish: (sum: F4, channel: Value<"i32">) => F4;
}

/** Makes the results of sums over windows, by operands for all or per channel. */
export function finisher(s: Simd, epilogue: Epilogue | undefined, operands: readonly I[]) {
  return (sum: F4, channel: Value<"i32">): F4 => {
    if (!epilogue) return sum;
    const [result] = applyEpilogue(s, epilogue, [sum], (operand, i) => {
      const isOne = operand.per === "all";
      const at = isOne ? operands[i] : operandAt(operand, operands[i], channel);
      return loadOperand(s.f, operand, at, 1);
    });
    return result;
  };
}

/**
 * Makes a kernel that runs the code of a block for each; parameters are those of a plan, the filter, and the operands
 * of its epilogue.
 */
export function blockKernel(
  engine: Engine,
  { name, window: { height, width, stride, dilation }, epilogue }: BlockSpec,
  write: (code: BlockCode) => void,
): WasmFunction {
  const window = `${height} ${width} ${stride} ${dilation}`;
  const key = `depthwise ${name} ${window} ${epilogueKey(epilogue)}`;
  const params = PLAN_PARAMS + 1 + (epilogue?.operands.length ?? 0);
  return kernel(engine, key, params, (s, p) => {
    const [result, image, images, rowTable, rows, rowBytes, imageBytes, blockTable, ...more] = p;
    const [blocks, zeros, patterns, pixel, step, multiplier, filter, ...operands] = more;
    const { f } = s, bases = f.locals("i32", height), words = f.locals("i32", BLOCK_WORDS);
    const [from, to, left, inside, right, bits] = words, [row, block] = f.locals("i32", 2);
    const finish = finisher(s, epilogue, operands);
    const place = { result, from, to, left, inside, right, bits, pixel, step };
    f.times(images, () => {
      f.set(row, rowTable);
      f.times(rows, () => {
        bases.forEach((base, i) => {
          f.set(base, i32.load(row, 4 * i));
          const isOutside = i32.eq(base, OUTSIDE);
          f.if(isOutside, () => f.set(base, zeros), () => f.set(base, i32.add(image, base)));
        });
        f.advance(row, 4 * height);
        f.set(block, blockTable);
        f.times(blocks, () => {
          words.forEach((word, i) => f.set(word, i32.load(block, 4 * i)));
          f.advance(block, 4 * BLOCK_WORDS);
          f.advance(bits, blockTable);
          write({ s, bases, ...place, multiplier, patterns, filter, finish });
        });
        f.advance(result, rowBytes);
      });
      f.advance(image, imageBytes);
    });
  }, importEpilogue(epilogue));
}
