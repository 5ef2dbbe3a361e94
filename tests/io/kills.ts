/**
 * Kills of processes that save: each is aimed at a change in the folder that is written, and then the file has the last number that was
 * saved whole, or the one that was being saved. `deno task fuzz kills` runs this file; `--kills=1000 --kind=checkpoint --seed=7`.
 */
import { parseArgs } from "node:util";
import { Random } from "../hostile/mutate.ts";
import { KINDS, makeModels, VALUES } from "./saved_kinds.ts";

/** Changes of files after which a process is killed: a save has some twenty at most. */
const MOST_CHANGES = 40;

/** Kills a process at a change. Returns the number of its last whole save. */
async function killedAt(
  change: number,
  { kind, path, models }: {
    readonly kind: string;
    readonly path: string;
    readonly models: string;
  },
): Promise<number> {
  const program = new URL("killed_writer.ts", import.meta.url).href;
  const map = new URL("../npm_only/import_map.json", import.meta.url).href;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "-q",
      "--no-check",
      "--no-lock",
      "--import-map",
      map,
      program,
      kind,
      path,
      models,
    ],
    stdout: "piped",
  }).spawn();
  let said = "";
  const decoder = new TextDecoder(), first = Promise.withResolvers<void>();
  const heard = (async () => {
    for await (const chunk of child.stdout) {
      said += decoder.decode(chunk);
      if (said.includes("\n")) first.resolve();
    }
    first.resolve();
  })();
  await first.promise;
  let changes = 0;
  using watcher = Deno.watchFs(path.slice(0, path.lastIndexOf("/")));
  for await (const _ of watcher) if (++changes >= change) break;
  child.kill("SIGKILL");
  await Promise.all([child.status, heard]);
  return Number(said.trimEnd().split("\n").at(-1));
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
  const kinds = Object.keys(KINDS).filter((kind) => kind.includes(values.kind));
  const random = new Random(Number(values.seed)), kills = Number(values.kills);
  const folder = await Deno.makeTempDir({ prefix: "weft_kills_" }), models = `${folder}/models`;
  const counts = new Map<string, { old: number; next: number }>(), failures: string[] = [];
  try {
    await makeModels(models);
    for (let k = 0; k < kills; k++) {
      const kind = kinds[k % kinds.length]!, path = `${folder}/${k}/${kind}`;
      const change = 1 + random.below(MOST_CHANGES);
      await Deno.mkdir(`${folder}/${k}`);
      const n = await killedAt(change, { kind, path, models });
      const [old, next] = [n, n + 1].map((n) => VALUES[n % VALUES.length]);
      const count = counts.get(kind) ?? { old: 0, next: 0 };
      counts.set(kind, count);
      const read = await KINDS[kind]!.read(path).catch((error) => String(error));
      if (read === old) count.old++;
      else if (read === next) count.next++;
      else {failures.push(
          `${kind}, kill ${k} at change ${change}: ${read}, wanted ${old} or ${next}`,
        );}
      await Deno.remove(`${folder}/${k}`, { recursive: true });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  for (const [kind, { old, next }] of counts) {
    console.log(`${kind}: ${old} kills left the old file, ${next} the new one`);
  }
  for (const failure of failures) console.log(failure);
  console.log(`${kills} kills, ${failures.length} failures`);
  return failures.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
