/**
 * Stack texts without the library's own frames, so that the user's line comes first.
 */

/**
 * Where this library's modules are: its sources, or the files of its package, as tools/build.ts names them. Null in a user's bundle,
 * where nothing tells its lines from the user's.
 */
const HOME = /^(.*\/)(?:core\/user_stack\.[jt]s|weft-chunk-\w+\.js)$/.exec(import.meta.url)?.[1] ??
  null;

/** Frames of the engine, and of the code that a package holds for its workers. */
const NOBODYS = /\((<anonymous>|native)\)|ext:|weft_worker\.js/;

/** The frames of a stack text that are not this library's, one a line; all of them where nothing else is left. */
export function userFrames(stack: string | undefined): string {
  const frames = framesOf(stack);
  const theirs = frames.filter(isUsers);
  return (theirs.length > 0 ? theirs : frames).join("\n");
}

/** Runs `fn`, whose errors have frames enough to reach the user's line from below the library's. */
export function withLongStacks<R>(fn: () => R): R {
  // V8 has this limit, other engines do not mind.
  const limits = Error as { stackTraceLimit?: number };
  const before = limits.stackTraceLimit;
  limits.stackTraceLimit = 40;
  try {
    return fn();
  } finally {
    if (before !== undefined) limits.stackTraceLimit = before;
  }
}

/** Gives an error a stack that begins at the user's line. */
export function trimStack(error: Error): void {
  error.stack = [`${error.name}: ${error.message}`, ...framesOf(error.stack).filter(isUsers)].join(
    "\n",
  );
}

function framesOf(stack: string | undefined): string[] {
  return (stack ?? "").split("\n").filter((line) => /^\s+at |@.+:\d+/.test(line));
}

function isUsers(frame: string): boolean {
  return (HOME === null || !frame.includes(HOME)) && !NOBODYS.test(frame);
}
