/** Adds a file's name to the errors of reading it. */
import {
  DataLossError,
  type ErrorDetails,
  OpError,
  RuntimeError,
  ValueError,
} from "../../engine/core/errors.ts";

/**
 * Runs `work`, whose errors then name the file; an unforeseen one, such as a `TypeError` of the engine or of an
 * argument that came out of the file, becomes a `DataLossError`.
 */
export function naming<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (e) {
    throw named(e, file);
  }
}

/** Is {@linkcode naming} for work that must be awaited. */
export async function namingAsync<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (e) {
    throw named(e, file);
  }
}

function named(e: unknown, file: string): unknown {
  if (!(e instanceof Error)) return e;
  const isTyped = e instanceof OpError || e instanceof ValueError || e instanceof RuntimeError;
  if (!isTyped) {
    return new DataLossError(`Cannot load ${file}: it is damaged (${e.message})`, { cause: e });
  }
  if (e.message.includes(file)) return e;
  const { op, node, inputs } = e as ErrorDetails;
  const Typed = e.constructor as new (message: string, details: ErrorDetails) => Error;
  return new Typed(`Cannot load ${file}: ${e.message}`, { op, node, inputs, cause: e });
}
