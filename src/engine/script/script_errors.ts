/**
 * From what a body throws, and from results that do not fit, to TensorFlow's error classes.
 */
import { CompositeSpec } from "../core/composite.ts";
import * as errors from "../core/errors.ts";
import { OpError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { isPlainObject } from "../core/nest.ts";
import { readable, textOf } from "../core/thrown.ts";
import { stackBelow, trimStack, userFrames, withLongStacks } from "../core/throwing/user_stack.ts";
import { EagerTensor } from "../runtime/eager/tensor.ts";
import { placeText } from "../runtime/run/run_errors.ts";
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

/** The most characters that an error's text has, however many calls it came through. */
const LONGEST = 1 << 16;

/**
 * The `OpError` that stands for what a body threw: the original is its cause; text and stack of the original, the node and the place
 * that made it are in the message. An `OpError` keeps its class. Each further script that the error passes adds its name and frames,
 * until the text is full. Throws the original where the stack has no room for another error.
 */
export function mapScriptError(thrown: unknown, place: ScriptPlace): OpError {
  try {
    const read = readable(thrown);
    const node = place.node ?? (read instanceof OpError ? read.node : undefined);
    return errorAt(place, bodyText(read, arrayHint(read, place)), read, { cause: thrown, node });
  } catch {
    // Where the stack overflowed nothing can be called. A call further out tells of it.
    throw thrown;
  }
}

/** An error of the class that stands for what was thrown, with the place in its text. */
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
 * The `OpError` that stands for what the vjp of a function threw, which is its cause: it names the function, the op and its node, and has
 * the user's lines.
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

/** The error of a result that does not fit what was declared, with the node it arose in. Other errors are a body's. */
export function mapResultError(thrown: unknown, place: ScriptPlace): OpError {
  const read = readable(thrown);
  if (!(read instanceof OpError) || read.node !== undefined) return mapScriptError(thrown, place);
  return errorAt(place, read.message, read, { cause: read.cause });
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

/**
 * Name, text, stack, and once more name and text: what Python's traceback gives TensorFlow. A text that has frames of a stack, as that of
 * a script within has, stands once and is followed by the frames that it lacks.
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

/** The user's frames of an error that its message lacks, the innermost where they are many. */
function newFrames(error: Error): string {
  const told = new Set(error.message.split("\n"));
  let size = LONGEST / 4;
  return userFrames(stackBelow(error)).split("\n")
    .filter((frame) => !told.has(frame) && (size -= frame.length + 1) >= 0).join("\n");
}

/** A text that says how many characters it lacks, where it is longer than this. */
function shortened(text: string, longest = LONGEST / 2): string {
  const rest = text.length - longest;
  return rest > 0 ? `${text.slice(0, longest)}… (${rest} characters more)` : text;
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
