/**
 * A process that saves over and over, for `deno task fuzz kills`: before changes of files that are chosen at random, or in the middle of
 * a write, it says what it has saved last and where it is, and stops itself as SIGSTOP does. What is on the disk then is what a
 * kill would leave.
 */
import fs from "node:fs";
import { Random } from "../hostile/mutate.ts";
import { KILLED } from "./killed_kinds.ts";
import { useModels, VALUES } from "./saved_kinds.ts";

/** Most changes between two stops: a save has some twenty at most. */
const MOST_CHANGES = 12;

type Call = (...args: unknown[]) => unknown;
type Calls = Record<string, Call>;

const [kind, path, models, first, seed] = Deno.args;
const random = new Random(Number(seed));
let saved = Number(first), left = Infinity;

/** Counts a change. Where it is the chosen one, the process stops, until it is told to go on. */
function change(what: string): void {
  if (--left > 0) return;
  left = 1 + random.below(MOST_CHANGES);
  Deno.stdout.writeSync(new TextEncoder().encode(`${saved} ${what}\n`));
  Deno.kill(Deno.pid, "SIGSTOP");
}

/** Makes functions of an object stop before they change files. */
function watch(calls: Calls, names: readonly string[]): void {
  for (const name of names) {
    const real = calls[name]!.bind(calls);
    calls[name] = (...args) => {
      change(name.replace("Sync", ""));
      return real(...args);
    };
  }
}

declare const process: { getBuiltinModule(name: string): Calls };
const files = process.getBuiltinModule("node:fs/promises"), open = files.open!;
files.open = async (...args) => {
  if (args[1] === "r") return await open(...args);
  change("open");
  const handle = await open(...args) as Calls, write = handle.write!.bind(handle);
  watch(handle, ["sync", "truncate", "close"]);
  handle.write = async (bytes, at, length) => {
    change("write");
    // The writer goes on with what was not written.
    if (left > 1) return await write(bytes, at, length);
    const result = await write(bytes, at, (length as number) >> 1);
    change("half a write");
    return result;
  };
  return handle;
};
watch(files, ["rename", "rm", "mkdir"]);
const sync = fs as unknown as Calls, writeSync = sync.writeSync!;
watch(sync, ["openSync", "fsyncSync", "renameSync", "rmSync", "ftruncateSync", "closeSync"]);
sync.writeSync = (file, data, at, length, position) => {
  change("write");
  if (left > 1) return writeSync(file, data, at, length, position);
  const result = writeSync(file, data, at, (length as number) >> 1, position);
  change("half a write");
  return result;
};

useModels(models!);
const save = (n: number): Promise<unknown> =>
  KILLED[kind!]!.write(path!, VALUES[n % VALUES.length]!);
// The first one is there before anything is killed.
if (saved < 0) await save(++saved);
left = 1 + random.below(MOST_CHANGES);
for (;;) {
  await save(saved + 1);
  saved++;
}
