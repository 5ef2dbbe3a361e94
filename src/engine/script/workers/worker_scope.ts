/**
 * The names that a body sent as source finds in its worker beside the platform's: `NdArray`, and the parts of `tf`
 * without tensors.
 */
import * as errors from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";

const { LookupError, NotImplementedError, RuntimeError, StopIteration, ValueError } = errors;

/** Values by name. */
export const WORKER_SCOPE: Readonly<Record<string, unknown>> = {
  NdArray,
  tf: {
    NdArray,
    errors,
    LookupError,
    NotImplementedError,
    RuntimeError,
    StopIteration,
    ValueError,
  },
};

/** True for a name, or a member of `tf`, that a body finds in its worker. */
export function isInWorker(name: string): boolean {
  if (name in globalThis) return true;
  const [object, member] = name.split(".");
  const value = WORKER_SCOPE[object];
  return value !== undefined && (member === undefined || member in (value as object));
}
