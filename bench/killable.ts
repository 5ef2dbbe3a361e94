// Processes that soaks start, kill and start anew.

/** From one start of a process to its end. */
interface Life {
  readonly child: Deno.ChildProcess;
  readonly ready: Promise<boolean>;
  readonly over: Promise<void>;
}

/** Arguments of Deno that come before a program of this repository. */
function flags(): string[] {
  const map = new URL("../tests/npm_only/import_map.json", import.meta.url).pathname;
  return ["run", "-A", "--quiet", "--no-check", `--import-map=${map}`];
}

/** A process that is killed and started anew, at the same port. */
export class Killable {
  /** Its output in all its lives. */
  said = "";
  /** Since when it is there, by `performance.now()`: from what it says first until it is killed; else null. */
  readySince: number | null = null;
  readonly #command: Deno.Command;
  readonly #ended = Promise.withResolvers<number>();
  #life: Life;

  constructor(command: string, args: readonly string[], env: Record<string, string> = {}) {
    this.#command = new Deno.Command(command, {
      args: [...args],
      env: { CUDA_VISIBLE_DEVICES: "", TF_CPP_MIN_LOG_LEVEL: "3", ...env },
      stdout: "piped",
      stderr: "inherit",
    });
    this.#life = this.#begin();
  }

  #begin(): Life {
    const child = this.#command.spawn(), ready = Promise.withResolvers<boolean>();
    const hear = async (): Promise<void> => {
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
        this.said += text;
        this.readySince ??= performance.now();
        ready.resolve(true);
      }
      this.readySince = null;
      ready.resolve(false);
      const { code, signal } = await child.status;
      if (signal === null) this.#ended.resolve(code);
    };
    return { child, ready: ready.promise, over: hear() };
  }

  /** Resolves with its code when it has ended by itself. */
  get ended(): Promise<number> {
    return this.#ended.promise;
  }

  /** A program of this repository. */
  static program(file: string, ...args: string[]): Killable {
    return new Killable(Deno.execPath(), [...flags(), file, ...args]);
  }

  /** A program of this repository that has a tenth of the time of others where all want the cores. It wants the command `nice`. */
  static politeProgram(file: string, ...args: string[]): Killable {
    return new Killable("nice", ["-n", "10", Deno.execPath(), ...flags(), file, ...args]);
  }

  /** The number of its process. */
  get pid(): number {
    return this.#life.child.pid;
  }

  /** Resolves when it says that it is there. */
  async ready(): Promise<void> {
    if (!await this.#life.ready) throw new Error("A process ended before it was ready");
  }

  signal(name: Deno.Signal): void {
    this.#life.child.kill(name);
  }

  async kill(): Promise<void> {
    this.readySince = null;
    try {
      this.#life.child.kill("SIGKILL");
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#life.over;
  }

  async restart(): Promise<void> {
    await this.kill();
    this.#life = this.#begin();
  }
}

/** Returns a free port. */
export function freePort(): string {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return String(port);
}

/** Options of killing processes. */
export interface KillingOptions {
  /** Time between two kills. */
  readonly everyMs: number;
  /** Told what happens. */
  readonly log?: (what: "kill" | "waits", index: number) => void;
}

/**
 * Kills one after the other, until it is stopped. Returns how many. Each lives for the time between two kills at least: on a busy machine
 * processes start more slowly than they would be killed, each would be as soon as it is back, and nothing would ever be computed.
 */
export function killing(
  processes: readonly Killable[],
  { everyMs, log = () => {} }: KillingOptions,
): () => Promise<number> {
  let kills = 0, next = 0, last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    const index = next % processes.length, victim = processes[index]!;
    const lived = performance.now() - (victim.readySince ?? Infinity);
    if (lived < everyMs) return log("waits", index);
    log("kill", index);
    kills++;
    next++;
    last = Promise.all([last, victim.restart()]);
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await last;
    return kills;
  };
}
