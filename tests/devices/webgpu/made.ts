/** Counts the work of kernels. */
import { spy } from "@std/testing/mock";
import { Launch } from "../../../src/engine/devices/webgpu/launch.ts";

/** Counts the dispatches made by kernels while `fn` ran, without repeated ones. */
export function dispatchesMade(fn: () => void): number {
  using bound = spy(Launch.prototype, "bind");
  fn();
  return bound.calls.length;
}
