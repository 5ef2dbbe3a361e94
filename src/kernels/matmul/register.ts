/**
 * Matrix product with a tile of sums in each invocation's registers: shaders/matmul/register.wgsl. For adapters where the lanes
 * of a workgroup are lanes of a processor's vectors, and for small sums.
 */
import type { Program } from "../../core/dispatch.ts";
import { accType, isHalf } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { MATMUL_REGISTER } from "../../shaders_generated.ts";
import { printEpilogue } from "./epilogue.ts";
import { elementType } from "./text.ts";
import { laneDirectives, type LaneProfile } from "./lanes.ts";
import type { RegisterTile } from "./tiles.ts";
import type { MatMulSource } from "./source.ts";

/** The program for a source and a tile. */
export function registerProgram(
  source: MatMulSource,
  tile: RegisterTile,
  profile: LaneProfile,
): Program {
  const { rows, vecs, across = 0 } = tile;
  const { dtype, out, wideA, wideC } = source;
  const wideB = source.wideB || source.skewB > 0;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  return shaderProgram(MATMUL_REGISTER, {
    ...source,
    a: elementType(dtype, wideA),
    b: elementType(dtype, wideB),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    wideB,
    rows,
    vecs,
    across,
    lanes: profile.lanes,
    finish: finish.prelude,
  }, {
    name: `matmul_register_${rows}x${vecs * 4}`,
    inputs: finish.inputs,
    enable: laneDirectives(tile, profile),
  });
}
