/** Conversion of WebGPU's errors to TensorFlow's classes. */
import {
  InternalError,
  type OpError,
  ResourceExhaustedError,
  UnavailableError,
} from "../../core/errors.ts";

/**
 * Makes the error of an uncaptured WebGPU error: out of memory is `ResourceExhaustedError`, all else `InternalError`.
 */
export function deviceError(error: GPUError): OpError {
  const isMemory = error.constructor.name === "GPUOutOfMemoryError";
  return isMemory
    ? new ResourceExhaustedError(
      `Cannot allocate GPU memory: out of memory${error.message && `, ${error.message}`}`,
      { cause: error },
    )
    : new InternalError(`Cannot continue: WebGPU reported ${error.message}`, { cause: error });
}

/** Makes the error of calls on a lost device, and of uses of its buffers. */
export function lossError(why: string, cause?: unknown): UnavailableError {
  return new UnavailableError(
    `Cannot use this GPU device or its tensors: it was lost (${why}), and its memory ` +
      "with it. Await tf.ready(), which waits for the next device, and make the tensors anew there; what variables and optimizers " +
      "held is in the last file that tf.io.saveVariables() wrote, which tf.io.loadVariables() reads",
    { cause },
  );
}
