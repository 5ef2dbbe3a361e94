/**
 * Kills of processes that save: each is aimed at a change of a file, before it or in the middle of a write, and then the file has what was
 * saved last, or what was being saved. `deno task fuzz kills` runs this file; `--kills=1000 --kind=checkpoint --seed=7`. It wants Linux.
 *
 * The process stops itself there (`killed_writer.ts`). Its folder is copied and read, and then it goes on, or is killed, and another goes
 * on in its folder: starting one takes longer than fifty saves.
 */
import { cpSync } from "node:fs";
import { parseArgs } from "node:util";
import { runTask } from "../../tools/dev/help.ts";
import { Random } from "../hostile/mutate.ts";
import { KILLED } from "./killed_kinds.ts";
import { makeModels, VALUES } from "./saved_kinds.ts";

/** One in so many stops ends the process. */
const KILLED_OF = 20;

/** A process's words when it stops: the number of its last save, and the change that it was about to make. */
interface Stop {
  readonly saved: number;
  readonly change: string;
}

/** A process that saves a kind of file to a path. */
class Writer {
  readonly #child: Deno.ChildProcess;
  readonly #said: ReadableStreamDefaultReader<string>;
  #text = "";

  constructor(...args: readonly (string | number)[]) {
    const program = new URL("killed_writer.ts", import.meta.url).href;
    const map = new URL("../npm_only/import_map.json", import.meta.url).href;
    const flags = ["run", "-A", "-q", "--no-check", "--no-lock", "--import-map", map];
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [...flags, program, ...args.map(String)],
      stdout: "piped",
    }).spawn();
    this.#said = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Resolves when the process has stopped before a change. */
  async stopped(): Promise<Stop> {
    while (!this.#text.includes("\n")) {
      const { value, done } = await this.#said.read();
      if (done) throw new Error("A writer ended by itself");
      this.#text += value;
    }
    const [line = "", rest = ""] = this.#text.split("\n", 2);
    this.#text = rest;
    const path = `/proc/${this.#child.pid}/stat`;
    while (!/\) [Tt] /.test(Deno.readTextFileSync(path))) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const space = line.indexOf(" ");
    return { saved: Number(line.slice(0, space)), change: line.slice(space + 1) };
  }

  goOn(): void {
    this.#child.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#said.cancel();
    await this.#child.status;
  }
}

/** Results of the kills of a kind. */
class Counts {
  old = 0;
  next = 0;
  ended = 0;
  readonly failures: string[] = [];
  readonly changes = new Map<string, number>();

  toString(): string {
    const changes = [...this.changes].sort(([, a], [, b]) => b - a).map(([what, n]) =>
      `${n} ${what}`
    );
    return `${this.old} left the old file, ${this.next} the new one, ${this.failures.length} neither; ` +
      `${this.ended} processes ended; before ${changes.join(", ")}`;
  }
}

/** Kills processes that save a kind of file. */
async function killKind(
  kind: string,
  { kills, seed, folder }: {
    readonly kills: number;
    readonly seed: number;
    readonly folder: string;
  },
): Promise<Counts> {
  const random = new Random(seed), counts = new Counts();
  const place = `${folder}/${kind}`, copy = `${place}.copy`, path = `${place}/${kind}`;
  await Deno.mkdir(place);
  let writer: Writer | null = null, from = -1;
  for (let k = 0; k < kills; k++) {
    writer ??= new Writer(kind, path, `${folder}/models`, from, seed * 1000 + k);
    const { saved, change } = await writer.stopped();
    cpSync(place, copy, { recursive: true, preserveTimestamps: true });
    const [old, next] = [saved, saved + 1].map((n) => VALUES[n % VALUES.length]);
    const found = await KILLED[kind]!.read(`${copy}/${kind}`).catch((error) => String(error));
    counts.changes.set(change, (counts.changes.get(change) ?? 0) + 1);
    if (found === old) counts.old++;
    else if (found === next) counts.next++;
    else {counts.failures.push(
        `${kind}, kill ${k} before ${change}: ${found}, wanted ${old} or ${next}`,
      );}
    await Deno.remove(copy, { recursive: true });
    if (random.below(KILLED_OF) > 0) {
      writer.goOn();
      continue;
    }
    await writer.kill();
    counts.ended++;
    writer = null;
    from = found === next ? saved + 1 : saved;
  }
  await writer?.kill();
  return counts;
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: "string", default: "1000" },
      kind: { type: "string", default: "" },
      seed: { type: "string", default: "1" },
    },
  });
  const kinds = Object.keys(KILLED).filter((kind) => kind.includes(values.kind));
  const all = Number(values.kills), failures: string[] = [];
  const folder = await Deno.makeTempDir({ prefix: "weft_kills_" });
  let ended = 0;
  try {
    await makeModels(`${folder}/models`);
    for (const [i, kind] of kinds.entries()) {
      const kills = Math.floor((all + i) / kinds.length);
      const counts = await killKind(kind, { kills, seed: Number(values.seed) + i, folder });
      console.log(`${kind}: ${kills} kills; ${counts}`);
      failures.push(...counts.failures);
      ended += counts.ended;
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  for (const failure of failures) console.log(failure);
  console.log(`${all} kills, ${ended} of which ended processes; ${failures.length} failures`);
  return failures.length > 0 ? 1 : 0;
}

if (import.meta.main) await runTask(import.meta.url, main);
