/**
 * Operations that were read from a file: plans may compute them otherwise than op by op, as long as results stay within rounding. What
 * users wrote here gives the bits of eager calls instead.
 */
import type { Operation } from "./operation.ts";

const known = new WeakSet<Operation>();

/** Notes that an operation was read from a file. */
export function noteFromFile(op: Operation): void {
  known.add(op);
}

/** True for an operation that was read from a file. */
export function isFromFile(op: Operation): boolean {
  return known.has(op);
}
