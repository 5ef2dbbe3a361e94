/** Four processes train over a server's process, and they are killed with SIGKILL at chosen steps. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { grpcTransport, Server } from "@weft/weft/distribute";
import { freePort } from "../server/cluster.ts";
import { together } from "./replica.ts";

const STEPS = 60;
const PROGRAM = new URL("replica_process.ts", import.meta.url).href;
const MAP = new URL("../../npm_only/import_map.json", import.meta.url).href;

/** A process that is started again when it was killed; it ends with this. */
class Process implements AsyncDisposable {
  /** Its output in all its lives. */
  readonly said: string[] = [];
  readonly #args: string[];
  readonly #heard: (line: string) => void;
  #child: Deno.ChildProcess | null = null;
  #isOver = false;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;

  constructor(args: string[], heard: (line: string) => void = () => {}) {
    this.#args = args;
    this.#heard = heard;
    this.ended = this.#live();
  }

  async #live(): Promise<void> {
    while (!this.#isOver) {
      this.#child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--quiet", "--import-map", MAP, PROGRAM, ...this.#args],
        stdout: "piped",
        stderr: "piped",
        env: { WEFT_DEVICE: "cpu" },
      }).spawn();
      const errors = new Response(this.#child.stderr).text();
      let rest = "";
      for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + text).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          this.said.push(line);
          this.#heard(line);
        }
      }
      const { code, signal } = await this.#child.status;
      this.#child = null;
      const text = await errors;
      if (signal !== null) continue;
      assert(code === 0, text);
      return;
    }
  }

  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.kill();
    await this.ended.catch(() => {});
  }
}

/** The process to kill once replica 1 has given a gradient for a step. */
const VICTIMS: Readonly<Record<number, string>> = { 15: "2", 30: "0", 45: "server" };

Deno.test("processes are killed one after the other, and training ends as well as without that", async () => {
  const folder = await Deno.makeTempDir(), port = await freePort(grpcTransport);
  const processes: Record<string, Process> = {};
  const killed = new Set<string>();
  try {
    processes.server = new Process(["server", `${port}`]);
    const heard = (line: string): void => {
      const victim = VICTIMS[JSON.parse(line)[0]];
      if (victim === undefined || killed.has(victim)) return;
      killed.add(victim);
      processes[victim].kill();
    };
    const target = `grpc://127.0.0.1:${port}`;
    for (const number of ["0", "1", "2", "3"]) {
      const args = ["replica", number, target, `${STEPS}`, `${folder}/c`];
      processes[number] = new Process(args, number === "1" ? heard : () => {});
    }
    const replicas = ["0", "1", "2", "3"].map((number) => processes[number]);
    await Promise.all(replicas.map((r) => r.ended));
    assertEquals([...killed], ["2", "0", "server"]);
    const last = replicas.map((r) => JSON.parse(r.said.at(-1)!)[1] as number);
    await using local = await Server.createLocal();
    const { losses } = await together(local, STEPS, { replicas: 4 });
    const mean = last.reduce((a, b) => a + b, 0) / 4;
    assertAlmostEquals(mean, losses[STEPS - 1], 0.1 * losses[STEPS - 1]);
  } finally {
    for (const p of Object.values(processes)) await p[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
});
