/** Errors of kernels that were compiled here: a trap of theirs is a fault of ours, and no value of the caller's. */
import { InternalError } from "../../../core/errors.ts";

/** The error of a kernel that failed for this reason. */
export function failedKernel(reason: string, cause?: unknown): InternalError {
  return new InternalError(`A kernel of the CPU failed: ${reason}`, { cause });
}

/**
 * Returns the error of a kernel that was trapped, as it read or wrote outside of its memory or divided by zero. Others are returned as
 * they are.
 */
export function kernelError(error: unknown): unknown {
  const isTrap = typeof WebAssembly === "object" && error instanceof WebAssembly.RuntimeError;
  return isTrap ? failedKernel(error.message, error) : error;
}
