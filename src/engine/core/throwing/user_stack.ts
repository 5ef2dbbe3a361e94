/** Stack texts without the library's own frames, so that the user's line comes first. */

import { textOf } from "../thrown.ts";

/**
 * Location of this library's modules: its sources, the files of its package, as tools/build.ts names them, or the folder where Vite's
 * dev server keeps what it has bundled of packages, and nothing of the user's. Null in a user's bundle, where the library's lines look like the user's.
 */
const HOME = (/^(.*\/)(?:engine\/core\/throwing\/user_stack\.[jt]s|weft-chunk-\w+\.c?js)$/.exec(
  import.meta.url,
) ??
  /^(.*\/\.vite\/(?:.*\/)?deps\w*\/)/.exec(import.meta.url))?.[1] ?? null;

/** Frames of the engine and of Node, and of the code that a package holds for its workers. */
const NOBODYS = /\((<anonymous>|native|node:internal\/.*)\)|ext:|weft_worker\.js/;

/** Frames among which the user's line is as a rule. */
const FEW_FRAMES = 40;
/** Frames that are searched for the user's line where it is not among the first. */
export const MOST_FRAMES = 100;

/** Returns the frames of a stack text that are not this library's, one a line; all of them where no other is left. */
export function userFrames(stack = ""): string {
  const frames = framesOf(stack), near = frames.slice(0, FEW_FRAMES).filter(isUsers);
  const theirs = near.length > 0 ? near : frames.filter(isUsers);
  return (theirs.length > 0 ? theirs : frames).join("\n");
}

/** Runs `fn` with stacks long enough to reach the user's line from below the library's. */
export function withLongStacks<R>(fn: () => R, frames: number = FEW_FRAMES): R {
  // V8's limit; other engines ignore it. With frozen intrinsics it stays as it is.
  const before = (Error as { stackTraceLimit?: number }).stackTraceLimit;
  Reflect.set(Error, "stackTraceLimit", frames);
  try {
    return fn();
  } finally {
    if (before !== undefined) Reflect.set(Error, "stackTraceLimit", before);
  }
}

/** `isOn`: false keeps the library's frames, see `tf.debugging.disableTracebackFiltering`. */
export const filtering = { isOn: true };

/** Errors whose stacks begin at the caller. */
const filtered = new WeakSet<object>();

/**
 * Makes the stack of the library's error begin at the line that called it. Its text is computed at the first read.
 * Without a frame of the user it keeps all of them. Each error of the library is passed here once, while it is made: JavaScript's
 * classes call it in their constructors in `builtin_errors.ts`, those of `errors.ts` in the initializer of their name.
 */
export function beginAtCaller(error: Error): void {
  if (!filtering.isOn) return;
  const { captureStackTrace } = Error as { captureStackTrace?(target: object): void };
  // The error's own stack has ten frames in V8, which may all be this library's.
  const captured = { name: "", message: "", stack: "" };
  if (captureStackTrace === undefined) captured.stack = stackOf(error);
  else withLongStacks(() => captureStackTrace(captured), MOST_FRAMES);
  showFrames(error, captured);
  filtered.add(error);
}

/**
 * Gives the library's error the frames of the call that it is for, where it has none of the user: what fails after an await, or by a
 * timer, has left the stack of its call.
 */
export function calledAt(place: Error, error: unknown): unknown {
  const isAstray = filtered.has(error as object) &&
    !framesOf(stackBelow(error as Error)).some(isUsers);
  if (isAstray) showFrames(error as Error, place);
  return error;
}

/** The name of a class, for the initializer of the name of an error: makes its stack begin at the caller. */
export function begunAs(name: string, error: Error): string {
  beginAtCaller(error);
  return name;
}

/** Gives an error the frames of the one that it replaces, which may be the user's. */
export function standingFor<E extends Error>(original: unknown, error: E): E {
  if (filtered.has(error) && original instanceof Error) showFrames(error, original);
  return error;
}

/** Returns the cause of an error that repeats the text of another: that one's cause where the library made it. */
export function causeBehind(original: unknown): unknown {
  return filtered.has(original as object) ? (original as Error).cause : original;
}

/** Replaces an error's stack by its name and message and the user's frames of another's stack. */
function showFrames(error: Error, from: Error): void {
  const set = (value: unknown): void => {
    Object.defineProperty(error, "stack", { value, configurable: true, writable: true });
  };
  const get = (): string => {
    const { name, message } = error;
    const frames = userFrames(stackBelow(from));
    // Stacks of other engines have no head.
    const head = frames === "" || /^\s+at /.test(frames)
      ? `${name}${message && ": "}${message}`
      : "";
    const text = [head, frames].filter((part) => part !== "").join("\n");
    set(text);
    return text;
  };
  Object.defineProperty(error, "stack", { get, set, configurable: true });
}

/** Makes an error's stack begin at the user's line. */
export function trimStack(error: Error): void {
  const frames = framesOf(stackBelow(error)).filter(isUsers);
  Reflect.set(error, "stack", [`${error.name}: ${error.message}`, ...frames].join("\n"));
}

/** Returns the stack of an error without its message, which may contain lines of other stacks. */
export function stackBelow(error: Error): string {
  const stack = stackOf(error), at = stack.indexOf(error.message);
  return at < 0 ? stack : stack.slice(at + error.message.length);
}

/**
 * Returns the stack of an error as a text, empty where it is unreadable. A program's `Error.prepareStackTrace` may
 * return call sites, or throw.
 */
export function stackOf(error: Error): string {
  try {
    const stack: unknown = error.stack;
    if (Array.isArray(stack)) return stack.map((site) => `    at ${textOf(site)}`).join("\n");
    return typeof stack === "string" ? stack : "";
  } catch {
    return "";
  }
}

function framesOf(stack: string): string[] {
  return stack.split("\n").filter((line) => /^\s+at |@.+:\d+/.test(line));
}

function isUsers(frame: string): boolean {
  return (HOME === null || !frame.includes(HOME)) && !NOBODYS.test(frame);
}
