/**
 * Runs tests where there is no Deno: it stands in for the little of `Deno` that tests use (`Deno.test`
 * and `Deno.env.get`), collects the tests of a bundle, and runs them one after the other.
 *
 * The bundle sees it as a local name. The library, which asks `globalThis`, sees no Deno.
 */

import { inspect } from "./inspect.ts";

/** The result of a test. */
export interface TestReport {
  /** Path of its file, from the repository's root. */
  readonly file: string;
  /** Its name. */
  readonly name: string;
  /** The status on the platform; "impossible" for a test that needs features such a platform lacks. */
  readonly status: "passed" | "failed" | "ignored" | "impossible";
  /** Text of the error, or of the reason. */
  readonly error: string;
  /** Duration. */
  readonly milliseconds: number;
}

/** The argument of a test's function. */
interface Context {
  name: string;
  step(
    step: string | { name: string; fn: TestFunction; ignore?: boolean },
    fn?: TestFunction,
  ): Promise<boolean>;
}
type TestFunction = (t: Context) => unknown;
interface Definition {
  name: string;
  fn: TestFunction;
  ignore?: boolean;
}
interface Registered extends Definition {
  file: string;
}

/** Options of {@linkcode TestHost}. */
export interface HostOptions {
  /** Values of `Deno.env.get`. */
  readonly env?: Readonly<Record<string, string>>;
  /** A regular expression that names must match. */
  readonly only?: string;
  /** Files whose tests must not share memory with others. */
  readonly alone?: readonly string[];
  /** Files whose tests are left out. */
  readonly skipFiles?: readonly string[];
  /** A regular expression for messages of errors that mean that the platform cannot do it. */
  readonly impossible?: string;
}

/** Collects tests and runs them. */
export class TestHost {
  /** Set by the bundle while the tests of a file are defined. */
  file = "";
  /** The bundle's `Deno`. */
  readonly deno: Readonly<Record<string, unknown>>;
  readonly #tests: Registered[] = [];
  readonly #options: HostOptions;

  /** A host without tests. */
  constructor(options: HostOptions) {
    this.#options = options;
    const add = (definition: Definition) => this.#tests.push({ file: this.file, ...definition });
    const test = (a: string | Definition | TestFunction, b?: TestFunction | object, c?: unknown) =>
      add(definitionOf(a, b, c));
    test.ignore = (a: string | Definition) =>
      add({ ...definitionOf(a, () => {}, undefined), ignore: true });
    this.deno = {
      test,
      env: { get: (name: string) => options.env?.[name] },
      inspect,
    };
  }

  /**
   * The files that have tests to run, in groups: those that look at what is in memory alone, each in
   * a page or process of its own as in Deno, the others together.
   */
  groups(): string[][] {
    const files = [...new Set(this.#chosen().map((test) => test.file))];
    const alone = files.filter((file) => this.#options.alone?.includes(file));
    const others = files.filter((file) => !alone.includes(file));
    return [...others.length > 0 ? [others] : [], ...alone.map((file) => [file])];
  }

  /** Runs the tests of some files; each is reported when it ends. */
  async run(files: readonly string[], report: (report: TestReport) => unknown): Promise<void> {
    for (const test of this.#chosen()) {
      if (files.includes(test.file)) await report(await this.#run(test));
    }
  }

  #chosen(): Registered[] {
    const only = new RegExp(this.#options.only ?? "");
    return this.#tests.filter((test) =>
      only.test(test.name) && !this.#options.skipFiles?.includes(test.file)
    );
  }

  async #run({ file, name, fn, ignore }: Registered): Promise<TestReport> {
    const start = performance.now();
    let status: TestReport["status"] = ignore ? "ignored" : "passed", error = "";
    if (!ignore) {
      try {
        await runSteps(name, fn);
      } catch (e) {
        error = errorText(e);
        const { impossible } = this.#options;
        status = impossible && new RegExp(impossible).test(error) ? "impossible" : "failed";
      }
    }
    return { file, name, status, error, milliseconds: performance.now() - start };
  }
}

/** Runs a test with its steps. As in Deno, a failed step is told at the end. */
async function runSteps(name: string, fn: TestFunction): Promise<void> {
  const failures: unknown[] = [];
  const step: Context["step"] = async (a, b) => {
    const { name, fn, ignore } = typeof a === "string" ? { name: a, fn: b!, ignore: false } : a;
    try {
      if (!ignore) await runSteps(name, fn);
      return true;
    } catch (e) {
      failures.push(e);
      return false;
    }
  };
  await fn({ name, step });
  if (failures.length > 0) throw failures[0];
}

function definitionOf(
  a: string | Definition | TestFunction,
  b: TestFunction | object | undefined,
  c: unknown,
): Definition {
  const fn = [a, b, c].find((x) => typeof x === "function") as TestFunction | undefined;
  const options = [a, b].find((x) => typeof x === "object") as Partial<Definition> | undefined;
  const name = typeof a === "string" ? a : options?.name ?? fn?.name ?? "";
  return { ...options, name, fn: fn ?? options!.fn! };
}

function errorText(e: unknown): string {
  if (!(e instanceof Error)) return String(e);
  const stack = e.stack ?? "";
  const text = stack.includes(e.message) ? stack : `${e.name}: ${e.message}\n${stack}`;
  return e.cause === undefined ? text : `${text}\nCause: ${errorText(e.cause)}`;
}
