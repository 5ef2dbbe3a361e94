/** Dispatches of kernels: grids that cover their results, and the words of their uniform fields. */
import {
  type BufferRef,
  type Dispatch,
  type GpuPlan,
  gridFor,
  type Profile,
  type Program,
} from "../core/dispatch.ts";
import { InternalError } from "../core/errors.ts";

export interface FlatWork {
  readonly program: Program;
  readonly buffers: readonly BufferRef[];
  /** Words of the uniform fields, of which the first is the number of invocations, or with `groups` of workgroups. */
  readonly params: readonly number[];
  readonly groups?: boolean;
}

/** Makes a dispatch of as many invocations, or workgroups, as its first parameter. */
export function flatDispatch({ groups, ...work }: FlatWork, profile: Profile): Dispatch {
  const { program, params: [count] } = work;
  return { ...work, grid: gridFor(count, groups ? 1 : program.workgroup, profile) };
}

/** Plans one such dispatch, or none for an empty result. */
export function flatPlan(work: FlatWork, profile: Profile): GpuPlan {
  return { dispatches: work.params[0] === 0 ? [] : [flatDispatch(work, profile)] };
}

export type Fields = Readonly<Record<string, number>>;

/**
 * Returns the words of a program's fields, from a table that may have more; those of its last fields are `last`. Throws
 * `InternalError` for a missing one.
 */
export function wordsOf(
  { name, params }: Program,
  fields: Fields,
  last: readonly number[] = [],
): number[] {
  const words = params.slice(0, params.length - last.length).map((field) => {
    const word = fields[field];
    if (word === undefined) {
      throw new InternalError(`Cannot run ${name}: its field ${field} has no value`);
    }
    return word;
  });
  return [...words, ...last];
}
