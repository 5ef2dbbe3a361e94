/**
 * Loaded before a test file (`deno test --preload`): leaves out tests that were not asked for, and writes down what each test
 * executed where the sources have counters.
 *
 * @module
 */

import { COUNTERS } from "./counters.ts";

/** A request to a test file. Its names are keyed by the file's path. */
export interface Request {
  /** Tests to run in each file; null runs all. */
  readonly tests: Readonly<Record<string, readonly string[]>> | null;
  /** Where to write one line of JSON for each test, or null. */
  readonly record: string | null;
}

/** One such line. */
export interface TestRecord {
  readonly name: string;
  readonly ms: number;
  readonly passed: boolean;
  /** The counters that were met. */
  readonly hits: readonly number[];
}

// deno-lint-ignore no-explicit-any
type Anything = any;

const path = Deno.env.get("WEFT_MUTATE_REQUEST");
if (path !== undefined) install(JSON.parse(Deno.readTextFileSync(path)));

function install({ tests, record }: Request): void {
  const file = Object.keys(tests ?? {}).find((file) => Deno.mainModule.endsWith(`/${file}`));
  const wanted = tests && new Set(file === undefined ? [] : tests[file]);
  const plain = Deno.test as Anything;
  const register = (...args: Anything[]): void => {
    const { name, options, fn } = understand(args);
    if (wanted && !wanted.has(name)) return;
    plain({ ...options, name, fn: record === null ? fn : recorded(record, name, fn) });
  };
  // Tests may ask for `Deno.test.ignore` and `only`.
  (Deno as Anything).test = Object.assign(register, { ignore: plain.ignore, only: plain.only });
}

/** Reads the forms that `Deno.test` takes. */
function understand(args: Anything[]): { name: string; options: object; fn: Anything } {
  const fn = args.find((arg) => typeof arg === "function");
  const options = args.find((arg) => typeof arg === "object") ?? {};
  const name = args.find((arg) => typeof arg === "string") ?? options.name ?? fn.name;
  return { name, options, fn: fn ?? options.fn };
}

let isLoaded = false;

function recorded(record: string, name: string, fn: Anything): Anything {
  return async (t: Deno.TestContext) => {
    // Before the first test the counters tell what was executed while the modules were loaded.
    if (!isLoaded) write(record, { name: "", ms: 0, passed: true, hits: takeHits() });
    isLoaded = true;
    takeHits();
    const start = performance.now();
    let passed = false;
    try {
      await fn(t);
      passed = true;
    } finally {
      write(record, { name, ms: performance.now() - start, passed, hits: takeHits() });
    }
  };
}

function takeHits(): number[] {
  const counters = (globalThis as Anything)[COUNTERS] as Uint8Array | undefined;
  const hits: number[] = [];
  if (!counters) return hits;
  for (let i = counters.indexOf(1); i >= 0; i = counters.indexOf(1, i + 1)) hits.push(i);
  counters.fill(0);
  return hits;
}

function write(record: string, line: TestRecord): void {
  Deno.writeTextFileSync(record, `${JSON.stringify(line)}\n`, { append: true });
}
