/**
 * From what a body throws, and from results that do not fit, to TensorFlow's error classes.
 */
import { CompositeSpec } from "../core/composite.ts";
import * as errors from "../core/errors.ts";
import { OpError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { isPlainObject } from "../core/nest.ts";
import { trimStack, userFrames } from "../core/user_stack.ts";
import { EagerTensor } from "../runtime/eager/tensor.ts";
import { placeText } from "../runtime/session/run_errors.ts";
import type { Script } from "./script.ts";

/** Where a body was called. */
export interface ScriptPlace {
  readonly op: string;
  /** Node name, absent in eager mode. */
  readonly node?: string | undefined;
  readonly token: string;
  /** Knows the place that made the node. */
  readonly source?: { readonly definitionSite: string } | undefined;
}

type OpErrorClass = new (message: string, details: errors.ErrorDetails) => OpError;

/** The classes by TensorFlow's code. */
const CLASSES: readonly OpErrorClass[] = [
  errors.UnknownError,
  errors.CancelledError,
  errors.UnknownError,
  errors.InvalidArgumentError,
  errors.DeadlineExceededError,
  errors.NotFoundError,
  errors.AlreadyExistsError,
  errors.PermissionDeniedError,
  errors.ResourceExhaustedError,
  errors.FailedPreconditionError,
  errors.AbortedError,
  errors.OutOfRangeError,
  errors.UnimplementedError,
  errors.InternalError,
  errors.UnavailableError,
  errors.DataLossError,
  errors.UnauthenticatedError,
];

/**
 * The `OpError` that stands for what a body threw: the original is its cause; text and stack of the original, the node and the place
 * that made it are in the message. An `OpError` keeps its class.
 */
export function mapScriptError(thrown: unknown, place: ScriptPlace): OpError {
  const node = place.node ?? (thrown instanceof OpError ? thrown.node : undefined);
  return errorAt(place, bodyText(thrown, arrayHint(thrown, place)), thrown, {
    cause: thrown,
    node,
  });
}

/** An error of the class that stands for what was thrown, with the place in its text. */
function errorAt(
  { op, node, source }: Omit<ScriptPlace, "token">,
  text: string,
  thrown: unknown,
  details: errors.ErrorDetails,
): OpError {
  const Class = classFor(thrown), where = placeText(node, source?.definitionSite);
  const error = new Class(text + where, { op, node, ...details });
  trimStack(error);
  return error;
}

/**
 * The `OpError` that stands for what the vjp of a function threw, which is its cause: it names the function, the op and its node, and has
 * the user's lines.
 */
export function mapVjpError(
  thrown: unknown,
  name: string,
  place: Omit<ScriptPlace, "token">,
): OpError {
  const text = thrown instanceof OpError
    ? thrown.message
    : thrown instanceof Error
    ? `${thrown.name}: ${thrown.message}`
    : `Error: ${textOf(thrown)}`;
  const lines = thrown instanceof Error ? userFrames(framesBelow(thrown)) : "";
  return errorAt(place, `In the vjp of '${name}': ${text}${lines && `\n${lines}`}`, thrown, {
    cause: thrown,
  });
}

/** The stack of an error without its text, which may have lines of a stack in it. */
function framesBelow({ message, stack = "" }: Error): string {
  const at = stack.indexOf(message);
  return at < 0 ? stack : stack.slice(at + message.length);
}

/** The error of a result that does not fit what was declared, with the node it arose in. Other errors are a body's. */
export function mapResultError(thrown: unknown, place: ScriptPlace): OpError {
  if (!(thrown instanceof OpError) || thrown.node !== undefined) {
    return mapScriptError(thrown, place);
  }
  return errorAt(place, thrown.message, thrown, { cause: thrown.cause });
}

function classFor(thrown: unknown): OpErrorClass {
  if (thrown instanceof OpError) {
    // A class of a user's may have any code, and a list has more than numbers.
    const { code } = thrown;
    return typeof code === "number" ? CLASSES[code] ?? errors.UnknownError : errors.UnknownError;
  }
  if (isOutOfMemory(thrown)) return errors.ResourceExhaustedError;
  if (thrown instanceof errors.StopIteration) return errors.OutOfRangeError;
  if (thrown instanceof errors.NotImplementedError) return errors.UnimplementedError;
  // ValueError is a RangeError.
  if (thrown instanceof TypeError || thrown instanceof RangeError) {
    return errors.InvalidArgumentError;
  }
  return errors.UnknownError;
}

function isOutOfMemory(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return thrown.name === "GPUOutOfMemoryError" ||
    (thrown instanceof RangeError && /allocation failed|out of memory/i.test(thrown.message));
}

/** What a body of arrays is told that took one of them for a tensor or for a text. */
function arrayHint(thrown: unknown, { op }: ScriptPlace): string {
  if (!(thrown instanceof TypeError) || op === "EagerPyFunc") return "";
  const method = /\.(\w+) is not a function/.exec(thrown.message)?.[1];
  const isOthers = method !== undefined && !(method in NdArray.prototype) &&
    (method in EagerTensor.prototype || method in String.prototype);
  return isOthers
    ? ": bodies of numpyFunction get NdArrays, with numbers in data, item() and toArray() and text in text() and strings(); those of pyFunction get tensors"
    : "";
}

/** Name, text, stack, and once more name and text: what Python's traceback gives TensorFlow. */
function bodyText(thrown: unknown, hint: string): string {
  if (!(thrown instanceof Error)) return `Error: ${textOf(thrown)}`;
  const head = `${thrown.name}: ${thrown.message}${hint}`;
  const frames = userFrames(thrown.stack);
  return frames === "" ? head : `${head}\n${frames}\n\n${head}`;
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}

/** Which declared value is meant; in a record by its key too. */
export function nthValue({ token, outputs: { structure } }: Script, i: number): string {
  const path = leafPaths(structure)[i];
  return `${i}-th value returned by ${token}${path ? ` (${path})` : ""}`;
}

/** The keys that lead to each leaf of a structure, `boxes.first[0]`; none where it is no record. */
export function leafPaths(structure: unknown, at = ""): string[] {
  if (structure instanceof CompositeSpec) return structure.components.map(() => at);
  if (Array.isArray(structure)) {
    return structure.flatMap((e, k) => leafPaths(e, at && `${at}[${k}]`));
  }
  if (!isPlainObject(structure)) return [at];
  return Object.keys(structure).sort().flatMap((key) =>
    leafPaths(structure[key], at ? `${at}.${key}` : key)
  );
}

/** What a value is called. */
export function typeName(v: unknown): string {
  if (v === null || typeof v !== "object") return v === null ? "null" : typeof v;
  // Generators have a constructor without a name.
  return (v as { constructor?: { name?: string } }).constructor?.name ||
    Object.prototype.toString.call(v).slice(8, -1);
}

/** The error of a result that no array can be made of. */
export function unsupported(v: unknown, why?: string): errors.InternalError {
  const isIterable = typeof (v as Partial<Iterable<unknown>>)?.[Symbol.iterator] === "function";
  const hint = why ?? (isIterable ? "return a list of what it iterates over, [...values]" : "");
  return new errors.InternalError(`Unsupported object type ${typeName(v)}${hint && `: ${hint}`}`);
}
