/**
 * Judges mutants on chosen test files in few processes: all mutants stand in the sources behind switches, and a process that has loaded the
 * files tries one after the other. It begins a new one where a mutant spoiled or ended it, and for mutants that survived, as kernels and plans
 * are kept from one test to the next, or that are met while modules are loaded. A test that noticed a mutant there is run again without it.
 * Mutants of kernels spoil most processes: `isApart` gives each its own at once, with the tests that reach it, quickest first.
 *
 * @module
 */

import { exists, read } from "../files.ts";
import { NPM_ONLY_IMPORT_MAP } from "../jsr.ts";
import type { Verdict } from "./judge.ts";
import { keyOf, type Mutant } from "./mutants.ts";
import { type Message, nameOf, type Task } from "./near_runner.ts";
import { withSwitches } from "./switches.ts";
import { Workspace } from "./workspace.ts";

/** Options of {@linkcode judgeNear}. */
export interface NearOptions {
  /** Test files. */
  readonly files: readonly string[];
  readonly budgetMs: number;
  /** True: tests that need WebGPU, too. */
  readonly isOnGpu: boolean;
  /** True: every mutant has processes of its own, as where kernels are kept. */
  readonly isApart: boolean;
  /** Processes at a time for mutants that have their own. */
  readonly jobs: number;
  /** A file that keeps what is learnt of the tests, null for none. */
  readonly learnt: string | null;
  readonly verdict: (verdict: Verdict) => void;
  readonly say: (line: string) => void;
}

/** A process may be silent for so long, and while a test runs for so long after the test's limit, before it counts as hung. */
const SILENCE_MS = 60_000;

/** Loading compiles the whole copy, which takes minutes on a machine that does other work. */
const LOADING_MS = 900_000;

/** Characters of what a process wrote that are kept. */
const LAST_WORDS = 2000;

/** Findings about tests and mutants that a file keeps. */
interface Kept {
  readonly usual: Readonly<Record<string, number>>;
  readonly leftOut: readonly string[];
  /** The key of each mutant, and the tests that reach it. */
  readonly mutants: readonly (readonly [key: string, reached: readonly string[]])[];
}

/** Judges mutants; the tests of all files are shown to each as far as they reach it. */
export async function judgeNear(mutants: readonly Mutant[], options: NearOptions): Promise<void> {
  using workspace = await Workspace.create("switched");
  for (const [file, list] of Map.groupBy(mutants, ({ file }) => file)) {
    const numbers = list.map((mutant) => mutants.indexOf(mutant));
    workspace.write(file, withSwitches(workspace.read(file), list, numbers));
  }
  await new Near(mutants, workspace, options).judge();
}

class Near {
  readonly #mutants: readonly Mutant[];
  readonly #workspace: Workspace;
  readonly #options: NearOptions;
  readonly #waiting: number[];
  /** Mutants that need a process of their own. */
  readonly #alone = new Set<number>();
  /** Tests that fail or take too long as they are, and those in which a process ended that was to learn of them. */
  readonly #leftOut: string[] = [];
  /** The end of what a process wrote about itself. */
  #lastWords = "";
  /** Findings about the tests, of all processes: each goes on where the one before ended. */
  readonly #usual: Record<string, number> = {};
  readonly #reached: Record<number, string[]> = {};
  #isReady = false;
  #loaded: readonly number[] = [];
  #started = performance.now();

  constructor(mutants: readonly Mutant[], workspace: Workspace, options: NearOptions) {
    this.#mutants = mutants;
    this.#workspace = workspace;
    this.#options = options;
    this.#waiting = mutants.map((_, i) => i);
  }

  async judge(): Promise<void> {
    this.#remember();
    if (this.#options.isApart) {
      while (!this.#isReady) await this.#together([]);
      for (const number of this.#waiting) {
        if (this.#testsOf(number).length > 0 || this.#isLoaded(number)) this.#alone.add(number);
        else this.#tell(number, { status: "unreached", by: null, tests: 0 });
      }
    } else while (this.#waiting.length > 0) await this.#together(this.#waiting);
    const alone = this.#alone.values();
    await Promise.all(Array.from({ length: this.#options.jobs }, async (_, job) => {
      for (const number of alone) await this.#apart(number, job);
    }));
  }

  /** Takes over what an earlier run learnt of the tests. */
  #remember(): void {
    const { learnt } = this.#options;
    if (learnt === null || !exists(learnt)) return;
    const known: Kept = JSON.parse(read(learnt));
    const names = new Map(known.mutants);
    Object.assign(this.#usual, known.usual);
    this.#leftOut.push(...known.leftOut);
    this.#mutants.forEach((mutant, number) => {
      const reached = names.get(keyOf(mutant));
      if (reached !== undefined) this.#reached[number] = [...reached];
    });
  }

  #keep(): void {
    if (this.#options.learnt === null) return;
    const mutants = this.#mutants.map((mutant, i) => [keyOf(mutant), this.#testsOf(i)] as const);
    const kept: Kept = { usual: this.#usual, leftOut: this.#leftOut, mutants };
    Deno.writeTextFileSync(this.#options.learnt, JSON.stringify(kept));
  }

  /** Tries the waiting mutants in one process, as far as it goes. */
  async #together(waiting: number[]): Promise<void> {
    let trying = -1, testing: string | null = null, place = "no file of tests";
    const each = (message: Message): void => {
      if (message.kind === "loading") place = message.file;
      else if (message.kind === "unloadable") place = `${message.file}: ${message.error}`;
      else if (message.kind === "testing") testing = message.name;
      else if (message.kind === "test") {
        testing = null;
        this.#learn(message);
      } else if (message.kind === "loaded") this.#loaded = message.reached;
      else if (message.kind === "ready") {
        if (!this.#isReady) this.#tellLearnt();
        this.#isReady = true;
        this.#keep();
      } else if (message.kind === "trying") {
        trying = message.mutant;
        this.#started = performance.now();
      } else if (message.kind === "tried") {
        waiting.splice(waiting.indexOf(message.mutant), 1);
        trying = -1;
        this.#take(message);
      }
    };
    const files = this.#options.files;
    await this.#run(
      { files, mutants: waiting, fromStart: false, tests: null },
      each,
    );
    if (!this.#isReady) {
      if (testing === null) {
        throw new Error(`The tests could not be loaded: ${place}\n${this.#lastWords}`);
      }
      this.#options.say(`left out, as the process ended in it: ${testing}`);
      this.#leftOut.push(testing);
      return;
    }
    if (trying < 0) return;
    // The mutant ended the process, or did not end itself.
    waiting.splice(waiting.indexOf(trying), 1);
    this.#alone.add(trying);
  }

  #learn({ name, ms, passed, error, reached }: Extract<Message, { kind: "test" }>): void {
    if (!passed || ms > this.#options.budgetMs) {
      this.#leftOut.push(name);
      const why = passed ? `it takes ${(ms / 1e3).toFixed(1)} s` : `it fails: ${error}`;
      this.#options.say(`left out, as ${why}: ${name}`);
      return;
    }
    this.#usual[name] = ms;
    for (const mutant of reached) (this.#reached[mutant] ??= []).push(name);
  }

  #tellLearnt(): void {
    const [tests, mutants] = [this.#usual, this.#reached].map((known) => Object.keys(known).length);
    this.#options.say(`${tests} tests, ${mutants} mutants reached`);
  }

  #take({ mutant, status, by, tests }: Extract<Message, { kind: "tried" }>): void {
    // What was kept from before, as kernels are, may have hidden it from the tests that would notice.
    const isHidden = tests > 0 && (status === "unmet" || status === "survived");
    if (isHidden || status === "spoiled" || this.#isLoaded(mutant)) this.#alone.add(mutant);
    else {
      const isReached = this.#testsOf(mutant).length > 0;
      this.#tell(mutant, {
        status: status === "unmet" ? (isReached ? "survived" : "unreached") : status,
        by,
        tests,
      });
    }
  }

  /** The tests that reach a mutant. */
  #testsOf(mutant: number): readonly string[] {
    return this.#reached[mutant] ?? [];
  }

  /** The quickest of some tests, as many as a mutant's budget is for. */
  #quickest(names: readonly string[]): string[] {
    let left = this.#options.budgetMs;
    return names.map((name) => [name, this.#usual[name] ?? 0] as const).sort(([, a], [, b]) =>
      a - b
    )
      .filter(([, ms]) => (left -= ms) > 0).map(([name]) => name);
  }

  /** True for what is done while modules are loaded, and not again. */
  #isLoaded(mutant: number): boolean {
    return this.#loaded.includes(mutant) && this.#testsOf(mutant).length === 0;
  }

  /** Tries one mutant in processes that have it from the start, until a test notices it that passes without it. */
  async #apart(mutant: number, job: number): Promise<void> {
    const since = performance.now(), reaching = this.#testsOf(mutant);
    let names = this.#quickest(reaching.length > 0 ? reaching : Object.keys(this.#usual));
    for (;;) {
      const { status, by } = await this.#shown(mutant, names, job);
      const isTrue = by === null || (await this.#shown(-1, [by], job)).status === "survived";
      if (isTrue) return this.#tell(mutant, { status, by, tests: names.length }, since);
      names = names.filter((name) => name !== by);
    }
  }

  /** Shows a mutant to tests in a process of its own. */
  async #shown(
    mutant: number,
    tests: readonly string[],
    job: number,
  ): Promise<Pick<Verdict, "status" | "by">> {
    const files = this.#options.files.filter((file) =>
      tests.some((name) => name.startsWith(nameOf(file, "")))
    );
    let testing: string | null = null, status: Verdict["status"] | undefined;
    const isEnded = await this.#run(
      { files, mutants: [mutant], fromStart: true, tests },
      (message) => {
        if (message.kind === "testing") testing = message.name;
        else if (message.kind === "tried") {
          status = message.status === "survived" ? "survived" : "killed";
        }
      },
      job,
    );
    if (status === "survived") return { status, by: null };
    return { status: status ?? (isEnded ? "killed" : "hung"), by: testing };
  }

  #tell(
    number: number,
    told: Pick<Verdict, "status" | "by" | "tests">,
    since = this.#started,
  ): void {
    const ms = Math.round(performance.now() - since);
    this.#options.verdict({ mutant: this.#mutants[number]!, ms, ...told });
    this.#started = performance.now();
  }

  /** Runs a process. False where it was silent for too long. */
  async #run(
    task: Pick<Task, "files" | "mutants" | "fromStart" | "tests">,
    each: (message: Message) => void,
    job = 0,
  ): Promise<boolean> {
    const workspace = this.#workspace, { budgetMs, isOnGpu } = this.#options;
    const place = `near_task_${job}.json`;
    const files = task.files.map((file) => `file://${workspace.path(file)}`);
    workspace.write(
      place,
      JSON.stringify(
        {
          ...task,
          files,
          leftOut: this.#leftOut,
          learnt: { usual: this.#usual, reached: this.#reached },
          budgetMs,
        } satisfies Task,
      ),
    );
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--allow-all", "--no-check", "--no-lock", "--import-map", NPM_ONLY_IMPORT_MAP],
        ...["tools/mutate/near_runner.ts", workspace.path(place)],
      ],
      cwd: workspace.path(""),
      env: { NO_COLOR: "1", WEFT_TEST_WEBGPU: isOnGpu ? "1" : "0", WEFT_DEBUG: "verify" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let isSilent = false, limit = LOADING_MS, timer: ReturnType<typeof setTimeout> | undefined;
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        isSilent = true;
        child.kill("SIGKILL");
      }, limit);
    };
    watch();
    this.#lastWords = "";
    const listening = (async () => {
      for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
        this.#lastWords = (this.#lastWords + chunk).slice(-LAST_WORDS);
      }
    })();
    let rest = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      // A test may have written into the line before.
      for (const line of lines) {
        const at = line.indexOf("\u0001");
        if (at < 0) continue;
        const message: Message = JSON.parse(line.slice(at + 1));
        if (message.kind === "testing") limit = SILENCE_MS + message.limitMs;
        else if (message.kind === "loaded") limit = SILENCE_MS;
        each(message);
      }
      watch();
    }
    clearTimeout(timer);
    await Promise.all([child.status, listening]);
    return !isSilent;
  }
}
