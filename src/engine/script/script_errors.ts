/** Converts errors of bodies and of their results to TensorFlow's error classes. */
import { CompositeSpec } from "../core/composite.ts";
import * as errors from "../core/errors.ts";
import { OpError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { isPlainObject } from "../core/nest.ts";
import { typeName } from "../core/text.ts";
import { readable, textOf } from "../core/thrown.ts";
import { stackBelow, trimStack, userFrames, withLongStacks } from "../core/throwing/user_stack.ts";
import { EagerTensor } from "../runtime/eager/tensor.ts";
import { placeText } from "../runtime/run/run_errors.ts";
import type { Script } from "./script.ts";

/** The place of a body's call. */
export interface ScriptPlace {
  readonly op: string;
  /** Node name, absent in eager mode. */
  readonly node?: string | undefined;
  readonly token: string;
  /** Its stack shows the place that made the node. */
  readonly source?: { readonly definitionSite: string } | undefined;
}

type OpErrorClass = new (message: string, details: errors.ErrorDetails) => OpError;

/** Classes by TensorFlow's code. */
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

/** Maximum length of an error's text, for any number of nested calls. */
const LONGEST = 1 << 16;

/**
 * Converts an error of a body to an `OpError`: the original is its cause; the message has the original's text and
 * stack, the node and the place that made it. An `OpError` keeps its class. Each further script that the error passes
 * adds its name and frames, up to the maximum length. Throws the original if the stack has no room for another error.
 */
export function mapScriptError(thrown: unknown, place: ScriptPlace): OpError {
  try {
    const read = readable(thrown);
    const node = place.node ?? (read instanceof OpError ? read.node : undefined);
    return errorAt(place, bodyText(read, arrayHint(read, place)), read, { cause: thrown, node });
  } catch {
    // After a stack overflow nothing can be called. A call further out reports it.
    throw thrown;
  }
}

/** Makes an error of the fitting class, with the place in its text. */
function errorAt(
  { op, node, source }: Omit<ScriptPlace, "token">,
  text: string,
  thrown: unknown,
  details: errors.ErrorDetails,
): OpError {
  const Class = classFor(thrown), where = placeText(node, source?.definitionSite);
  const isTold = text.length + where.length > LONGEST || (where !== "" && text.endsWith(where));
  const told = isTold ? text : text + where;
  const error = withLongStacks(() => new Class(told, { op, node, ...details }));
  trimStack(error);
  return error;
}

/**
 * Converts an error of a function's vjp to an `OpError`, with the original as its cause: it names the function, the op
 * and its node, and has the user's lines.
 */
export function mapVjpError(
  thrown: unknown,
  name: string,
  place: Omit<ScriptPlace, "token">,
): OpError {
  const read = readable(thrown);
  const text = read instanceof OpError
    ? read.message
    : read instanceof Error
    ? `${read.name}: ${read.message}`
    : `Error: ${textOf(read)}`;
  const lines = read instanceof Error ? newFrames(read) : "";
  const told = shortened(`In the vjp of '${name}': ${text}`);
  return errorAt(place, told + (lines && `\n${lines}`), read, { cause: thrown });
}

/** Makes the error of a result that does not fit its declaration, with the node. Other errors are a body's. */
export function mapResultError(thrown: unknown, place: ScriptPlace): OpError {
  const read = readable(thrown);
  if (!(read instanceof OpError) || read.node !== undefined) return mapScriptError(thrown, place);
  return errorAt(place, read.message, read, { cause: read.cause });
}

function classFor(thrown: unknown): OpErrorClass {
  if (thrown instanceof OpError) {
    // A user's class may have any code, and a list has more than numbers.
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

/** Returns a hint for a body of arrays that used one as a tensor or as a text. */
function arrayHint(thrown: unknown, { op }: ScriptPlace): string {
  if (!(thrown instanceof TypeError) || op === "EagerPyFunc") return "";
  const method = /\.(\w+) is not a function/.exec(thrown.message)?.[1];
  const isOthers = method !== undefined && !(method in NdArray.prototype) &&
    (method in EagerTensor.prototype || method in String.prototype);
  return isOthers
    ? ": bodies of numpyFunction get NdArrays, with numbers in data, item() and toArray() and text in text() and strings(); those of pyFunction get tensors"
    : "";
}

/**
 * Formats name, text, stack, then name and text again, as Python's traceback for TensorFlow. A text that contains stack
 * frames, such as an inner script's, stands once, followed by its missing frames.
 */
function bodyText(thrown: unknown, hint: string): string {
  if (!(thrown instanceof Error)) return shortened(`Error: ${textOf(thrown)}`);
  const { name, message } = thrown, head = `${name}: ${message}${hint}`, frames = newFrames(thrown);
  const text = frames === "" ? head : `${head}\n${frames}`;
  const isNested = userFrames(message) !== "";
  if (isNested) return text.length < LONGEST ? text : shortened(message, LONGEST);
  if (frames === "") return shortened(head);
  return head.length > LONGEST / 4 ? `${shortened(head)}\n${frames}` : `${text}\n\n${head}`;
}

/** Returns the user's frames of an error that its message lacks, the innermost ones if there are many. */
function newFrames(error: Error): string {
  const told = new Set(error.message.split("\n"));
  let size = LONGEST / 4;
  return userFrames(stackBelow(error)).split("\n")
    .filter((frame) => !told.has(frame) && (size -= frame.length + 1) >= 0).join("\n");
}

/** Shortens a long text and tells the number of missing characters. */
function shortened(text: string, longest = LONGEST / 2): string {
  const rest = text.length - longest;
  return rest > 0 ? `${text.slice(0, longest)}… (${rest} characters more)` : text;
}

/** Names a declared value; in a record by its key too. */
export function nthValue({ token, outputs: { structure } }: Script, i: number): string {
  const path = leafPaths(structure)[i];
  return `${i}-th value returned by ${token}${path ? ` (${path})` : ""}`;
}

/** Returns the path to each leaf of a structure, such as `boxes.first[0]`; none for other values. */
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

/** Makes the error of a result that cannot be converted to an array. */
export function unsupported(v: unknown, why?: string): errors.InternalError {
  const isIterable = typeof (v as Partial<Iterable<unknown>>)?.[Symbol.iterator] === "function";
  const hint = why ?? (isIterable ? "return a list of what it iterates over, [...values]" : "");
  return new errors.InternalError(`Unsupported object type ${typeName(v)}${hint && `: ${hint}`}`);
}
