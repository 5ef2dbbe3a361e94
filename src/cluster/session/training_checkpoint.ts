/** Checkpoints of a training by several processes: its step and the variables of its task. */
import { NotFoundError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { readCheckpoint, writeCheckpoint } from "../../tensorflow/files/checkpoint.ts";

/** The values of `state` in the checkpoint as feeds, `restore_0` and on, with its step; null where there is none. */
export async function readState(
  prefix: string,
  state: readonly Variable[],
): Promise<Record<string, unknown> | null> {
  const found = await readCheckpoint(prefix).catch((e) => {
    if (e instanceof NotFoundError) return null;
    throw e;
  });
  if (found === null) return null;
  const values: Record<string, unknown> = {};
  for (const [i, v] of state.entries()) values[`restore_${i}`] = await found.read(v.name);
  return { ...values, first_step: (await found.read("global_step")).at(0) };
}

/** Writes the values of `state` and the step. */
export async function writeState(
  prefix: string,
  state: readonly Variable[],
  values: readonly NdArray[],
  step: bigint,
): Promise<void> {
  await writeCheckpoint(prefix, {
    global_step: new NdArray("int64", [], BigInt64Array.of(step)),
    ...Object.fromEntries(state.map((v, i) => [v.name, values[i]])),
  });
}
