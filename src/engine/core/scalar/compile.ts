/**
 * The only place where printed code becomes a function. A page's content security policy without `unsafe-eval`, trusted
 * types or Node's `--disallow-code-generation-from-strings` may forbid that: then an interpreter is used.
 */

let allowed: boolean | null = null;

/** True where printed code may be compiled. Tested at first use: browsers report each attempt that they refuse. */
function mayCompile(): boolean {
  if (allowed === null) {
    try {
      allowed = new Function("return true")() === true;
    } catch {
      allowed = false;
    }
  }
  return allowed;
}

export interface Code {
  /** Values that the code reads, by name. */
  readonly names: Readonly<Record<string, unknown>>;
  /** Statements that end in a `return`. */
  readonly text: () => string;
}

/** Returns the result of the code, or of `interpret` where compiling is forbidden. */
export function compileOr<T>({ names, text }: Code, interpret: () => T): T {
  if (!mayCompile()) return interpret();
  const make = new Function(...Object.keys(names), `"use strict";\n${text()}`);
  return make(...Object.values(names)) as T;
}
