/**
 * Seams: the places where a part below uses what only a part above can give. ARCHITECTURE.md lists them, and
 * `tests/architecture_test.ts` holds their number.
 */
import { RuntimeError } from "../errors.ts";

/** One thing that a part above provides to a part below. */
export class Seam<T> {
  /** Name of what is provided, for messages. */
  readonly name: string;
  readonly #missing: (what: string) => Error;
  #provided: T | null = null;

  /** `missing` makes the error for what cannot be done without the thing. */
  constructor(name: string, missing: (what: string) => Error) {
    this.name = name;
    this.#missing = missing;
  }

  /** The thing, or null where nothing provides it. */
  get provided(): T | null {
    return this.#provided;
  }
  /** Provides the thing; null takes it back. Returns what was provided before. */
  provide(value: T | null): T | null {
    const before = this.#provided;
    this.#provided = value;
    return before;
  }
  /** The thing, to do `what`. Throws where nothing provides it. */
  to(what: string): T {
    if (this.#provided !== null) return this.#provided;
    throw this.#missing(what);
  }
}

/** A seam with a name, such as `"the eager interpreter"`. Default error: `RuntimeError`, which says the name. */
export function seam<T>(
  name: string,
  missing: (what: string) => Error = (what) =>
    new RuntimeError(`Cannot ${what}: nothing that is loaded provides ${name}`),
): Seam<T> {
  return new Seam(name, missing);
}
