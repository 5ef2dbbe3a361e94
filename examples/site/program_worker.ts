/** Runs one program: sends what it writes to the console, and in the end the graphs that it ran and their plans. */

import * as tf from "@weft/weft";
import type * as TypesOff from "./editing/types_off.ts";
import { neededParts, PARTS } from "./library.ts";
import type { Backend, Counts, ProgramMessage, ProgramRequest, WorkerScope } from "./messages.ts";
import { PlanWatch } from "./plans.ts";
import { errorText, nameClasses, shownLine } from "./shown.ts";
import { TimelineWatch } from "./timeline_watch.ts";

const scope = globalThis as unknown as WorkerScope<ProgramRequest, ProgramMessage>;

/** A program that writes more than this in a loop would fill the page's memory. */
const MOST_LINES = 2000;

// The program's own frame may lie below many of the library's.
Error.stackTraceLimit = 100;

let lines = 0;

function log(level: "log" | "warn" | "error", text: string, line?: number): void {
  if (lines++ > MOST_LINES) return;
  const isEnd = lines > MOST_LINES;
  scope.postMessage({
    kind: "log",
    level: isEnd ? "warn" : level,
    text: isEnd ? `What else it writes is not shown: more than ${MOST_LINES} lines` : text,
    ...(line !== undefined && { line }),
  });
}

/** Address of a file of the site, as a literal. */
const placed = (file: string): string =>
  JSON.stringify(new URL(`./${file}.js`, import.meta.url).href);

/** A module of the library with the parts that a program names. */
function libraryFor(code: string): string {
  const parts = neededParts(code).map((file) =>
    `export { ${PARTS[file]!.join(", ")} } from ${placed(file)};`
  );
  return moduleOf([`export * from ${placed("weft")};`, ...parts].join("\n"));
}

function moduleOf(text: string): string {
  return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
}

/** The program with the entries' addresses in place of their names: workers have no import maps. */
function linked(code: string, library: string): string {
  const entries: Readonly<Record<string, string>> = {
    "@weft/weft": JSON.stringify(library),
    "@weft/weft/ops": placed("weft_ops"),
  };
  return code.replaceAll(
    /(\bfrom\s*|\bimport\s*\(?\s*)(["'])(@weft\/weft(?:\/\w+)?)\2/g,
    (whole, before, _, name) => name in entries ? before + entries[name] : whole,
  );
}

/** The line of a module that an error came from. */
function lineOf(error: unknown, url: string): number | undefined {
  const stack = error instanceof Error ? error.stack ?? "" : "";
  const at = stack.indexOf(`${url}:`);
  return at < 0 ? undefined : Number.parseInt(stack.slice(at + url.length + 1));
}

/** An error of a program that is neither JavaScript nor TypeScript. */
class NoProgram extends SyntaxError {
  override readonly name = "SyntaxError";
  readonly line: number | undefined;

  constructor(message: string, line: number | undefined) {
    super(message);
    this.line = line;
  }
}

/** Runs a program. One that cannot be read as JavaScript is taken for TypeScript: its types are taken off, and it runs then. */
async function runModule(code: string, toUrl: (code: string) => string): Promise<void> {
  const url = toUrl(code);
  try {
    await import(url);
  } catch (error) {
    // An error of the program itself has its lines in the stack; it ran.
    if (!(error instanceof SyntaxError) || lineOf(error, url) !== undefined) throw error;
    const { withoutTypes } = await import(JSON.parse(placed("types_off"))) as typeof TypesOff;
    const plain = withoutTypes(code);
    if (typeof plain !== "string") throw new NoProgram(plain.message, plain.line);
    await import(toUrl(plain));
  }
}

async function chooseBackend(wanted: Backend): Promise<Backend> {
  if (await tf.setBackend(wanted)) return wanted;
  await tf.setBackend("cpu");
  log("warn", "There is no WebGPU here: this runs on the CPU");
  return "cpu";
}

async function run({ code, backend: wanted }: ProgramRequest): Promise<void> {
  // Its ops are known when a device is chosen, which loads their kernels.
  const library = libraryFor(code);
  nameClasses(await import(library));
  const backend = await chooseBackend(wanted);
  const watch = new PlanWatch(), time = new TimelineWatch();
  let url = "";
  const toUrl = (text: string): string => url = moduleOf(linked(text, library));
  const fail = (error: unknown): void => {
    const line = error instanceof NoProgram ? error.line : lineOf(error, url);
    log("error", errorText(error) + (line === undefined ? "" : ` (line ${line})`), line);
  };
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    fail(event.reason);
  });
  for (const level of ["log", "warn", "error"] as const) {
    console[level] = (...values: unknown[]) => log(level, shownLine(values));
  }
  console.info = console.debug = console.log;
  scope.postMessage({ kind: "begun" });
  time.start();
  const start = performance.now();
  let counts: Counts | null = null;
  try {
    const { cpuKernels, dispatches, readbacks, hostCalls } = await tf.profile(async () => {
      await runModule(code, toUrl);
    });
    counts = { cpuKernels, dispatches, readbacks, hostCalls };
  } catch (error) {
    fail(error);
  }
  const milliseconds = performance.now() - start;
  scope.postMessage({
    kind: "done",
    ok: counts !== null,
    milliseconds,
    backend,
    counts,
    graphs: watch.graphs(),
    plans: watch.plans(),
    timeline: await time.timeline(),
  });
}

scope.onmessage = ({ data }) => void run(data);
