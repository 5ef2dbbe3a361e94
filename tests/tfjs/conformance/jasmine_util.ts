// Jasmine for the suite: boots the runner, stands in for TensorFlow.js's jasmine_util, and collects results.

import { importNpm } from "../../../tools/npm.ts";
import { MISSING, type SpecResult } from "./protocol.ts";
import type { Subject } from "./subject.ts";

type Body = (...args: unknown[]) => unknown;

interface JasmineResult {
  readonly id: string;
  readonly fullName: string;
  readonly status: string;
  readonly pendingReason?: string;
  readonly failedExpectations: readonly { message: string; stack?: string }[];
}

interface JasmineEnv {
  addReporter(reporter: object): void;
  configure(options: object): void;
  execute(): Promise<unknown>;
}

interface Matcher {
  compare(actual: unknown): unknown;
}

interface JasmineGlobals {
  jasmine: {
    addMatchers(matchers: Record<string, () => Matcher>): void;
    addAsyncMatchers(matchers: Record<string, () => Matcher>): void;
    DEFAULT_TIMEOUT_INTERVAL: number;
  };
  describe(name: string, body: () => void): void;
  it(name: string, body?: Body): { id: string };
  beforeAll(body: Body): void;
  beforeEach(body: Body): void;
  afterEach(body: Body): void;
  pending(reason: string): void;
}

/** Constraints on the environment of a suite, compared by identity with the ones exported to the tests. */
interface Constraints {
  readonly flags?: Record<string, unknown>;
  predicate?(env: { isDataSync: boolean }): boolean;
}

const SPEC_TIMEOUT_MS = 20_000;

/** Texts of errors the JavaScript engine throws by itself: a sign of a bug, not of an argument check. */
const ACCIDENT =
  /is not a function|is not defined|is not iterable|is not a constructor|cannot read propert|cannot set propert|cannot destructure|cannot convert undefined|cannot mix bigint|before initialization|invalid (typed )?array length|maximum call stack|offset is out of bounds|undefined is not|null is not/i;

/** Texts that only the engine writes, so that they betray an accident even where the library wrapped the error. */
const WRAPPED_ACCIDENT =
  /Cannot (read|set) properties of (undefined|null)|Maximum call stack|before initialization/;

/** True for an error that looks thrown on purpose. */
export function isDeliberate(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  const isBuiltIn = [TypeError, RangeError, ReferenceError].some((type) => error instanceof type);
  return !(isBuiltIn && ACCIDENT.test(error.message)) && !WRAPPED_ACCIDENT.test(error.message);
}

function judgeThrown(error: unknown): { pass: boolean; message: string } {
  return isDeliberate(error)
    ? { pass: true, message: `Expected function not to throw, but it threw ${error}` }
    : { pass: false, message: `Expected an argument error, but the engine threw ${error}` };
}

function compareThrow(actual: unknown): { pass: boolean; message: string } {
  try {
    (actual as () => unknown)();
  } catch (error) {
    return judgeThrown(error);
  }
  return { pass: false, message: "Expected function to throw an error" };
}

async function compareRejection(actual: unknown): Promise<{ pass: boolean; message: string }> {
  try {
    await (actual as Promise<unknown>);
  } catch (error) {
    return judgeThrown(error);
  }
  return { pass: false, message: "Expected promise to be rejected" };
}

/** A backend that tests register. */
function testBackend({ modules }: Subject): unknown {
  const KernelBackend = modules?.backend?.KernelBackend as (new () => object) | undefined;
  return KernelBackend && class extends KernelBackend {
    dispose(): void {}
  };
}

/** A booted Jasmine with the suite's stand-in module. */
export interface Harness {
  /** The module that the tests import as "jasmine_util". */
  readonly jasmineUtil: object;
  /** Tells the harness which file registers specs from now on. */
  enterFile(name: string): void;
  /** Runs everything registered. */
  execute(): Promise<readonly SpecResult[]>;
}

/** Boots Jasmine; `keep` says which specs to run, by full name. */
export async function bootJasmine(
  subject: Subject,
  device: string,
  keep: (spec: string) => boolean,
  onSpec: (result: SpecResult) => void,
): Promise<Harness> {
  const module = await importNpm<{ default: Record<string, (...args: unknown[]) => unknown> }>(
    "jasmine-core",
    "/lib/jasmine-core/jasmine.js",
  );
  const factory = module.default;
  const jasmine = factory.core!(factory) as { getEnv(options: object): JasmineEnv };
  const env = jasmine.getEnv({ suppressLoadErrors: true });
  const globals = globalThis as unknown as JasmineGlobals;
  Object.assign(globals, factory.interface!(jasmine, env));
  globals.jasmine.DEFAULT_TIMEOUT_INTERVAL = SPEC_TIMEOUT_MS;
  env.configure({
    random: false,
    failSpecWithNoExpectations: false,
    specFilter: (spec: { getFullName(): string }) => keep(spec.getFullName()),
  });

  const results: SpecResult[] = [];
  const fileOf = new Map<string, string>();
  const seen = new Map<string, number>();
  let file = "";

  function record(
    file: string,
    fullName: string,
    rest: Pick<SpecResult, "status" | "message">,
  ): void {
    // Some specs of the suite share a name; the second is told apart by a number.
    const key = `${file}\n${fullName}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    const result = { file, spec: count === 1 ? fullName : `${fullName} #${count}`, ...rest };
    results.push(result);
    onSpec(result);
  }

  function messageOf(result: JasmineResult): string {
    const [first] = result.failedExpectations;
    if (first === undefined) return result.pendingReason ?? "";
    const at = first.stack?.split("\n").find((line) => line.includes("suite.js")) ?? "";
    return `${first.message.slice(0, 500)}${at && `\n    ${at.trim()}`}`;
  }

  env.addReporter({
    specStarted(result: JasmineResult): void {
      // Said aloud so that a crash of the process can be blamed on a spec.
      const file = fileOf.get(result.id) ?? "";
      onSpec({ file, spec: result.fullName, status: "started", message: "" });
    },
    specDone(result: JasmineResult): void {
      if (result.status === "excluded") return;
      const status = result.status === "pending"
        ? "skipped"
        : result.status === "failed"
        ? "failed"
        : "passed";
      record(fileOf.get(result.id) ?? "", result.fullName, { status, message: messageOf(result) });
    },
    suiteDone(result: JasmineResult): void {
      if (result.failedExpectations.length === 0) return;
      const spec = `${result.fullName} (suite)`;
      record(fileOf.get(result.id) ?? "", spec, { status: "failed", message: messageOf(result) });
    },
  });

  const { it: plainIt, describe: plainDescribe } = globals;
  function skipSpec(reason: string, name: string): void {
    it(name, () => globals.pending(reason));
  }
  function it(name: string, body?: Body): { id: string } {
    const spec = plainIt(name, body);
    fileOf.set(spec.id, file);
    return spec;
  }
  function describe(name: string, body: () => void): unknown {
    const suite = plainDescribe(name, body) as unknown as { id: string };
    fileOf.set(suite.id, file);
    return suite;
  }
  globals.it = Object.assign(it, {
    missing: (names: string) => (name: string) => skipSpec(`${MISSING}${names}`, name),
  });
  globals.describe = Object.assign(describe, {
    missing(names: string, name: string, specs: readonly string[]): void {
      describe(name, () => specs.forEach((spec) => skipSpec(`${MISSING}${names}`, spec)));
    },
  });

  if (!subject.comparesMessages) {
    globals.beforeEach(() => {
      globals.jasmine.addMatchers({
        toThrow: () => ({ compare: compareThrow }),
        toThrowError: () => ({ compare: compareThrow }),
      });
      globals.jasmine.addAsyncMatchers({
        toBeRejectedWithError: () => ({ compare: compareRejection }),
      });
    });
  }

  const testEnv = {
    name: device,
    backendName: device,
    flags: {},
    isDataSync: subject.isDataSync(device),
  };

  function describeWithFlags(
    name: string,
    constraints: Constraints,
    body: (env: typeof testEnv) => void,
  ): void {
    const fits = constraints.flags === undefined && (constraints.predicate?.(testEnv) ?? true);
    if (!fits) return;
    describe(name, () => {
      let release: (() => void) | null = null;
      globals.beforeAll(() => subject.useDevice(device));
      globals.beforeEach(() => {
        release = subject.ownTensors();
      });
      globals.afterEach(() => release?.());
      body(testEnv);
    });
  }

  return {
    jasmineUtil: {
      ALL_ENVS: {},
      // What these tests want of a browser Deno has; files that need more are excluded (see files.ts).
      BROWSER_ENVS: {},
      CHROME_ENVS: { flags: { IS_CHROME: true } },
      HAS_NODE_WORKER: { predicate: () => false },
      HAS_WORKER: { predicate: () => false },
      NODE_ENVS: {},
      SYNC_BACKEND_ENVS: { predicate: (env: typeof testEnv) => env.isDataSync },
      TEST_ENVS: [testEnv],
      TestKernelBackend: testBackend(subject),
      runWithLock: (spec: Body) => spec,
      describeWithFlags,
      envSatisfiesConstraints: () => true,
    },
    enterFile(name: string): void {
      file = name;
    },
    async execute(): Promise<readonly SpecResult[]> {
      await env.execute();
      return results;
    },
  };
}
