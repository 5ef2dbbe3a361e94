/**
 * A process that loads test files and tries mutants on their tests, one after the other. It reads a {@linkcode Task} from the file that
 * is its argument and writes a {@linkcode Message} a line.
 *
 * @module
 */

/** The work of a process. */
export interface Task {
  /** Addresses of test files. */
  readonly files: readonly string[];
  /** Numbers of the mutants, in the order in which they are tried; -1 is the source as it is. */
  readonly mutants: readonly number[];
  /** True: the one mutant is there from the first module on, and tests run with it alone. */
  readonly fromStart: boolean;
  /** Names of the tests that run, each with its file, null for all. */
  readonly tests: readonly string[] | null;
  /** Names of tests that do not run: those that fail or take too long, and those in which a process ended. */
  readonly leftOut: readonly string[];
  /** Findings of earlier processes; this one first runs the tests of which they know nothing. */
  readonly learnt: Learnt;
  /** Milliseconds of tests for one mutant; longer tests are left out. */
  readonly budgetMs: number;
}

/** The tests as they are without a mutant. */
export interface Learnt {
  /** Milliseconds of those that pass. */
  readonly usual: Readonly<Record<string, number>>;
  /** By mutant, the tests that reach its place. */
  readonly reached: Readonly<Record<number, readonly string[]>>;
}

/** Messages of a process. */
export type Message =
  | { readonly kind: "loading"; readonly file: string }
  | { readonly kind: "unloadable"; readonly file: string; readonly error: string }
  | { readonly kind: "testing"; readonly name: string; readonly limitMs: number }
  | {
    readonly kind: "test";
    readonly name: string;
    readonly ms: number;
    readonly passed: boolean;
    /** The reason why it does not pass, where that is so. */
    readonly error: string | null;
    /** The mutants whose places it reaches. */
    readonly reached: readonly number[];
  }
  | { readonly kind: "loaded"; readonly reached: readonly number[] }
  | { readonly kind: "ready" }
  | { readonly kind: "trying"; readonly mutant: number }
  | {
    readonly kind: "tried";
    readonly mutant: number;
    /** `unmet`: no test that had met the place before met it again, as what it makes is kept; `spoiled`: nothing can be said. */
    readonly status: "killed" | "survived" | "unmet" | "spoiled";
    readonly by: string | null;
    readonly tests: number;
  };

// deno-lint-ignore no-explicit-any
type Anything = any;

interface Test {
  readonly name: string;
  readonly fn: (t: Deno.TestContext) => unknown;
}

class Runner {
  readonly #task: Task;
  readonly #tests: Test[] = [];
  readonly #reached = new Set<number>();
  readonly #usual: Map<string, number>;
  readonly #met: Map<number, readonly string[]>;
  #active = -1;
  /** The file that is being loaded. */
  #file = "";

  constructor(task: Task) {
    this.#task = task;
    const { usual, reached } = task.learnt;
    this.#usual = new Map(Object.entries(usual));
    this.#met = new Map(Object.entries(reached).map(([n, names]) => [Number(n), names]));
    if (task.fromStart) this.#active = task.mutants[0]!;
    (globalThis as Anything).__weftSwitch = (n: number): boolean => {
      this.#reached.add(n);
      return n === this.#active;
    };
    const register = (...args: Anything[]): void => {
      const fn = args.find((arg) => typeof arg === "function");
      const options = args.find((arg) => typeof arg === "object") ?? {};
      const title = args.find((arg) => typeof arg === "string") ?? options.name ?? fn.name;
      const name = nameOf(this.#file, title);
      if (options.ignore || task.leftOut.includes(name)) return;
      if (task.tests !== null && !task.tests.includes(name)) return;
      this.#tests.push({ name, fn: fn ?? options.fn });
    };
    (Deno as Anything).test = Object.assign(register, { ignore: () => {}, only: register });
  }

  async run(): Promise<void> {
    const { files, mutants, fromStart } = this.#task;
    for (const file of files) {
      say({ kind: "loading", file });
      this.#file = file;
      try {
        await import(file);
      } catch (error) {
        if (!fromStart) return say({ kind: "unloadable", file, error: String(error) });
        const tried = { kind: "tried", status: "killed", by: "loading", tests: 0 } as const;
        return say({ ...tried, mutant: mutants[0]! });
      }
    }
    say({ kind: "loaded", reached: [...this.#reached] });
    if (fromStart) {
      const usual = (test: Test): number => this.#usual.get(test.name) ?? 0;
      const by = await this.#firstFailure(this.#tests.sort((a, b) => usual(a) - usual(b)));
      const status = by === null ? "survived" : "killed";
      return say({
        kind: "tried",
        mutant: mutants[0]!,
        status,
        by,
        tests: this.#tests.length,
      });
    }
    await this.#learn();
    for (const mutant of mutants) {
      if (!await this.#try(mutant)) return;
    }
  }

  /** Runs each test that is not known as it is, and learns which places it reaches. */
  async #learn(): Promise<void> {
    for (const test of this.#tests.filter(({ name }) => !this.#usual.has(name))) {
      this.#reached.clear();
      const start = performance.now(), error = await failure(test, LEARN_MS);
      const ms = performance.now() - start, passed = error === null;
      say({ kind: "test", name: test.name, ms, passed, error, reached: [...this.#reached] });
      if (!passed || ms > this.#task.budgetMs) continue;
      this.#usual.set(test.name, ms);
      for (const n of this.#reached) this.#met.set(n, [...this.#met.get(n) ?? [], test.name]);
    }
    say({ kind: "ready" });
  }

  /** Tries one mutant. False where the process is of no more use. */
  async #try(mutant: number): Promise<boolean> {
    say({ kind: "trying", mutant });
    const usual = this.#usual, names = new Set(this.#met.get(mutant));
    const quick = this.#tests.filter(({ name }) => names.has(name))
      .sort((a, b) => usual.get(a.name)! - usual.get(b.name)!);
    let left = this.#task.budgetMs;
    const tests = quick.filter(({ name }) => (left -= usual.get(name)!) > 0);
    this.#reached.clear();
    this.#active = mutant;
    const by = await this.#firstFailure(tests);
    this.#active = -1;
    const tried = { kind: "tried", mutant, by, tests: tests.length } as const;
    if (by === null) {
      say({ ...tried, status: this.#reached.has(mutant) ? "survived" : "unmet" });
      return true;
    }
    const again = await failure(tests.find(({ name }) => name === by)!, AGAIN_MS) === null;
    // A test that fails without the mutant too was spoiled by it, or by one before.
    say({ ...tried, status: again ? "killed" : "spoiled" });
    return again;
  }

  async #firstFailure(tests: readonly Test[]): Promise<string | null> {
    for (const test of tests) {
      const limitMs = 30_000 + 20 * (this.#usual.get(test.name) ?? 1000);
      if (await failure(test, limitMs) !== null) return test.name;
    }
    return null;
  }
}

/** Names a test of a file, as other files may have tests of that name. */
export function nameOf(file: string, title: string): string {
  return `${file.slice(file.lastIndexOf("/tests/") + 1)}: ${title}`;
}

/** A test may take so long as it is. */
const LEARN_MS = 180_000;

/** So long may one take that failed with a mutant. */
const AGAIN_MS = 180_000;

/** Characters of an error that are told. */
const LONGEST_ERROR = 500;

/** Null where a test passes, its error's text where it fails, or that it does not end. */
async function failure({ name, fn }: Test, limitMs: number): Promise<string | null> {
  const context = (name: string): Anything => ({
    name,
    origin: import.meta.url,
    async step(first: Anything, second: Anything) {
      const title = typeof first === "string" ? first : first.name;
      await (second ?? first.fn ?? first)(context(title));
      return true;
    },
  });
  say({ kind: "testing", name, limitMs });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<string>((resolve) =>
    timer = setTimeout(() => resolve(`no end in ${limitMs} ms`), limitMs)
  );
  try {
    return await Promise.race([
      Promise.resolve(fn(context(name) as Deno.TestContext)).then(() => null),
      limit,
    ]);
  } catch (error) {
    return String(error).slice(0, LONGEST_ERROR);
  } finally {
    clearTimeout(timer);
  }
}

function say(message: Message): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`\u0001${JSON.stringify(message)}\n`));
}

if (import.meta.main) {
  globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
  for (const name of ["log", "warn", "error", "info"] as const) console[name] = () => {};
  const task: Task = JSON.parse(Deno.readTextFileSync(Deno.args[0]!));
  await new Runner(task).run();
  Deno.exit(0);
}
