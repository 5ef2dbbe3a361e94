/**
 * Stands in for `@std/testing/snapshot` on machines that reach npm but not JSR (see tools/jsr.ts): the same files, read and
 * written alike. `deno task test FILE -- --update` writes them.
 *
 * @module
 */

import { AssertionError } from "./assert.ts";

/** Snapshots of one file, read once. */
class Snapshots {
  readonly #path: URL;
  readonly #stored: Promise<Record<string, string>>;
  readonly #counts = new Map<string, number>();
  readonly #current = new Map<string, string>();

  constructor(origin: string) {
    const file = origin.slice(origin.lastIndexOf("/") + 1);
    this.#path = new URL(`__snapshots__/${file}.snap`, origin);
    this.#stored = Deno.readTextFile(this.#path).then(
      (text) =>
        import(`data:text/javascript,${encodeURIComponent(text)}`).then(({ snapshot }) => snapshot),
      () => ({}),
    );
  }

  async assert(name: string, actual: string, isUpdate: boolean): Promise<void> {
    const count = (this.#counts.get(name) ?? 0) + 1, key = `${name} ${count}`;
    this.#counts.set(name, count);
    this.#current.set(key, actual);
    if (isUpdate) return this.#write();
    const stored = (await this.#stored)[key];
    if (stored === undefined) throw new AssertionError(`Missing snapshot: ${key}`);
    const wanted = stored.includes("\n") ? stored.slice(1, -1) : stored;
    if (wanted !== actual) {
      throw new AssertionError(`Snapshot does not match: ${key}\n${actual}\n--- wanted\n${wanted}`);
    }
  }

  #write(): void {
    const escaped = (text: string): string => text.replace(/[\\`$]/g, "\\$&");
    const lines = [...this.#current].map(([key, text]) => {
      const inLines = text.includes("\n") ? `\n${text}\n` : text;
      return `snapshot[\`${escaped(key)}\`] = \`${escaped(inLines)}\`;\n`;
    });
    Deno.mkdirSync(new URL(".", this.#path), { recursive: true });
    Deno.writeTextFileSync(this.#path, ["export const snapshot = {};\n", ...lines].join("\n"));
  }
}

const files = new Map<string, Snapshots>();

/** Asserts that a value reads as its snapshot in `__snapshots__`. Throws `AssertionError`. */
export async function assertSnapshot(
  context: Deno.TestContext,
  actual: unknown,
): Promise<void> {
  let file = files.get(context.origin);
  if (file === undefined) files.set(context.origin, file = new Snapshots(context.origin));
  let { name } = context;
  for (let { parent } = context; parent !== undefined; parent = parent.parent) {
    name = `${parent.name} > ${name}`;
  }
  const text = Deno.inspect(actual, {
    depth: Infinity,
    sorted: true,
    trailingComma: true,
    compact: false,
    iterableLimit: Infinity,
    strAbbreviateSize: Infinity,
    breakLength: Infinity,
    escapeSequences: false,
  }).replaceAll("\r", "\\r");
  const isUpdate = Deno.args.some((arg) => arg === "--update" || arg === "-u");
  await file.assert(name, text, isUpdate);
}
