/**
 * The one place where printed code becomes a function. A page's content security policy without `unsafe-eval`, trusted types or
 * Node's `--disallow-code-generation-from-strings` may forbid that: then what interprets the same thing is taken.
 */

let allowed: boolean | null = null;

/** True where printed code may be compiled. Tried when it is first asked for: browsers report each attempt that they refuse. */
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
  /** Values that it reads, by name. */
  readonly names: Readonly<Record<string, unknown>>;
  /** Statements that end in a `return`. */
  readonly text: () => string;
}

/** What the code returns, or where nothing may be compiled, what `interpret` returns. */
export function compileOr<T>({ names, text }: Code, interpret: () => T): T {
  if (!mayCompile()) return interpret();
  const make = new Function(...Object.keys(names), `"use strict";\n${text()}`);
  return make(...Object.values(names)) as T;
}
