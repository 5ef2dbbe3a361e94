/**
 * A copy of the repository in which sources may be changed and test files run. It stays where it is and only takes over what differs, so
 * that Deno finds what it compiled for the run before.
 *
 * @module
 */

import { capture } from "../command.ts";
import { exists, list, ROOT } from "../files.ts";
import { NPM_ONLY_IMPORT_MAP } from "../jsr.ts";
import type { Request } from "./preload.ts";

/** The device that tests run on: those that need WebGPU are the ones whose name ends in "[webgpu]". */
export type TestDevice = "cpu" | "webgpu";

/** The result of a run of test files. */
export interface TestRun {
  readonly passed: boolean;
  /** True where it was ended because it wrote nothing for too long. */
  readonly hung: boolean;
  /** The name of the first test that failed, where one did. */
  readonly failed: string | null;
  /** The end of the output, which shows the reason. */
  readonly output: string;
}

/** Options of {@linkcode Workspace.test}. */
export interface TestOptions {
  readonly device: TestDevice;
  /** Tests to run in each file, or null for all, and where to write what they execute. */
  readonly request: Request;
  /** Longest silence before a run counts as hung, while a test runs or while files are loaded. */
  readonly idleMs: (test: string | null) => number;
  /** Stop at the first failure. Default: true. */
  readonly failFast?: boolean;
}

/** The folder of the copies. */
const COPIES = ".cache/mutate/copies";

/** The name of a copy: one of the sources with counters is another file to Deno's caches. */
export type CopyName = "plain" | "counted" | "switched";

/** A copy of the repository. */
export class Workspace {
  readonly #folder: string;
  readonly #lock: Deno.FsFile;

  private constructor(folder: string, lock: Deno.FsFile) {
    this.#folder = folder;
    this.#lock = lock;
  }

  /** Takes the first copy of a name that no other run holds, and makes it equal to every file that git knows or would know. */
  static async create(name: CopyName): Promise<Workspace> {
    const root = decodeURIComponent(ROOT.pathname);
    const args = ["-C", root, "ls-files", "-co", "--exclude-standard", "-z"];
    const { code, stdout, stderr } = await capture("git", args);
    if (code !== 0) throw new Error(`Cannot list the files of the repository: ${stderr}`);
    await Deno.mkdir(`${root}${COPIES}`, { recursive: true });
    for (let i = 0;; i++) {
      const place = `${COPIES}/${name}_${i}`;
      const lock = await Deno.open(`${root}${place}.lock`, { create: true, write: true });
      if (!await lock.tryLock(true)) {
        lock.close();
        continue;
      }
      const files = stdout.split("\0").filter((file) => exists(file, "isFile"));
      const kept = new Set(files);
      for (const file of list(place, "").map((path) => path.slice(place.length + 1))) {
        if (!kept.has(file)) Deno.removeSync(`${root}${place}/${file}`);
      }
      for (const file of files) copyChanged(`${root}${file}`, `${root}${place}/${file}`);
      return new Workspace(`${root}${place}`, lock);
    }
  }

  /** Where a file for us alone may be, such as a request. */
  path(name: string): string {
    return `${this.#folder}/${name}`;
  }

  /** The text of a file. */
  read(file: string): string {
    return Deno.readTextFileSync(this.path(file));
  }

  /** Writes a source. */
  write(file: string, text: string): void {
    Deno.writeTextFileSync(this.path(file), text);
  }

  /** Leaves the copy to other runs. */
  [Symbol.dispose](): void {
    this.#lock.close();
  }

  /** Runs test files one after the other. */
  async test(
    files: readonly string[],
    { device, request, idleMs, failFast = true }: TestOptions,
  ): Promise<TestRun> {
    this.write("mutate_request.json", JSON.stringify(request));
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["test", "--allow-all", "--no-check", ...(failFast ? ["--fail-fast"] : [])],
        ...["--import-map", NPM_ONLY_IMPORT_MAP, "--preload", "tools/mutate/preload.ts"],
        ...(device === "webgpu" ? ["--filter", "/\\[webgpu\\]$/"] : []),
        ...files,
      ],
      cwd: this.#folder,
      env: {
        NO_COLOR: "1",
        WEFT_TEST_WEBGPU: device === "webgpu" ? "1" : "0",
        // As `deno task test` has it: a pass that loses an effect is noticed.
        WEFT_DEBUG: "verify",
        WEFT_MUTATE_REQUEST: this.path("mutate_request.json"),
      },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const watch = new Watch(() => child.kill("SIGKILL"));
    watch.reset(idleMs(null));
    const decoder = new TextDecoder();
    let output = "";
    for await (const chunk of child.stdout) {
      output = (output + decoder.decode(chunk, { stream: true })).slice(-20_000);
      watch.reset(
        idleMs(/^(\S.*) \.\.\. ?$/.exec(output.slice(output.lastIndexOf("\n") + 1))?.[1] ?? null),
      );
    }
    const { success } = await child.status;
    watch.stop();
    const failed = /^(\S.*) \.\.\. FAILED \(/m.exec(output)?.[1] ?? null;
    return { passed: success, hung: watch.expired, failed, output };
  }
}

/** Copies a file that is not there or was written at another time; at once, as waiting for each of thousands takes minutes on a busy machine. */
function copyChanged(from: string, to: string): void {
  const { mtime, size } = Deno.statSync(from);
  try {
    const there = Deno.statSync(to);
    if (there.size === size && there.mtime?.getTime() === mtime?.getTime()) return;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.mkdirSync(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  }
  Deno.copyFileSync(from, to);
  if (mtime) Deno.utimeSync(to, mtime, mtime);
}

/** Ends what says nothing for too long. */
class Watch {
  expired = false;
  readonly #end: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(end: () => void) {
    this.#end = end;
  }

  reset(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#end();
    }, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
