/**
 * Matrix products by the tiled kernel, shaders/matmul/tiled.wgsl: a workgroup stages blocks of both operands in its memory.
 */
import type { Program } from "../../core/dispatch.ts";
import { accType, isHalf } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { MATMUL_TILED } from "../../shaders_generated.ts";
import { printEpilogue } from "./epilogue.ts";
import type { MatMulSource } from "./source.ts";
import { elementType } from "./text.ts";
import type { SharedTile } from "./tiled.ts";

/** The program for a source and a tile. */
export function matMulSharedProgram(source: MatMulSource, tile: SharedTile): Program {
  const { dtype, out, wideA, wideB, wideC } = source;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  return shaderProgram(MATMUL_TILED, {
    ...source,
    ...tile,
    a: elementType(dtype, wideA),
    b: elementType(dtype, wideB),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    finish: finish.prelude,
  }, { name: `matmul_shared_${tile.bm}x${tile.bn}`, inputs: finish.inputs });
}
