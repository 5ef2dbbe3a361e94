/** The part of node:assert that tests/npm_only/assert.ts needs, for platforms without it. */

import { inspect } from "./inspect.ts";

/** Says how two values differ. */
export class AssertionError extends Error {
  override readonly name: string = "AssertionError";

  constructor({ actual, expected }: { actual: unknown; expected: unknown }) {
    super(`actual ${inspect(actual)}\nexpected ${inspect(expected)}`);
  }
}
