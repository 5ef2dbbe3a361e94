/**
 * `deno task size [COMMIT]`: lines of code, comments, imports and generated text for each room of `src/` and in all; with a commit, the
 * difference to it.
 *
 * A comment is a line that begins as one, an import a line of an `import` or `export … from` statement. Blank lines count as none.
 *
 * @module
 */

import { answerHelp } from "../dev/help.ts";
import { AREAS, roomOf } from "./areas.ts";
import { capture } from "../command.ts";
import { enterRoot, list, read } from "../files.ts";

/** Lines by their kind. */
export interface Lines {
  code: number;
  comments: number;
  imports: number;
  generated: number;
}

const GENERATED = /_(generated|pb)\.ts$/;

const none = (): Lines => ({ code: 0, comments: 0, imports: 0, generated: 0 });

/** Counts the lines of one file's text. */
export function countLines(text: string): Omit<Lines, "generated"> {
  const counts = { code: 0, comments: 0, imports: 0 };
  let inside: "comments" | "imports" | null = null;
  for (const line of text.split("\n").map((line) => line.trim())) {
    if (line === "") continue;
    const kind: keyof typeof counts = inside ??
      (/^(\/\/|\/\*)/.test(line) ? "comments" : startsImport(line) ? "imports" : "code");
    counts[kind]++;
    if (kind === "comments") inside = !line.startsWith("//") && !line.includes("*/") ? kind : null;
    if (kind === "imports") inside = line.endsWith(";") ? null : kind;
  }
  return counts;
}

/**
 * True for a line that begins a statement that only names other modules. A list of exports without `from` counts too.
 */
function startsImport(line: string): boolean {
  return /^import\b(?!\s*\()/.test(line) || /^export\s*(type\s*)?[{*]/.test(line);
}

/** Counts all files by their room, given their texts by path. */
function countRooms(files: Iterable<readonly [string, string]>): Map<string, Lines> {
  const rooms = new Map<string, Lines>();
  for (const [file, text] of files) {
    const room = roomOf(file) ?? file.replace(/^(src\/\w+).*$/, "$1");
    const lines = rooms.get(room) ?? none();
    if (GENERATED.test(file)) lines.generated += text.split("\n").length - 1;
    else add(lines, { ...countLines(text), generated: 0 });
    rooms.set(room, lines);
  }
  return rooms;
}

function add(to: Lines, from: Lines): void {
  for (const key of Object.keys(to) as (keyof Lines)[]) to[key] += from[key];
}

/** The sources of a commit by path. */
async function* sourcesOf(commit: string): AsyncGenerator<readonly [string, string]> {
  const { code, stdout, stderr } = await capture("git", [
    ...["grep", "--no-color", "-h", "--heading", "-e", "", commit, "--", "src/*.ts", "mod.ts"],
  ]);
  if (code !== 0) throw new Error(`Cannot read the sources of ${commit}: ${stderr.trim()}`);
  yield* splitHeadings(stdout, commit);
}

/** Files of `git grep --heading`, whose headings are `COMMIT:PATH`. */
function* splitHeadings(text: string, commit: string): Generator<readonly [string, string]> {
  let path: string | null = null, lines: string[] = [];
  for (const line of text.split("\n")) {
    const heading = line.startsWith(`${commit}:`) ? line.slice(commit.length + 1) : null;
    if (heading === null) {
      lines.push(line);
      continue;
    }
    if (path !== null) yield [path, lines.join("\n")];
    [path, lines] = [heading, []];
  }
  if (path !== null) yield [path, lines.join("\n")];
}

/** Rows of a table: each room, each area, and all. */
function rows(rooms: ReadonlyMap<string, Lines>): [string, Lines][] {
  const out: [string, Lines][] = [], total = none();
  const named = new Set<string>();
  for (const [area, { rooms: folders }] of Object.entries(AREAS)) {
    const whole = none();
    for (const folder of Object.keys(folders)) {
      const room = `${area}/${folder}`, lines = rooms.get(room) ?? none();
      named.add(room);
      add(whole, lines);
      out.push([`  ${room}`, lines]);
    }
    out.push([area, whole]);
    add(total, whole);
  }
  for (const [room, lines] of rooms) {
    if (named.has(room)) continue;
    out.push([room, lines]);
    add(total, lines);
  }
  return [...out, ["all", total]];
}

function print(now: [string, Lines][], before: ReadonlyMap<string, Lines> | null): void {
  const keys = ["code", "comments", "imports", "generated"] as const;
  console.log(["".padEnd(26), ...keys.map((key) => key.padStart(before ? 17 : 11))].join(""));
  for (const [name, lines] of now) {
    const cells = keys.map((key) => {
      const by = before ? lines[key] - (before.get(name)?.[key] ?? 0) : 0;
      const difference = before ? (by === 0 ? "" : `${by > 0 ? "+" : ""}${by}`).padStart(8) : "";
      return `${String(lines[key]).padStart(before ? 9 : 11)}${difference}`;
    });
    console.log([name.padEnd(26), ...cells].join(""));
  }
}

if (import.meta.main) {
  answerHelp(import.meta.url);
  enterRoot();
  const [commit] = Deno.args;
  const files = ["mod.ts", ...list("src", ".ts")].map((file) => [file, read(file)] as const);
  let before: Map<string, Lines> | null = null;
  if (commit !== undefined) {
    before = new Map(rows(countRooms(await Array.fromAsync(sourcesOf(commit)))));
  }
  print(rows(countRooms(files)), before);
}
