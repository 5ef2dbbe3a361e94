/**
 * What WebGPU reports, as TensorFlow's error classes.
 * May import core.
 */
import {
  InternalError,
  type OpError,
  ResourceExhaustedError,
  UnavailableError,
} from "../../core/errors.ts";

/** The error for what nobody caught: out of memory is `ResourceExhaustedError`, all else `InternalError`. */
export function deviceError(error: GPUError): OpError {
  const isMemory = error.constructor.name === "GPUOutOfMemoryError";
  return isMemory
    ? new ResourceExhaustedError(
      `Cannot allocate GPU memory: out of memory${error.message && `, ${error.message}`}`,
      { cause: error },
    )
    : new InternalError(`Cannot continue: WebGPU reported ${error.message}`, { cause: error });
}

/** The error of calls on a device that is gone, and of uses of what it held. */
export function lossError({ message, reason }: GPUDeviceLostInfo): UnavailableError {
  return new UnavailableError(
    `Cannot use this GPU device or its tensors: it was lost (${
      message || reason
    }), and its memory ` +
      "with it. Make the tensors anew on the next device, which `await tf.ready()` waits for",
  );
}
